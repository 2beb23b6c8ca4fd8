// Chromium, Firefox and WebKit: that the page is alive, that a range can be pulled by pointer and by keys, that the lab opens a
// dump, and a report its own, in each of them; and that none of them sees a fault, a breach of the policy or a request too many.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { open } from "./drivers.mjs";
import { dist, screenshots, serve } from "./harness.mjs";

const sample = (name) => join(dist, "modules", name);

/** What a page tells of itself. Runs in it, before its own scripts. */
const watch = () => {
  const told = (globalThis.faults = []);
  addEventListener("error", (event) => told.push(`thrown: ${event.message ?? event.target?.outerHTML}`), true);
  addEventListener("unhandledrejection", ({ reason }) => told.push(`rejected: ${reason}`));
  document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) =>
    told.push(`policy: ${effectiveDirective} forbids ${blockedURI} ${sample}`),
  );
  const { error } = console;
  console.error = (...words) => {
    told.push(`console: ${words.join(" ")}`);
    error(...words);
  };
};

const EVIL = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
/** A module that is markup and scripts wherever there is room for words. */
const evil = [
  "HloModule evil, is_scheduled=true",
  "",
  "ENTRY e {",
  "  p = f32[4096]{0} parameter(0)",
  `  a = f32[4096]{0} custom-call(p), custom_call_target="${EVIL.replaceAll('"', '\\"')}", metadata={op_name="${EVIL.replaceAll('"', '\\"')}" source_file="javascript:globalThis.hit=1" source_line=3}`,
  "  ROOT r = f32[4096]{0} negate(a)",
  "}",
  "",
].join("\n");

// Where the set-up could not put a browser in place, it says why; see `cargo xtask test`.
const absent = JSON.parse(process.env.BUFFERSCOPE_ABSENT ?? "{}");

for (const name of ["Chromium", "Firefox", "WebKit"]) {
  describe(name, { skip: absent[name], timeout: 300_000 }, () => {
    let browser;
    let server;
    const folder = mkdtempSync(join(tmpdir(), "browsers-"));

    before(async () => {
      server = await serve(undefined, undefined, { first: `(${watch})();` });
      browser = await open(name);
    });
    after(async () => {
      await browser?.close();
      browser?.end();
      server?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const visit = async (path) => {
      await browser.go(server.url + path);
      await browser.until("the page's start", () => !document.getElementById("startup"));
    };
    /** What went wrong in the page that is open. */
    const faults = async () => {
      const told = await browser.run(() => [
        ...globalThis.faults.splice(0),
        ...performance.getEntriesByType("resource").map(({ name }) => name).filter((url) => !url.startsWith(new URL(".", location.href).href) && !/^(blob|data):/.test(url)),
      ]);
      return [...told, ...browser.logged(), ...server.missing.splice(0)];
    };
    const picture = async (what) => {
      mkdirSync(screenshots, { recursive: true });
      writeFileSync(join(screenshots, `${name.toLowerCase()}-${what}.png`), Buffer.from(await browser.picture(), "base64"));
    };
    const openFile = async (path) => {
      await browser.files("#open-files", path);
      await browser.until("a list of values", () => document.querySelector("#values tbody tr, .modules tbody tr"));
    };

    test("sees what is wrong: an error, a breach of the policy, a file that is not there", async () => {
      await visit("lab.html");
      assert.deepEqual(await faults(), []);
      await browser.run(() => {
        console.error("told");
        fetch("http://127.0.0.1:9/").catch(() => {});
        fetch("absent.txt").catch(() => {});
        try {
          document.body.insertAdjacentHTML("beforeend", "<p>markup</p>");
        } catch {
          // As it must be.
        }
      });
      const seen = [];
      await browser.until("the faults", () => globalThis.faults.length > 2);
      for (let i = 0; i < 20 && !seen.some((fault) => /absent/.test(fault)); i++) seen.push(...(await faults()));
      for (const what of [/told/, /connect-src/, /require-trusted-types-for/, /absent\.txt/]) {
        assert.ok(seen.some((fault) => what.test(fault)), `${what} in ${JSON.stringify(seen)}`);
      }
      assert.ok(!(await browser.run(() => document.body.textContent.includes("markup"))));
    });

    test("the first figure is alive; a range is pulled by pointer and by keys", async () => {
      await visit("#drag");
      await browser.until("a figure with bands", () => document.querySelectorAll("#drag .heap svg .band").length > 40);
      const handle = '#drag [role="slider"][aria-label^="End of"]';
      const state = () =>
        browser.run(
          (css) => ({
            now: Number(document.querySelector(css).getAttribute("aria-valuenow")),
            hash: location.hash,
            heap: document.querySelector("#drag .card").dataset.heap,
            picture: document.querySelector("#drag .heap svg").innerHTML,
          }),
          handle,
        );
      const first = await state();
      await browser.middle(handle);
      await picture("page");
      const [x, y] = await browser.middle(handle);
      await browser.drag([[x, y], [x + 60, y], [x + 160, y]]);
      await browser.until("the address", (was) => location.hash !== was, first.hash);
      const pulled = await state();
      assert.ok(pulled.now > first.now, `${first.now} to ${pulled.now}`);
      assert.notEqual(pulled.picture, first.picture);
      assert.notEqual(pulled.heap, first.heap);
      await picture("dragged");
      await browser.run((css) => document.querySelector(css).focus(), handle);
      await browser.press("ArrowLeft", "ArrowLeft", "ArrowLeft");
      await browser.until("three steps back", (css, was) => Number(document.querySelector(css).getAttribute("aria-valuenow")) === was - 3, handle, pulled.now);
      await browser.until("the address", (was) => location.hash !== was, pulled.hash);
      const keyed = await state();
      assert.notEqual(keyed.picture, pulled.picture);
      // The address is the state: another page gets the same.
      await visit("rules.html").catch(() => {});
      await visit(keyed.hash);
      await browser.until("the figure", (css) => document.querySelector(css), handle);
      const again = await state();
      assert.deepEqual([again.now, again.heap], [keyed.now, keyed.heap]);
      assert.deepEqual(await faults(), []);
    });

    test("the lab opens a dump folder, and says why two values do not share", async () => {
      await visit("lab.html");
      await openFile(sample("donated_loop_reads.zip"));
      await browser.click(await browser.middle(".modules tbody button", "jit_loop_reads_mid"));
      await browser.until("the values", () => document.querySelector("#values tbody tr"));
      assert.match(await browser.run(() => document.querySelector(".headline").textContent), /add up to the files' own total/);
      await browser.until("a map", () => document.querySelector("#map")?.width > 100);
      await browser.click(await browser.middle('[role="tab"]', "Ask"));
      await browser.click(await browser.middle("button", "Was my donation used"));
      await browser.until("an answer", () => document.querySelector("#answer .answer"));
      await picture("lab");
      assert.deepEqual(await faults(), []);
    });

    test("names that are markup and scripts stay words", async () => {
      await visit("lab.html");
      const path = join(folder, "<img src=x onerror=hit=1>.txt");
      writeFileSync(path, evil);
      await openFile(path);
      for (const tab of ["Allocations", "Decision log", "Ask", "Try", "Take away", "What is alive"]) {
        await browser.click(await browser.middle('[role="tab"]', tab));
        await browser.until(`the tab ${tab}`, (words) => document.querySelector('[role="tab"][aria-selected="true"]').textContent.includes(words), tab);
      }
      await browser.until("the values", () => document.querySelector("#values tbody tr th button"));
      await browser.run(() => document.querySelector("#values tbody tr th button").click());
      await browser.until("the detail", () => document.querySelector("#detail h3"));
      assert.ok(await browser.run(() => document.body.textContent.includes("<script>globalThis.hit=1")), "the words are shown");
      assert.deepEqual(await browser.run(() => [globalThis.hit, document.querySelectorAll('main img, main script, [href^="javascript"]').length]), [null, 0]);
      assert.deepEqual(await faults(), []);
    });

    test("a report from the disk is alive", async () => {
      const report = join(folder, "report.html");
      const built = process.env.BUFFERSCOPE_COMMAND;
      const [program, ...given] = built ? [built] : ["cargo", "run", "--quiet", "--package", "bufferscope", "--"];
      const root = fileURLToPath(new URL("../..", import.meta.url));
      execFileSync(program, [...given, "report", sample("unet_skip.txt"), "-o", report, "--shell", join(dist, "report-shell.html")], { cwd: root, stdio: "pipe" });
      await browser.go(pathToFileURL(report).href);
      await browser.run(watch);
      await browser.until("the values", () => document.querySelector("#values tbody tr"));
      await browser.click(await browser.middle('[role="tab"]', "Ask"));
      await browser.click(await browser.middle("button", "Was my donation used"));
      await browser.until("an answer", () => /Donation saves/.test(document.querySelector("#answer .answer")?.textContent));
      await picture("report");
      assert.deepEqual(await faults(), []);
    });
  });
}
