// The content security policy: the pages keep to it with a module that is hostile in all its words, and with the headers that
// hosts are told to send; nothing else than the pages' own script and worker gets through it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { settled, withPage } from "./harness.mjs";

const LONG = { timeout: 90_000 };
/** Markup and a script, as they would stand within quotes of a module. */
const EVIL = "<img src=x onerror=globalThis.hit=1><svg onload=globalThis.hit=1></svg><script>globalThis.hit=1</script>";
const LINK = "javascript:globalThis.hit=1";
const evil = `HloModule evil, is_scheduled=true, frontend_attributes={note="${EVIL}"}

ENTRY e {
  p = f32[4096]{0} parameter(0), sharding={replicated}, metadata={op_name="${EVIL}"}
  a = f32[4096]{0} custom-call(p), custom_call_target="${EVIL}", metadata={op_name="${EVIL}" source_file="${LINK}" source_line=3}
  b = f32[4096]{0} custom-call(a), custom_call_target="${LINK}", backend_config="${EVIL}", metadata={op_name="${LINK}" source_file="${EVIL}" source_line=3}
  ROOT r = f32[4096]{0} negate(b)
}
`;

/** Nothing of it ran, and nothing became an element. */
async function harmless(page) {
  await settled(page);
  const found = await page.evaluate(() => [
    globalThis.hit ?? null,
    document.querySelectorAll('img, svg[onload], iframe, [onerror], [href^="javascript" i], [src^="javascript" i], body script:not([type="text/plain"], [id])').length,
  ]);
  assert.deepEqual(found, [null, 0]);
}

/** The lines between the fences below "Headers", as names and values. */
const documented = Object.fromEntries(
  /## Headers[\s\S]*?```\n([\s\S]*?)```/
    .exec(readFileSync(new URL("../../docs/HOSTING.md", import.meta.url), "utf8"))[1]
    .trim()
    .split("\n")
    .map((line) => line.split(/: (.*)/s).slice(0, 2)),
);

test("with the headers of docs/HOSTING.md, on scripts and the worker too, the page is alive", () =>
  withPage({ headers: documented, path: "#drag" }, async (page) => {
    const end = page.locator("#drag").getByRole("slider", { name: "End of" });
    const before = Number(await end.getAttribute("aria-valuenow"));
    await end.press("ArrowRight");
    await settled(page);
    assert.equal(Number(await end.getAttribute("aria-valuenow")), before + 1);
    const figure = page.locator("#drag");
    await figure.locator("summary", { hasText: "HLO text" }).click();
    const area = figure.getByLabel("HLO text of the module");
    await area.fill(evil);
    await page.waitForFunction(() => document.querySelector("#drag .card").dataset.total === "49152");
    await harmless(page);
    await area.fill(evil.replace("negate(b)", `negate(${EVIL})`));
    await figure.locator(".problems button", { hasText: "line 7," }).waitFor();
    await harmless(page);
  }));

test("with the same headers the lab opens a hostile module in its worker, and every view of it is words", () =>
  withPage({ headers: documented, path: "lab.html" }, async (page) => {
    const path = join(mkdtempSync(join(tmpdir(), "evil-")), "<img src=x onerror=globalThis.hit=1>.txt");
    writeFileSync(path, evil);
    await page.locator("#open-files").setInputFiles(path);
    await page.locator("#values tbody tr").first().waitFor(LONG);
    assert.equal(page.workers().length, 1);
    await page.locator("#group").selectOption({ label: "each value" });
    await page.locator("#values tbody tr th button").first().click();
    await page.locator("#detail h3").waitFor();
    for (const tab of await page.getByRole("tab").all()) {
      await tab.click();
      await harmless(page);
    }
    await page.getByRole("tab", { name: "Ask" }).click();
    for (const question of await page.locator("#answer ~ * button, .questions button").all()) {
      await question.click();
      await settled(page);
    }
    await page.getByRole("tab", { name: "Take away" }).click();
    const [report] = await Promise.all([page.waitForEvent("download", LONG), page.locator("#save-report").click()]);
    assert.match(readFileSync(await report.path(), "utf8"), /&lt;img src=x onerror=globalThis\.hit=1&gt;/);
    assert.ok((await page.locator("body").textContent()).includes("<img src=x onerror=globalThis.hit=1>"), "the words are shown");
    await harmless(page);
  }));

test("a hostile address and hostile files in the reading page are words too", () =>
  withPage({ path: `#v2/drag/drag=m=${encodeURIComponent(EVIL)};e=0.1.2&${encodeURIComponent(EVIL)}=${encodeURIComponent(LINK)}` }, async (page) => {
    await harmless(page);
    await page.evaluate(() => (location.hash = "#files"));
    const figure = page.locator("#files");
    await figure.locator(".stage:not(.asleep)").waitFor();
    const files = [["module_0001.evil.txt", evil], [`${EVIL}.png`, "\u0089P\u0000"], [`${LINK}.bin`, "\u0000\u0001"]];
    await figure.locator("input[type=file]:not(.state-file)").setInputFiles(files.map(([name, text]) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text, "latin1") })));
    await figure.locator(".remarks", { hasText: "<img" }).first().waitFor();
    await harmless(page);
  }));

test("no markup, script, worker or policy is made of a string but by the page's own", () =>
  withPage({ path: "lab.html", expected: /Content Security Policy|TrustedHTML|TrustedScript|violates the following|createPolicy|trusted-types|could run something/ }, async (page) => {
    const refused = await page.evaluate(async (markup) => {
      const said = (work) => {
        try {
          work();
          return "done";
        } catch (error) {
          return `${error.name}: ${error.message}`;
        }
      };
      const template = (inside) => said(() => (document.createElement("template").innerHTML = inside));
      const group = (inside) => said(() => (document.createElementNS("http://www.w3.org/2000/svg", "g").innerHTML = inside));
      return {
        markup: said(() => (document.body.innerHTML = markup)),
        write: said(() => document.write(markup)),
        parser: said(() => new DOMParser().parseFromString(markup, "text/html")),
        frame: said(() => (document.createElement("iframe").srcdoc = markup)),
        // The tools that drive the page may do this; a task of the page may not.
        code: await new Promise((done) => setTimeout(() => done(said(() => new Function("globalThis.hit=1")())))),
        source: said(() => (document.createElement("script").src = "boot.js")),
        worker: said(() => new Worker("lab-worker.js")),
        another: said(() => bufferscopeStartWorker("https://example.org/worker.js")),
        policy: said(() => trustedTypes.createPolicy("another", {})),
        again: said(() => trustedTypes.createPolicy("bufferscope", {})),
        templates: [markup, "<a href=' Java\tScript:hit=1'>x</a>", "<p><b onclick=hit=1>x</b></p>", "<iframe></iframe>", "<base href=/>"].map(template),
        groups: ["<script>hit=1</script>", "<a href='javascript:hit=1'><text>x</text></a>", "<image href='data:image/svg+xml,x'/>"].map(group),
        fine: [template("<p class=a title='data: one'>one = two</p>"), group("<rect width='1'/>")],
      };
    }, EVIL);
    const { templates, groups, fine, ...strings } = refused;
    for (const [what, said] of Object.entries(strings)) assert.match(said, /^(TypeError|EvalError)/, what);
    for (const said of [...templates, ...groups]) assert.match(said, /could run something/);
    assert.deepEqual(fine, ["done", "done"]);
    await harmless(page);
  }));

test("what the framework needs of templates is as if nobody stood in between", () =>
  withPage({ path: "lab.html" }, async (page) => {
    const made = await page.evaluate(() => {
      const template = document.createElement("template");
      template.innerHTML = "<table><tr><td>1</td></tr></table>";
      const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
      group.innerHTML = '<path d="M0 0"/><text>a</text>';
      return [template.innerHTML, group.innerHTML, [...group.children].map(({ namespaceURI }) => namespaceURI)];
    });
    const svg = "http://www.w3.org/2000/svg";
    assert.deepEqual(made, ["<table><tbody><tr><td>1</td></tr></tbody></table>", '<path d="M0 0"></path><text>a</text>', [svg, svg]]);
  }));
