// Chapters 5 to 7: what a pulled end breaks, who may write over whom, a slab a memory space; against what the engine
// computes natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, predict, settled, withFigure, withPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden_sharing.rs).
const golden = JSON.parse(readFileSync(new URL("golden-sharing.json", import.meta.url), "utf8"));
const shots = process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots";

const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const said = (figure, what) => figure.locator(`[data-said=${what}]`).innerText();

test("pulling: a prediction, right and wrong; the packers' heaps as natively", () =>
  withFigure("drag", {}, async (page, figure) => {
    const { answer, words, packers } = golden.pull;
    assert.equal(await predict(page, "pull", () => answer), `Right. ${words}`);
    assert.match(await predict(page, "pull", () => (answer + 1) % 4), /^Not so\. /);
    const sizes = await figure.locator("[data-packer]").evaluateAll((all) => all.map((e) => +e.dataset.packer));
    assert.deepEqual(sizes, packers);
  }));

test("pulling: breaks on every row when they are asked for; the puzzle by keys", () =>
  withFigure("drag", {}, async (page, figure) => {
    const { ticks, solution } = golden.pull;
    assert.equal(await figure.locator(".timeline .threshold.other").count(), 0);
    await figure.getByLabel("breaks on every row").check();
    await settled(page);
    assert.equal(await figure.locator(".timeline .threshold.other").count(), ticks);
    assert.match(await puzzle(page, "grow"), /^Not yet\. Nothing is pulled/);
    await figure.locator(".controls select").first().selectOption(String(solution.value));
    await figure.getByLabel("End", { exact: true }).fill(String(solution.end));
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await puzzle(page, "grow"), `Solved. ${solution.words}`);
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "grow"), /^Not yet\. /);
  }));

test("pulling: the number in the prose is the range's end, and the name lights its marks and is lit by them", () =>
  withFigure("drag", {}, async (page, figure) => {
    const chapter = page.locator("#until-the-sharing-breaks");
    const number = chapter.getByRole("slider", { name: "End of the selected range" });
    const end = figure.getByRole("slider", { name: "End of sort.6" });
    assert.equal(await number.innerText(), await end.getAttribute("aria-valuenow"));
    const before = +(await number.innerText());
    await number.focus();
    await page.keyboard.press("ArrowRight");
    await settled(page);
    assert.equal(await end.getAttribute("aria-valuenow"), String(before + 1));
    assert.equal(await number.innerText(), String(before + 1));
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.equal(await number.innerText(), String(before));
    const term = chapter.getByRole("button", { name: "sort.6", exact: true });
    assert.equal(await figure.locator(".timeline .band.lit").count(), 0);
    await term.hover();
    assert.equal(await figure.locator(".timeline .band.lit").count(), 1);
    await figure.locator(".timeline .band.selected").scrollIntoViewIfNeeded();
    const band = await figure.locator(".timeline .band.selected").boundingBox();
    await page.mouse.move(band.x + band.width / 2, band.y + band.height / 2);
    await settled(page);
    assert.match(await term.getAttribute("class"), /\blit\b/);
  }));

test("touching: the names in the prose light their marks", () =>
  withFigure("touch", {}, async (page, figure) => {
    await page.locator("#the-one-exception").getByRole("button", { name: "later", exact: true }).first().hover();
    await settled(page);
    assert.ok((await figure.locator(".band.lit").count()) > 0);
  }));

test("touching: every operation on both backends as natively, chosen in the table by keys", () =>
  withFigure("touch", {}, async (page, figure) => {
    const cells = figure.locator(".verdict-cell");
    assert.equal(await cells.count(), golden.touch.length);
    for (const [n, { op, gpu, verdict, decided, heap, words }] of golden.touch.entries()) {
      await cells.nth(n).focus();
      await page.keyboard.press("Enter");
      await settled(page);
      const seen = await figure.locator(".touching").evaluate(({ dataset }) => [dataset.verdict, +dataset.heap]);
      assert.deepEqual(seen, [verdict, heap], `${op} ${gpu}`);
      assert.equal(await said(figure, "verdict"), words);
      assert.equal(await cells.nth(n).innerText(), `${verdict} ${decided}`);
      assert.equal(await figure.locator(".touch-controls select").inputValue(), op);
    }
  }));

test("touching: a prediction, right and wrong; the puzzle, undone and kept by the address", () =>
  withFigure("touch", {}, async (page, figure) => {
    const where = (name) => (texts) => texts.findIndex((text) => text.startsWith(name));
    assert.match(await predict(page, "bitcast", where("On GPU only")), /^Right\. On CPU: no, .*On GPU: yes/);
    assert.match(await predict(page, "bitcast", where("On both")), /^Not so\. /);
    assert.match(await puzzle(page, "share"), /^Not yet\. /);
    await figure.getByRole("button", { name: "GPU", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "share"), /^Solved\. /);
    await page.reload();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    assert.match(await puzzle(page, "share"), /^Solved\. /);
    await figure.getByRole("button", { name: "CPU", exact: true }).click();
    await figure.getByLabel("Another shape").check();
    await settled(page);
    assert.match(await puzzle(page, "share"), /^Not yet\. /);
    assert.match(await figure.locator(".made").innerText(), /later = s32\[16,16\]/);
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    await settled(page);
    assert.match(await said(figure, "verdict"), /^No: /);
  }));

test("spaces: three programs as natively; a prediction and the puzzle", () =>
  withFigure("spaces", {}, async (page, figure) => {
    const [tpu, gpu, offload] = golden.spaces;
    const shown = () => figure.locator(".spaces").getAttribute("data-spaces");
    assert.equal(await shown(), tpu.spaces);
    assert.equal(await figure.locator(".spaces .answer").first().innerText(), tpu.sentence);
    assert.equal(await said(figure, "why"), tpu.why);
    assert.match(await predict(page, "flags", (texts) => texts.findIndex((t) => t.startsWith("4 B"))), /^Right\. /);
    assert.match(await predict(page, "flags", (texts) => texts.findIndex((t) => t.startsWith("1,536"))), /^Not so\. /);
    assert.match(await puzzle(page, "exchange"), /^Not yet\. This is a program for TPU/);
    await figure.getByLabel("Program").selectOption("gpu");
    await settled(page);
    assert.equal(await shown(), gpu.spaces);
    assert.equal(await said(figure, "why"), gpu.why);
    await figure.locator("select").nth(1).selectOption(String(gpu.solution));
    await settled(page);
    assert.match(await puzzle(page, "exchange"), /^Solved\. /);
    await figure.getByLabel("Program").selectOption("offload");
    await settled(page);
    assert.equal(await shown(), offload.spaces);
    assert.match(offload.spaces, /\b5:262144\b/);
    assert.equal(await said(figure, "why"), offload.why);
    assert.match(await puzzle(page, "exchange"), /^Not yet\. /);
  }));

test("spaces: a name in the prose brings up its program", () =>
  withFigure("spaces", {}, async (page, figure) => {
    const term = page.locator("#colour-is-a-memory-space").getByRole("button", { name: "copy-start.2{0}", exact: true });
    await term.click();
    await settled(page);
    assert.equal(await figure.locator(".spaces").getAttribute("data-spaces"), golden.spaces[2].spaces);
    assert.equal(await term.getAttribute("aria-pressed"), "true");
    assert.equal(await said(figure, "why"), golden.spaces[2].why);
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.equal(await figure.locator(".spaces").getAttribute("data-spaces"), golden.spaces[0].spaces);
  }));

const OPEN = "#v2/touch/drag=m=varied_temp_sizes;v.ticks=1&touch=m=varied_temp_sizes;p.op=!while;table&spaces=m=varied_temp_sizes;p.program=!gpu;table";

for (const scheme of ["light", "dark"]) {
  test(`is accessible with everything open, ${scheme}`, () =>
    withPage({ scheme, path: OPEN }, async (page) => {
      for (const id of ["drag", "touch", "spaces"]) {
        await page.locator(`#${id}`).scrollIntoViewIfNeeded();
        await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
      }
      await settled(page);
      await expectAccessible(page);
      for (const id of ["drag", "touch", "spaces"]) {
        await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-1280-${scheme}.png` });
      }
    }));
}

test("fits a narrow screen", () =>
  withPage({ width: 320, height: 700, path: OPEN }, async (page) => {
    for (const id of ["drag", "touch", "spaces"]) {
      await page.locator(`#${id}`).scrollIntoViewIfNeeded();
      await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
      await settled(page);
      await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-320.png` });
    }
    await expectNoSidewaysScroll(page);
  }));
