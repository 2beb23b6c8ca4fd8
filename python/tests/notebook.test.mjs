// The example notebook in a real JupyterLab, executed by a real kernel with a real JAX. `cargo xtask notebooks` runs it, with
// the package installed from its wheel in the Python that BUFFERSCOPE_PYTHON names.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { screenshot } from "../../web/tests/harness.mjs";

const LONG = { timeout: 120_000 };
const NOTEBOOK = "memory.ipynb";
const TOKEN = "only-of-this-test";
const folder = mkdtempSync(join(tmpdir(), "bufferscope-notebook-"));
const work = join(folder, "work");
let server, url, browser;

/** JupyterLab with nothing of this user's own in it; gives its address once it answers. */
async function jupyter() {
  const config = join(folder, "config");
  mkdirSync(join(config, "labconfig"), { recursive: true });
  mkdirSync(work);
  // It would ask whether it may look for news.
  const off = { disabledExtensions: { "@jupyterlab/apputils-extension:announcements": true } };
  writeFileSync(join(config, "labconfig", "page_config.json"), JSON.stringify(off));
  copyFileSync(fileURLToPath(new URL("../examples/" + NOTEBOOK, import.meta.url)), join(work, NOTEBOOK));
  const options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--expose-app-in-browser"];
  server = spawn(process.env.BUFFERSCOPE_PYTHON, ["-m", "jupyterlab", ...options, `--IdentityProvider.token=${TOKEN}`, `--ServerApp.root_dir=${work}`], {
    env: {
      ...process.env,
      JUPYTER_CONFIG_DIR: config,
      JUPYTER_DATA_DIR: join(folder, "data"),
      JUPYTER_RUNTIME_DIR: join(folder, "runtime"),
      JUPYTERLAB_SETTINGS_DIR: join(folder, "settings"),
      JUPYTERLAB_WORKSPACES_DIR: join(folder, "workspaces"),
      IPYTHONDIR: join(folder, "ipython"),
      JUPYTER_PLATFORM_DIRS: "1",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  return new Promise((resolve, reject) => {
    server.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      const found = /(http:\/\/127\.0\.0\.1:\d+)\/lab/.exec(said);
      if (found) resolve(found[1]);
    });
    server.on("exit", (code) => reject(new Error(`JupyterLab ended with ${code}:\n${said}`)));
  });
}

before(async () => {
  url = await jupyter();
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
}, LONG);

after(async () => {
  await browser?.close();
  server?.removeAllListeners("exit");
  server?.kill("SIGINT");
  server?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Opens a notebook, gives the page and the frame's lab to `body`, then looks at what the page did meanwhile. */
async function withNotebook({ name = NOTEBOOK, width = 1280, scheme = "light" }, body) {
  const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme: scheme, acceptDownloads: true });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`thrown: ${error}`));
  context.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(url) && !/^(data|blob|about):/.test(asked)) faults.push(`asked for ${asked}`);
  });
  try {
    // Without the notebooks that another test has left open.
    await page.goto(`${url}/lab/tree/${name}?reset&token=${TOKEN}`);
    await page.locator(".jp-Notebook .jp-Cell").first().waitFor(LONG);
    await body(page, page.frameLocator('iframe[title^="Bufferscope"]'));
  } finally {
    await context.close();
  }
  assert.deepEqual(faults, [], "no error, and nothing is asked of any other host");
}

const command = (page, name, options = {}) =>
  page.evaluate(([name, options]) => globalThis.jupyterapp.commands.execute(name, options), [name, options]);

/** Runs all cells, and waits until the last has an answer. */
async function runAll(page) {
  await page.waitForFunction(() => globalThis.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle", undefined, LONG);
  await command(page, "notebook:run-all-cells");
}

/** Waits until the map has more colours than an empty one: those of a ground, a band and its edge. */
async function drawn(lab) {
  await lab.locator("#values tbody tr").first().waitFor(LONG);
  const canvas = lab.locator("canvas#map");
  await canvas.evaluate((canvas) => canvas.scrollIntoView());
  let colours = 0;
  for (let tries = 0; tries < 100 && colours < 3; tries++) {
    await new Promise((done) => setTimeout(done, 100));
    colours = await canvas.evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
  }
  assert.ok(colours >= 3, `the map has ${colours} colours: there are no bands in it`);
}

test("a notebook is executed, and the lab in it is alive", () =>
  withNotebook({}, async (page, lab) => {
    await runAll(page);
    await drawn(lab);
    assert.equal(await lab.locator("#bench-title").textContent(), "jit_loss");
    assert.equal(await lab.locator("body").evaluate(() => self.origin), "null", "the frame has an origin of its own");

    // The answers beside it.
    const outputs = page.locator(".jp-OutputArea-output");
    const told = outputs.filter({ hasText: "Most temporaries at step" });
    assert.match(await told.locator("p").first().textContent(), /in all: argument .*, output .*, temp .* at step \d+/);
    assert.ok((await told.locator("tbody tr").count()) >= 2);
    assert.match(await outputs.filter({ hasText: "of allocation" }).last().textContent(), /do not share/);
    await outputs.filter({ hasText: "report.html" }).last().waitFor(LONG);
    assert.match(readFileSync(join(work, "report.html"), "utf8"), /<h1>jit_loss<\/h1>/);

    // Asking, trying, taking away.
    await lab.getByRole("tab", { name: "Ask" }).click();
    await lab.getByRole("button", { name: "What stands out?" }).click();
    await lab.locator("#answer .answer").waitFor(LONG);
    await lab.getByRole("tab", { name: "Try" }).click();
    await lab.locator("#alignment").selectOption("4096");
    await lab.locator("#tried").waitFor(LONG);
    await lab.getByRole("tab", { name: "Take away" }).click();
    const [download] = await Promise.all([page.waitForEvent("download", LONG), lab.locator("#save-report").click()]);
    assert.equal(download.suggestedFilename(), "jit_loss.report.html");
    await screenshot(page, "notebook-lab", { fullPage: false });

    // Saved, so that the next test finds it with its outputs.
    await command(page, "docmanager:save");
    const kept = JSON.parse(readFileSync(join(work, NOTEBOOK), "utf8"));
    assert.equal(kept.cells.flatMap((cell) => cell.outputs ?? []).filter((output) => output.output_type === "error").length, 0);
    writeFileSync(join(work, "foreign.ipynb"), JSON.stringify(kept).replaceAll("jit_loss", "jit_loss "));
  }));

test("opened again it is alive without having been run", () =>
  withNotebook({ width: 900, scheme: "dark" }, async (page, lab) => {
    await drawn(lab);
    assert.equal(await lab.locator("#bench-title").textContent(), "jit_loss");
    await screenshot(page, "notebook-again-dark", { fullPage: false });
  }));

test("in a notebook from elsewhere, which is not trusted, words say what was there", () =>
  withNotebook({ name: "foreign.ipynb" }, async (page) => {
    const words = page.getByText(/The Bufferscope lab with jit_loss .*stands here once this notebook is trusted/);
    await words.scrollIntoViewIfNeeded();
    await screenshot(page, "notebook-foreign", { fullPage: false });
    assert.equal(await page.locator("iframe").count(), 0);
  }));

// Two modules in a folder, and a theme that is not the system's.
const FOLDER = `
import pathlib
import bufferscope

folder = pathlib.Path("two")
folder.mkdir(exist_ok=True)
for name, op in [("first", "negate"), ("second", "sine")]:
    text = f"HloModule {name}, is_scheduled=true\\n\\nENTRY e {{\\n  p = f32[64]{{0}} parameter(0)\\n  a = f32[64]{{0}} {op}(p)\\n  ROOT b = f32[64]{{0}} reverse(a), dimensions={{0}}\\n}}\\n"
    (folder / f"{name}.txt").write_text(text)
bufferscope.show(folder, theme="dark", lang="zh-Hans", height="60vh")
`;

test("of a folder with several modules the lab lists them; it has the theme and the language that were asked for", () => {
  const cell = { cell_type: "code", id: "only", execution_count: null, metadata: {}, outputs: [], source: FOLDER };
  const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
  writeFileSync(join(work, "folder.ipynb"), JSON.stringify({ cells: [cell], metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 }));
  return withNotebook({ name: "folder.ipynb" }, async (page, lab) => {
    await runAll(page);
    await lab.getByRole("button", { name: /^first/ }).waitFor(LONG);
    assert.equal(await lab.locator("#bench-title").count(), 0, "none is chosen for the reader");
    await lab.getByRole("button", { name: /^second/ }).click();
    await drawn(lab);
    assert.equal(await lab.locator("#bench-title").textContent(), "second");
    const [scheme, pressed] = await lab.locator("html").evaluate((html) => [
      getComputedStyle(html).colorScheme,
      html.querySelector(".theme [aria-pressed=true]").textContent,
    ]);
    assert.deepEqual([scheme, pressed], ["dark", "深色"]);
    assert.equal(await lab.locator("html").getAttribute("lang"), "zh-Hans");
    const box = await page.locator("iframe").boundingBox();
    assert.ok(Math.abs(box.height - 600) < 5, `60 of 100 parts of a window of 1000: ${box.height}`);
    await screenshot(page, "notebook-folder-dark", { fullPage: false });
  });
});
