// report.html: made by the command and by the lab, opened from a disk without a network, in a frame that may do nothing but
// run scripts, without JavaScript, and on paper.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { dist, expectAccessible, expectNoSidewaysScroll, screenshot, screenshots, serve, settled, withPage } from "./harness.mjs";

const LONG = { timeout: 90_000 };
const folder = mkdtempSync(join(tmpdir(), "report-"));
const shell = join(dist, "report-shell.html");
const sample = (name) => join(dist, "modules", name);

/** Runs the command; gives its standard output. */
function command(...args) {
  const built = process.env.BUFFERSCOPE_COMMAND;
  const [program, first] = built ? [built, []] : ["cargo", ["run", "--quiet", "--package", "bufferscope", "--"]];
  return execFileSync(program, [...first, ...args], { encoding: "utf8", cwd: fileURLToPath(new URL("../..", import.meta.url)) });
}

/** A report by the command, as a path. */
function report(module, name = `${module}.html`, ...more) {
  const path = join(folder, name);
  command("report", sample(module), "-o", path, "--force", "--shell", shell, ...more);
  return path;
}

/** Opens a report from the disk, with the network off. */
const onDisk = (path, options, body) => withPage({ ...options, url: pathToFileURL(path).href }, body);

/** Waits until the lab shows the module. */
const alive = (page) => page.locator("#values tbody tr").first().waitFor(LONG);

const step = (page) => page.locator("#step").inputValue().then(Number);

/** Asks a question and pulls the end of a range. */
async function use(page) {
  assert.equal(await page.locator("#report").isVisible(), false, "the part without a program makes room");
  await page.getByRole("tab", { name: "Ask" }).click();
  await page.getByRole("button", { name: "Was my donation used, and what could be donated?" }).click();
  await page.locator("#answer .answer").waitFor(LONG);
  assert.match(await page.locator("#answer").textContent(), /Donation saves/);
  await page.getByRole("tab", { name: "What is alive" }).click();
  await page.locator("#group").selectOption({ label: "each value" });
  await page.locator("#values tbody tr th button").first().click();
  const end = page.getByRole("slider", { name: "Last step of the selected value" });
  await end.waitFor(LONG);
  await end.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector(".handle.end")?.style.top);
  const before = Number(await end.getAttribute("aria-valuenow"));
  const [from, map] = [await end.boundingBox(), await page.locator("#map").boundingBox()];
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(map.x + map.width * 0.9, from.y + from.height / 2, { steps: 4 });
  await page.mouse.move(map.x + map.width - 4, from.y + from.height / 2, { steps: 4 });
  await page.mouse.up();
  await page.locator("#tried-note").waitFor(LONG);
  const after = await page.locator("#tried-note").textContent();
  assert.match(after, new RegExp(`is wanted from step \\d+ to step (?!${before}\\b)\\d+`));
}

test("the command and the lab's button write the same bytes", () =>
  withPage({ path: "lab.html" }, async (page) => {
    for (const name of ["unet_skip.txt", "transformer_train.txt"]) {
      await page.locator("#open-files").setInputFiles(sample(name));
      await page.locator("#bench-title").waitFor(LONG);
      await alive(page);
      await page.getByRole("tab", { name: "Take away" }).click();
      const [download] = await Promise.all([page.waitForEvent("download", LONG), page.locator("#save-report").click()]);
      assert.match(download.suggestedFilename(), /^jit_\w+\.report\.html$/);
      const [ours, theirs] = [readFileSync(await download.path()), readFileSync(report(name))];
      assert.equal(ours.length, theirs.length, name);
      assert.ok(ours.equals(theirs), `${name}: the pages differ`);
    }
    await screenshot(page, "report-button");
  }));

test("of a dump folder the page carries the one module, told as XLA has it", () =>
  withPage({ path: "lab.html" }, async (page) => {
    await page.locator("#open-files").setInputFiles(sample("donated_loop_reads.zip"));
    await page.getByRole("button", { name: /^jit_loop_reads_mid/ }).click();
    await alive(page);
    await page.getByRole("tab", { name: "Take away" }).click();
    const [download] = await Promise.all([page.waitForEvent("download", LONG), page.locator("#save-report").click()]);
    const path = report("donated_loop_reads.zip", "folder.html", "--module", "jit_loop_reads_mid");
    assert.ok(readFileSync(await download.path()).equals(readFileSync(path)), "the pages differ");
    await onDisk(path, {}, async (opened) => {
      await alive(opened);
      assert.equal(await opened.locator("#bench-title").textContent(), "jit_loop_reads_mid");
      assert.match(await opened.locator(".bench .headline").textContent(), /add up to the files' own total/);
      assert.match(await opened.locator("#difference summary").textContent(), /ours is the same/);
    });
  }));

for (const [width, scheme] of [[1280, "light"], [360, "dark"]]) {
  test(`from a disk, without a network, ${width} px: the peak, a question, a drag`, () =>
    onDisk(report("unet_skip.txt"), { width, scheme }, async (page) => {
      await alive(page);
      const told = await page.locator("#report figcaption").first().textContent();
      assert.equal(await step(page), Number(/is in use at step ([\d,]+)/.exec(told)[1].replaceAll(",", "")), "the peak's step");
      await screenshot(page, `report-live-${width}-${scheme}`);
      await expectNoSidewaysScroll(page);
      await expectAccessible(page);
      await use(page);
      await expectNoSidewaysScroll(page);
    }));
}

test("in the reader's language, which the file brings with it, or in the one it was made for", async () => {
  const path = report("unet_skip.txt");
  await onDisk(path, { locale: "zh-CN", height: 900 }, async (page) => {
    await alive(page);
    assert.equal(await page.locator("html").getAttribute("lang"), "zh-Hans");
    await page.getByRole("tab", { name: "提问" }).waitFor();
    await screenshot(page, "report-live-chinese");
    await page.getByRole("link", { name: "English" }).click();
    await page.getByRole("tab", { name: "Ask" }).waitFor();
    assert.match(page.url(), /report.*\?lang=en|\.html\?lang=en/);
    assert.equal(await page.getByRole("link", { name: "中文" }).count(), 1);
  });
  const chinese = join(folder, "chinese.html");
  writeFileSync(chinese, readFileSync(path, "utf8").replace("<html", '<html data-lang="zh-Hans"'));
  await onDisk(chinese, {}, async (page) => {
    await alive(page);
    await page.getByRole("tab", { name: "提问" }).waitFor();
  });
});

test("what is tried in a report is in the report that is made of it", () =>
  onDisk(report("unet_skip.txt"), {}, async (page) => {
    await alive(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#alignment").selectOption("4096");
    await page.locator("#tried").waitFor(LONG);
    await page.getByRole("tab", { name: "Take away" }).click();
    const [download] = await Promise.all([page.waitForEvent("download", LONG), page.locator("#save-report").click()]);
    const path = join(folder, "tried.html");
    writeFileSync(path, readFileSync(await download.path()));
    await onDisk(path, {}, async (again) => {
      await again.locator("#tried-note").waitFor(LONG);
      assert.match(await again.locator("#tried-note").textContent(), /aligned to 4,096 B/);
      assert.match(await again.locator("#report").textContent(), /What was tried.*aligned to 4,096 B/s);
    });
  }));

test("in a frame that may do nothing but run scripts", async () => {
  report("unet_skip.txt", "framed.html");
  writeFileSync(join(folder, "host.html"), '<!doctype html><title>host</title><link rel="icon" href="data:,"><iframe sandbox="allow-scripts" src="framed.html" width="1100" height="1500"></iframe>');
  const server = await serve(folder, "/f/");
  try {
    const errors = [];
    await withPage({ url: `${server.url}host.html`, online: true, height: 1600, expected: /framed\.html, outside/ }, async (page) => {
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      const frame = page.frameLocator("iframe");
      await frame.locator("#values tbody tr").first().waitFor(LONG);
      assert.equal(await frame.locator("body").evaluate(() => self.origin), "null");
      await frame.getByRole("tab", { name: "Ask" }).click();
      await frame.getByRole("button", { name: "What stands out?" }).click();
      await frame.locator("#answer .answer").waitFor(LONG);
      await frame.getByRole("tab", { name: "Try" }).click();
      await frame.locator("#alignment").selectOption("4096");
      await frame.locator("#tried").waitFor(LONG);
      await screenshot(page, "report-framed");
    });
    assert.deepEqual(errors, []);
  } finally {
    server.close();
  }
});

for (const [how, before] of [
  ["refused", () => { globalThis.Worker = class { constructor() { throw new Error("no worker here"); } }; }],
  ["broken", () => {
    globalThis.Worker = class {
      postMessage() { setTimeout(() => this.onerror?.(new ErrorEvent("error", { message: "it does not start" }))); }
      terminate() {}
    };
  }],
]) {
  test(`where workers are ${how} the page itself answers`, () =>
    onDisk(report("unet_skip.txt"), { before }, async (page) => {
      await alive(page);
      assert.equal(page.workers().length, 0);
      await use(page);
    }));
}

test("the policy lets nothing else run, and what is in the page cannot send", () =>
  onDisk(report("unet_skip.txt"), { expected: /Content Security Policy|TrustedScript|violates the following/ }, async (page) => {
    await alive(page);
    const violated = await page.evaluate(async () => {
      const seen = [];
      document.addEventListener("securitypolicyviolation", (e) => seen.push(e.effectiveDirective));
      const script = document.createElement("script");
      // A string set as a script's text is refused at once; text that is put into it, when it would run.
      try {
        script.textContent = "globalThis.hit = 1";
      } catch (error) {
        seen.push(error.name);
      }
      script.append("globalThis.hit = 1");
      document.body.append(script);
      await fetch("http://127.0.0.1:9/").catch(() => {});
      await new Promise((done) => setTimeout(done, 200));
      return [seen.sort(), globalThis.hit];
    });
    assert.deepEqual(violated, [["TypeError", "connect-src", "require-trusted-types-for", "require-trusted-types-for"], undefined]);
  }));

test("names that are markup are text in both parts", () => {
  const evil = '</script><script>window.hit=true</script><img src=x onerror=window.hit=true>';
  const hlo = [
    "HloModule m, is_scheduled=true",
    "",
    "ENTRY e {",
    "  p = f32[4096]{0} parameter(0)",
    "  a = f32[4096]{0} negate(p)",
    `  b = f32[4096]{0} custom-call(a), custom_call_target="f", metadata={op_name="${evil}" source_file="${evil}" source_line=3}`,
    "  ROOT r = f32[4096]{0} negate(b)",
    "}",
    "",
  ].join("\n");
  const module = join(folder, "evil.txt");
  writeFileSync(module, hlo);
  const path = join(folder, "evil.html");
  command("report", module, "-o", path, "--shell", shell);
  return onDisk(path, {}, async (page) => {
    await alive(page);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator("img, main script, #report script").count(), 0);
    assert.match(await page.locator("#report").textContent(), /<img src=x onerror=window\.hit=true>/);
  });
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [360, "light"], [360, "dark"]]) {
  test(`without JavaScript, ${width} px, ${scheme}: all that is told is there`, () =>
    onDisk(report("transformer_train.txt"), { width, scheme, scripts: false }, async (page) => {
      const text = await page.locator("#report").innerText();
      for (const what of ["All allocations", "In use at the peak", "What stands out", "What would help most", "Donation", "The files"]) {
        assert.ok(text.includes(what), what);
      }
      assert.ok(await page.locator("#report svg").first().isVisible());
      assert.equal(await page.locator("#startup").isVisible(), false);
      const [content, window] = [await page.locator("html").evaluate((e) => e.scrollWidth), width];
      assert.ok(content <= window, `${content} px wide`);
      await page.screenshot({ path: join(screenshots, `report-static-${width}-${scheme}.png`), fullPage: true });
    }));
}

test("on paper a live report is the part that is made for it", () =>
  onDisk(report("transformer_train.txt"), { scheme: "dark" }, async (page) => {
    await alive(page);
    await page.emulateMedia({ media: "print" });
    assert.ok(await page.locator("#report").isVisible());
    assert.equal(await page.locator("#work").isVisible(), false);
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(251, 250, 247)");
    await page.pdf({ path: join(screenshots, "report-print.pdf"), format: "A4" });
    await page.setViewportSize({ width: 794, height: 1123 });
    await settled(page);
    await screenshot(page, "report-print");
    // What a reader opens instead is not what the page was made of.
    await page.emulateMedia({ media: "screen" });
    await page.getByText("Open other files").click();
    await page.locator("#open-files").setInputFiles(sample("unet_skip.txt"));
    await page.waitForFunction(() => /unet/.test(document.getElementById("bench-title")?.textContent ?? ""), undefined, LONG);
    assert.equal(await page.locator("#report").count(), 0);
  }));

test("the part that is read alone has no serious fault for a screen reader", () => {
  const path = join(folder, "plain.html");
  command("report", sample("transformer_train.txt"), "-o", path, "--plain");
  assert.ok(readFileSync(path).length < 200_000);
  return withPage({ url: pathToFileURL(path).href, width: 360 }, async (page) => {
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await screenshot(page, "report-plain-360");
  });
});
