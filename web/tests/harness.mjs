// What every browser test needs: the published page on a sub-path, a browser, and a watch over what the page does.
//
// A test file is `web/tests/NAME.test.mjs`; `cargo xtask test --only browser` runs them all. A test looks like this:
//
//   import test from "node:test";
//   import { withPage, screenshot } from "./harness.mjs";
//
//   test("what must hold", () =>
//     withPage({ width: 360, scheme: "dark" }, async (page) => {
//       await page.getByRole("button", { name: "Undo" }).click();
//       await screenshot(page, "undone");
//     }));
//
// The page fails its test when it writes an error to the console, throws, does what its content security policy forbids, asks
// for anything outside its own folder, or for a file that is not there.
import assert from "node:assert/strict";
import { createReadStream, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The folder of the published page. */
export const dist = process.env.BUFFERSCOPE_DIST ?? join(root, "dist");
export const screenshots = process.env.BUFFERSCOPE_SCREENSHOTS ?? join(root, "target", "screenshots");

// Two levels deep, because a page that works at the root of a host may still break below it.
const SUB_PATH = "/some/folder/";

const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".woff2": "font/woff2",
};

/**
 * Serves `folder` at `prefix` as a plain static host does: no fallback page, no extra headers but `headers`. `first` is a
 * script that each page runs before its own; `missing` are the paths that were asked for in vain.
 */
export function serve(folder = dist, prefix = SUB_PATH, { headers = {}, first } = {}) {
  const missing = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (first && pathname === `${prefix}first.js`) {
      response.writeHead(200, { ...headers, "Content-Type": TYPES[".js"] }).end(first);
      return;
    }
    let file = pathname.startsWith(prefix) ? normalize(join(folder, decodeURIComponent(pathname.slice(prefix.length)))) : "";
    if (file && existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
    const inside = file.startsWith(normalize(folder) + sep);
    if (!inside || !existsSync(file)) {
      missing.push(pathname);
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { ...headers, "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
    if (first && file.endsWith(".html")) {
      response.end(readFileSync(file, "utf8").replace(/(<meta charset[^>]*>)/, '$1<script src="first.js"></script>'));
    } else {
      createReadStream(file).pipe(response);
    }
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      resolve({
        url: `http://127.0.0.1:${server.address().port}${prefix}`,
        missing,
        close: () => {
          server.closeAllConnections();
          server.close();
        },
      });
    });
  });
}

// One server and one browser a test file, started by the first test that asks.
let running;
async function start() {
  running ??= (async () => ({
    server: await serve(),
    browser: await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    }),
  }))();
  return running;
}

after(async () => {
  if (!running) return;
  const { server, browser } = await running;
  await browser.close();
  server.close();
});

/**
 * Opens the page, gives it to `body`, and then checks what the page did meanwhile.
 *
 * `width`, `height`: of the window; `scheme`: "light" or "dark"; `path`: what follows the page's address, such as
 * "#chapter"; `reducedMotion`, `forcedColors`, `touch`, `locale`: as the reader's device asks; `clipboard`: whether the
 * page may use it; `expected`: a pattern of the faults that the test provokes on purpose; `url`: another address than
 * the page's, of one file, to which the network is then off unless `online` is set; `scripts: false`: a reader without
 * JavaScript; `headers`: what the host sends with every file; `before`: run in the page before its own scripts; `prepare`: what
 * is done with the empty page; `early`: do not wait until every chapter is there.
 */
export async function withPage(options, body) {
  const { width = 1280, height = 800, scheme = "light", path = "", locale = "en-US" } = options;
  const { server: plain, browser } = await start();
  const server = options.headers ? await serve(dist, SUB_PATH, options) : plain;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: options.reducedMotion ? "reduce" : "no-preference",
    forcedColors: options.forcedColors ? "active" : "none",
    hasTouch: options.touch ?? false,
    permissions: options.clipboard ? ["clipboard-read", "clipboard-write"] : [],
    locale,
    javaScriptEnabled: options.scripts ?? true,
    offline: Boolean(options.url) && !options.online,
  });
  await context.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) =>
      console.error(`Content Security Policy: ${effectiveDirective} forbids ${blockedURI} ${sample}`),
    ),
  );
  if (options.before) await context.addInitScript(options.before);
  const page = await context.newPage();
  const faults = [];
  const unexpected = () => faults.filter((fault) => !options.expected?.test(fault));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`thrown: ${error}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(options.url ?? server.url) && !/^(data|blob):/.test(url)) faults.push(`asked for ${url}, outside of its own folder`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()}: ${response.url()}`);
  });
  context.on("requestfailed", (request) => {
    // A navigation or a frame that goes away ends its own requests; that is no fault of the page.
    const reason = request.failure()?.errorText;
    if (reason !== "net::ERR_ABORTED") faults.push(`failed: ${request.url()} (${reason})`);
  });
  try {
    await options.prepare?.(page);
    await page.goto(options.url ?? server.url + path, { waitUntil: "load" });
    if (options.scripts === false) {
      await body(page, server);
    } else {
      if (!options.early) await started(page);
      await body(page, server);
      await settled(page);
    }
  } catch (error) {
    // What the page said of it is most of the time the reason.
    if (unexpected().length) error.message += `\nand the page: ${unexpected().join("\n")}`;
    throw error;
  } finally {
    await context.close();
    if (server !== plain) server.close();
  }
  assert.deepEqual(unexpected(), [], "the page must work without errors and without the network");
}

/** The page at a figure, awake. */
export const withFigure = (id, options, work) =>
  withPage({ path: `#${id}`, ...options }, async (page) => {
    const figure = page.locator(`#${id}`);
    await figure.scrollIntoViewIfNeeded();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    return work(page, figure);
  });

/** Answers a prediction with the option that `choose` picks from their texts, takes it back, and gives the verdict. */
export async function predict(page, id, choose) {
  const box = page.locator(`[data-predict=${id}]`);
  const labels = box.locator("label");
  await labels.nth(choose(await labels.allInnerTexts())).click();
  await box.getByRole("button", { name: "See what the engine says" }).click();
  await settled(page);
  const verdict = await box.locator(".verdict").innerText();
  await box.getByRole("button", { name: "Answer again" }).click();
  await settled(page);
  return verdict;
}

/** Waits until the page has replaced its starting notice, and every chapter is there. */
export async function started(page) {
  const isThere = () => !document.getElementById("startup") && !document.querySelector("main[aria-busy=true]");
  await page.waitForFunction(isThere, undefined, { timeout: 30_000 });
  await settled(page);
}

/** Waits until what was changed has been drawn. */
export async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))));
}

/** Writes `target/screenshots/NAME.png`, of the whole page unless told otherwise. */
export async function screenshot(page, name, options = {}) {
  mkdirSync(screenshots, { recursive: true });
  await settled(page);
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true, ...options });
}

/** For pages that are none of ours: the browser of this file's tests. */
export const inBrowser = async (body) => body((await start()).browser);

/**
 * Fails on whatever axe finds that keeps somebody from using the page, or what is `within` an element. Chapters of which no
 * figure is awake are looked at only with `whole`: they are the same in every test, and are most of the work.
 */
export async function expectAccessible(page, { whole = false, within } = {}) {
  // One run in the page itself, without collecting what is right: several times as quick, and finds the same.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  if (within) axe.include(within);
  else if (!whole) axe.exclude(".chapter:not(:has(.stage:not(.asleep)))");
  const { violations } = await axe.analyze();
  const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const found = grave.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
  assert.deepEqual(found, [], "no serious or critical accessibility violation");
}

/** Fails when the page is wider than its window, so that a reader would have to scroll sideways. */
export async function expectNoSidewaysScroll(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= window, `the page is ${content} px wide in a window of ${window} px`);
}
