// The element <buffer-scope> and the frame, in pages of somebody else: as text lines that an author would paste.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { dist, expectAccessible, inBrowser, screenshot, serve } from "./harness.mjs";

const SCRIPT = `<script type="module" src="embed/buffer-scope.js"></script>`;
const host = (body, head = "") => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A host</title><link rel="icon" href="data:,">${head}</head><body>${body}</body></html>`;

const folder = mkdtempSync(join(tmpdir(), "bufferscope-host-"));
after(() => rmSync(folder, { recursive: true, force: true }));
await cp(join(dist, "embed"), join(folder, "embed"), { recursive: true });
// All of the published page, for the figures of the reading page.
await cp(dist, join(folder, "whole"), { recursive: true });
const site = await serve(folder, "/host/");
after(() => site.close());

/** Opens a page of a host; nothing may go wrong in it, and nothing may be asked of anybody else. */
async function withHost({ body, head = "", headers, width = 1000, scheme = "light", expected }, check) {
  const name = `page-${Math.random().toString(36).slice(2)}.html`;
  writeFileSync(join(folder, name), host(body, head));
  await inBrowser(async (browser) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
    try {
      const page = await context.newPage();
      const wrong = [];
      page.on("pageerror", (e) => wrong.push(`thrown: ${e.message}`));
      page.on("console", (m) => m.type() === "error" && wrong.push(`console: ${m.text()}`));
      page.on("request", (r) => {
        if (!r.url().startsWith(site.url) && !/^(data|blob):/.test(r.url())) wrong.push(`request: ${r.url()}`);
      });
      if (headers) {
        await page.route(`**/${name}*`, async (route) => {
          const answer = await route.fetch();
          await route.fulfill({ response: answer, headers: { ...answer.headers(), ...headers } });
        });
      }
      await page.goto(`${site.url}${name}`);
      await check(page);
      assert.deepEqual(wrong.filter((w) => !expected?.test(w)), []);
    } finally {
      await context.close();
    }
  });
}

const ready = (page, which = "buffer-scope") => page.waitForFunction((w) => [...document.querySelectorAll(w)].every((e) => e.isReady), which);
const heapOf = (page) => page.locator("buffer-scope").first().evaluate((e) => Number(e.dataset.heap));

test("one line in a page is an exhibit that is alive", () =>
  withHost({ body: `<h1>Notes</h1>${SCRIPT}<buffer-scope exhibit="drag" module="varied_temp_sizes"></buffer-scope>` }, async (page) => {
    await ready(page);
    await page.evaluate(() => {
      window.told = [];
      document.querySelector("buffer-scope").addEventListener("statechange", (e) => window.told.push(e.detail.state));
    });
    const before = await heapOf(page);
    const handle = page.getByRole("slider", { name: /^End of/ });
    const box = await handle.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + 320, box.y + box.height / 2, { steps: 6 });
    await page.mouse.up();
    assert.notEqual(await heapOf(page), before, "the packing ran again");
    const told = await page.evaluate(() => window.told);
    assert.match(told.at(-1), /^m=varied_temp_sizes;e=/);
    await screenshot(page, "embed-drag-1000");
    await expectAccessible(page, { within: "buffer-scope" });
    await page.getByRole("button", { name: "Undo" }).click();
    assert.equal(await heapOf(page), before);
    await page.getByRole("button", { name: "Redo" }).click();
    assert.notEqual(await heapOf(page), before);
    // By key alone, from the beginning.
    await page.getByRole("button", { name: "Reset" }).click();
    await handle.focus();
    await page.keyboard.press("End");
    assert.notEqual(await heapOf(page), before);
  }));

test("several share one program, and sleep until they are near", () =>
  withHost({ body: `${SCRIPT}${["drag", "ranges", "heap", "memory"].map((e) => `<buffer-scope exhibit="${e}" module="mlp_grad"></buffer-scope><div style="height: 2000px"></div>`).join("")}` }, async (page) => {
    const fetched = [];
    page.on("request", (r) => r.url().endsWith(".wasm") && fetched.push(r.url()));
    await ready(page, "buffer-scope[exhibit=drag]");
    assert.equal(await page.locator("buffer-scope[exhibit=memory]").evaluate((e) => e.isReady), false);
    assert.equal(await page.locator("buffer-scope[exhibit=memory] img").count(), 1, "a poster");
    for (const exhibit of ["ranges", "heap", "memory"]) {
      await page.locator(`buffer-scope[exhibit=${exhibit}]`).scrollIntoViewIfNeeded();
      await ready(page, `buffer-scope[exhibit=${exhibit}]`);
    }
    const entries = await page.evaluate(() => performance.getEntriesByType("resource").filter((r) => r.name.endsWith(".wasm")).length);
    assert.equal(entries, 1);
  }));

test("attributes, properties and states", () =>
  withHost({ body: `${SCRIPT}<buffer-scope start="click"></buffer-scope>` }, async (page) => {
    const element = page.locator("buffer-scope");
    await page.getByRole("button", { name: "Start the exhibit" }).click();
    await ready(page);
    const first = await heapOf(page);
    await page.getByRole("slider", { name: /^End of/ }).press("PageDown");
    await page.getByRole("slider", { name: /^End of/ }).press("PageUp");
    await page.getByRole("slider", { name: /^End of/ }).press("End");
    const state = await element.evaluate((e) => e.state);
    const pulled = await heapOf(page);
    await element.evaluate((e) => (e.state = ""));
    assert.equal(await heapOf(page), first);
    await element.evaluate((e, s) => e.setAttribute("state", s), state);
    assert.equal(await heapOf(page), pulled);
    // Another module by attribute; then a text of the host's own, with hostile names; then one that is broken.
    await element.evaluate((e) => { e.removeAttribute("state"); e.setAttribute("module", "unet_skip"); });
    await page.waitForFunction((n) => Number(document.querySelector("buffer-scope").dataset.heap) !== n, pulled);
    const text = `HloModule m, is_scheduled=true\n\nENTRY e {\n  a = f32[256]{0} parameter(0)\n  b = f32[256]{0} negate(a), metadata={op_name="<img src=x onerror=alert(1)>"}\n  ROOT c = f32[256]{0} add(b, a)\n}\n`;
    await element.evaluate((e, t) => (e.moduleText = t), text);
    await page.waitForFunction(() => document.querySelector("buffer-scope").state === "" && document.querySelector("buffer-scope").isReady);
    await element.evaluate((e) => {
      window.failed = undefined;
      e.addEventListener("error", (event) => (window.failed = event.detail.message));
      e.moduleText = "HloModule broken\nENTRY e {\n  a = f32[x]{0} parameter(0)\n}\n";
    });
    await page.waitForFunction(() => window.failed);
    assert.match(await page.evaluate(() => window.failed), /^line 3, column \d+: /);
    await page.getByRole("alert").waitFor();
  }));

test("in Chinese, where the page around it is, and back", () =>
  withHost({ body: `<div lang="zh-CN"><h1>笔记</h1>${SCRIPT}<buffer-scope module="mlp_grad"></buffer-scope></div>` }, async (page) => {
    await ready(page);
    const element = page.locator("buffer-scope");
    await element.getByRole("button", { name: "撤销" }).waitFor();
    await element.getByText("活跃区间与堆").waitFor();
    assert.equal(await element.evaluate((e) => e.shadowRoot.firstElementChild.lang), "zh-Hans");
    await element.getByRole("slider").last().press("End");
    await element.locator("summary").first().click();
    await element.locator(".table summary").click();
    await page.mouse.move(...(await element.locator(".heap svg").boundingBox().then((b) => [b.x + b.width / 2, b.y + b.height / 2])));
    const missing = await page.evaluate(async () => {
      const { pages } = await import(new URL("embed/locale.js", location.href));
      await new Promise((done) => setTimeout(done, 300));
      return [...pages].flatMap((p) => [...p.missing]);
    });
    assert.deepEqual(missing, []);
    await screenshot(page, "embed-drag-zh");
    await expectAccessible(page, { within: "buffer-scope" });
    await element.evaluate((e) => (e.lang = "en"));
    await element.getByRole("button", { name: "Undo" }).waitFor();
    assert.equal(await page.locator("h1").textContent(), "笔记");
  }));

test("the theme is the reader's, or what the page says", () =>
  withHost({ scheme: "dark", body: `${SCRIPT}<buffer-scope module="mlp_grad"></buffer-scope>` }, async (page) => {
    await ready(page);
    const paper = () => page.locator("buffer-scope").evaluate((e) => getComputedStyle(e).backgroundColor);
    const dark = await paper();
    await page.locator("buffer-scope").evaluate((e) => e.setAttribute("theme", "light"));
    const light = await paper();
    assert.notEqual(light, dark);
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await paper(), light);
    await page.locator("buffer-scope").evaluate((e) => e.setAttribute("theme", "dark"));
    assert.equal(await paper(), dark);
  }));

test("what is below it stays where it is when it starts", () =>
  withHost({ body: `${SCRIPT}<buffer-scope start="click" module="mlp_grad"></buffer-scope><p id="below">Below</p>` }, async (page) => {
    await page.waitForLoadState("networkidle");
    const top = () => page.locator("#below").evaluate((e) => e.getBoundingClientRect().top);
    const before = await top();
    await page.getByRole("button", { name: "Start the exhibit" }).click();
    await ready(page);
    const after = await top();
    assert.ok(Math.abs(after - before) <= 1, `it moves from ${before} to ${after}`);
  }));

test("a module that is not there is said to be so", () =>
  withHost({ body: `${SCRIPT}<buffer-scope module="../secret"></buffer-scope>` }, async (page) => {
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /There is no module/);
    await page.locator("buffer-scope").evaluate((e) => (e.module = "mlp_grad"));
    await ready(page);
  }));

test("it leaves its host alone, and works under the host's strict policy", () =>
  withHost({
    head: `<link rel="stylesheet" href="embed/frame.css">`,
    body: `<button id="mine">A button</button>${SCRIPT}<buffer-scope module="mlp_grad"></buffer-scope>`,
    headers: { "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self' data:; style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'" },
  }, async (page) => {
    const look = () => page.locator("#mine").evaluate((b) => JSON.stringify({ ...getComputedStyle(b) }));
    const before = await look();
    await ready(page);
    await page.getByRole("slider", { name: /^End of/ }).press("End");
    assert.equal(await look(), before);
  }));

for (const [file, sandbox] of [["embed.html", "allow-scripts allow-same-origin"], ["embed-single.html", "allow-scripts"]]) {
  test(`a frame of ${file}, sandbox="${sandbox}": height, state there and back`, () =>
    withHost({
      body: `<iframe class="bufferscope" src="embed/${file}?exhibit=drag&module=mlp_grad" title="An exhibit" width="100%" height="10" sandbox="${sandbox}"></iframe>
        <script type="module">import * as host from "./embed/host.js"; window.host = host; window.told = []; document.querySelector("iframe").addEventListener("bufferscope", (e) => window.told.push(e.detail));</script>`,
    }, async (page) => {
      const frame = page.frameLocator("iframe");
      await frame.getByRole("slider", { name: /^End of/ }).waitFor();
      await page.waitForFunction(() => document.querySelector("iframe").offsetHeight > 300);
      const inner = page.frames().find((f) => f !== page.mainFrame());
      const fits = await inner.evaluate(() => document.documentElement.scrollHeight - window.innerHeight);
      assert.ok(fits <= 1, `${fits} px are cut off`);
      await frame.getByRole("slider", { name: /^End of/ }).press("End");
      await page.waitForFunction(() => window.told.some((m) => m.type === "stateChanged"));
      const state = await page.evaluate(() => window.host.getState(document.querySelector("iframe")));
      assert.match(state, /^m=mlp_grad;e=/);
      await page.evaluate(() => window.host.setState(document.querySelector("iframe"), ""));
      await page.waitForFunction(() => window.told.some((m) => m.type === "stateChanged" && m.state === ""));
      // What has another shape is passed over.
      await page.evaluate(() => {
        const { contentWindow } = document.querySelector("iframe");
        for (const said of [null, "setState", { type: "setState", state: "m=x" }, { bufferscope: 1, type: "setState", state: 7 }, { bufferscope: 2, type: "setState", state: "m=x" }]) contentWindow.postMessage(said, "*");
      });
      assert.equal(await page.evaluate(() => window.host.getState(document.querySelector("iframe"))), "");
    }));
}

test("a frame that is told whom to talk to talks to nobody else", () =>
  withHost({
    body: ["origin=https://other.example", "origin=nonsense", `origin=${new URL(site.url).origin}`].map((o, i) => `<iframe id="f${i}" class="bufferscope" src="embed/embed.html?module=mlp_grad&${o}" width="100%" height="700"></iframe>`).join("") + `<script>window.told = []; addEventListener("message", (e) => told.push([...document.querySelectorAll("iframe")].findIndex((f) => f.contentWindow === e.source)));</script>`,
    expected: /Failed to execute 'postMessage'/,
  }, async (page) => {
    for (const i of [0, 1, 2]) await page.frameLocator(`#f${i}`).getByRole("slider", { name: /^End of/ }).waitFor();
    const ask = async (i) => {
      await page.evaluate((n) => {
        window.told.length = 0;
        document.getElementById(`f${n}`).contentWindow.postMessage({ bufferscope: 1, type: "getState", id: 1 }, "*");
      }, i);
      await page.waitForTimeout(300);
      return page.evaluate(() => window.told);
    };
    assert.deepEqual([await ask(0), await ask(1), await ask(2)], [[], [], [2]]);
  }));

test("the loader for hosts has at most thirty lines", () => {
  assert.ok(readFileSync(join(folder, "embed/host.js"), "utf8").trimEnd().split("\n").length <= 30);
});

/** All figures of the reading page. */
const chapters = join(new URL("..", import.meta.url).pathname, "src/chapters");
const figures = readdirSync(chapters).filter((f) => /^c\d\d_/.test(f)).sort().flatMap((f) => /figures: &\[([^\]]*)\]/.exec(readFileSync(join(chapters, f), "utf8"))?.[1].match(/[\w-]+/g) ?? []);

test("every figure of the reading page stands alone in a frame, and says what is done in it", { timeout: 600_000 }, () =>
  withHost({
    body: `<iframe class="bufferscope" title="An exhibit" width="100%" height="300"></iframe>
      <script type="module">import * as host from "./whole/embed/host.js"; window.host = host; window.told = []; document.querySelector("iframe").addEventListener("bufferscope", (e) => window.told.push(e.detail));</script>`,
  }, async (page) => {
    assert.ok(figures.length > 20, figures.join());
    const told = (type) => page.waitForFunction((t) => window.told.find((m) => m.type === t), type, { timeout: 20_000 });
    for (const id of figures) {
      try {
        await page.evaluate((name) => {
          window.told.length = 0;
          // That one is the element's own, too, and stands for itself there.
          document.querySelector("iframe").src = `whole/${name === "drag" ? "index" : "embed/embed"}.html?exhibit=${name}`;
        }, id);
        await told("ready");
        const frame = page.frames().find((f) => f !== page.mainFrame());
        const seen = await frame.evaluate(() => ({
          figures: [...document.querySelectorAll(".figure")].filter((f) => f.offsetHeight > 0).map((f) => f.id),
          prose: [...document.querySelectorAll("h1, h2, .question, .predict, nav, .rail")].filter((e) => e.offsetHeight > 0).length,
          wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        }));
        assert.deepEqual(seen, { figures: [id], prose: 0, wide: 0 });
        await frame.locator(`#${id} details.table > summary`).click();
        await told("stateChanged");
        const state = await page.evaluate(() => window.host.getState(document.querySelector("iframe")));
        assert.match(state, /^m=\w+.*;table/);
        await page.evaluate(() => {
          window.told.length = 0;
          window.host.setState(document.querySelector("iframe"), "");
        });
        await told("stateChanged");
        assert.equal(await frame.locator(`#${id} details.table`).evaluate((d) => d.open), false);
        assert.equal(await page.evaluate(() => window.told.findLast((m) => m.type === "stateChanged").state), "");
        const height = await page.evaluate(() => document.querySelector("iframe").offsetHeight);
        assert.ok(height > 250, `${height} px`);
        if (["drag", "clock", "by-hand"].includes(id)) await screenshot(page, `frame-${id}`);
      } catch (error) {
        error.message = `${id}: ${error.message}`;
        throw error;
      }
    }
  }));

test("the element shows figures of the reading page too", () =>
  withHost({ body: `<script type="module" src="whole/embed/buffer-scope.js"></script><buffer-scope exhibit="clock" theme="dark"></buffer-scope><div style="height: 3000px"></div><buffer-scope exhibit="nonsense"></buffer-scope>`, expected: /404/ }, async (page) => {
    const clock = page.locator("buffer-scope").first();
    await page.evaluate(() => {
      window.told = [];
      for (const type of ["ready", "statechange"]) document.addEventListener(type, (e) => window.told.push([type, e.detail.state]));
    });
    await page.waitForFunction(() => document.querySelector("buffer-scope").isReady);
    const frame = page.frames().find((f) => f !== page.mainFrame());
    await frame.getByRole("button", { name: "Later" }).click();
    await page.waitForFunction(() => window.told.some(([type]) => type === "statechange"));
    const state = await clock.evaluate((e) => e.state);
    assert.match(state, /^m=attention_grad;o=/);
    assert.equal(await frame.evaluate(() => document.documentElement.dataset.theme), "dark");
    await clock.evaluate((e) => (e.state = ""));
    await page.waitForFunction(() => document.querySelector("buffer-scope").state === "");
    await frame.getByRole("button", { name: "Undo" }).click();
    await page.waitForFunction((s) => document.querySelector("buffer-scope").state === s, state);
    await page.locator("buffer-scope").last().scrollIntoViewIfNeeded();
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /There is no exhibit nonsense; there are slabs, .*clock/);
  }));

test("what the buttons copy works where it is pasted", () =>
  withHost({ body: `${SCRIPT}<buffer-scope module="mlp_grad"></buffer-scope>` }, async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await ready(page);
    await page.getByRole("slider", { name: /^End of/ }).press("End");
    const state = await page.locator("buffer-scope").evaluate((e) => e.state);
    await page.locator("summary", { hasText: "Embed or save" }).click();
    const copied = async (name) => {
      await page.evaluate(() => navigator.clipboard.writeText(""));
      await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click();
      await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    await page.locator("buffer-scope").evaluate((e) => e.shadowRoot.querySelector(".share").scrollIntoView());
    assert.ok((await copied("link")).endsWith(`index.html#v2/drag/drag=${state}`));
    assert.match(await copied("Markdown"), /^\[Live ranges and the heap\]\(http.*\)$/);
    const [element, frame] = [await copied("element"), await copied("frame")];
    const heap = await heapOf(page);
    // Pictures, and the state as a file that is opened again.
    const saved = async (name) => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
      return readFileSync(await file.path());
    };
    assert.match((await saved("Save SVG")).toString(), /^<svg [^]*--hue-0/);
    assert.equal((await saved("Save PNG")).subarray(1, 4).toString(), "PNG");
    const file = await saved("Save state");
    assert.equal(file.toString(), state);
    await page.getByRole("button", { name: "Reset" }).click();
    assert.notEqual(await heapOf(page), heap);
    await page.locator("buffer-scope input[type=file]").setInputFiles({ name: "state.txt", mimeType: "text/plain", buffer: file });
    await page.waitForFunction((h) => Number(document.querySelector("buffer-scope").dataset.heap) === h, heap);
    // A text of the host's own, too long for a link.
    const long = `HloModule m, is_scheduled=true\n\nENTRY e {\n  a = f32[256]{0} parameter(0)\n${Array.from({ length: 4000 }, (_, i) => `  v${i}_${Math.random().toString(36)} = f32[256]{0} negate(a)\n`).join("")}  ROOT c = f32[256]{0} negate(a)\n}\n`;
    await page.locator("buffer-scope").evaluate((e, text) => (e.moduleText = text), long);
    await page.waitForFunction((h) => document.querySelector("buffer-scope").isReady && Number(document.querySelector("buffer-scope").dataset.heap) !== h, heap);
    await page.locator("summary", { hasText: "Embed or save" }).click();
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByText("Too long for a link").waitFor();
    assert.match((await saved("Save state")).toString(), /^x=/);
    await page.setContent(host(element));
    await ready(page);
    assert.equal(await heapOf(page), heap);
    await page.setContent(host(frame));
    await page.frameLocator("iframe").getByRole("slider", { name: /^End of/ }).waitFor();
  }));

test("it fits a narrow page, in the dark", () =>
  withHost({ width: 360, scheme: "dark", body: `${SCRIPT}<buffer-scope module="mlp_grad"></buffer-scope>` }, async (page) => {
    await ready(page);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} px too wide`);
    await expectAccessible(page, { within: "buffer-scope" });
    await screenshot(page, "embed-drag-360-dark");
  }));

test("one file works from a disk", () =>
  inBrowser(async (browser) => {
    const page = await browser.newPage();
    const wrong = [];
    page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
    await page.goto(`${pathToFileURL(join(folder, "embed/embed-single.html")).href}?module=mlp_grad`);
    await page.getByRole("slider", { name: /^End of/ }).press("End");
    await page.waitForFunction(() => location.hash.includes("e="));
    assert.deepEqual(wrong, []);
    await page.close();
  }));

test("npm packs all that the package names, and all that it needs", () => {
  const listed = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--offline"], { cwd: join(folder, "embed"), encoding: "utf8" }))[0].files.map((f) => f.path);
  for (const file of readdirSync(join(folder, "embed"), { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath ?? file.path, file.name).slice(join(folder, "embed").length + 1);
    assert.ok(listed.includes(path), `${path} is not packed`);
  }
  const about = JSON.parse(readFileSync(join(folder, "embed/package.json"), "utf8"));
  for (const entry of Object.values(about.exports).flatMap((e) => (typeof e === "string" ? [e] : Object.values(e)))) {
    assert.ok(readFileSync(join(folder, "embed", entry)).length > 0, entry);
  }
  assert.match(about.version, /^\d+\.\d+\.\d+$/);
  for (const name of ["buffer-scope.js", "talk.js"]) assert.ok(!readFileSync(join(folder, "embed", name), "utf8").includes("@VERSION@"), name);
});
