// Chapters 14 and 15: two memories and the copies between them, spaces inside fusions, an unrolled loop; against what the engine
// computes natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, predict, settled, withFigure, withPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden_memory.rs).
const golden = JSON.parse(readFileSync(new URL("golden-memory.json", import.meta.url), "utf8"));
const shots = process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots";

const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const said = (figure, what) => figure.locator(`[data-said=${what}]`).innerText();
const verdict = (figure) => figure.locator(".two-memories").getAttribute("data-verdict");

test("memories: every program as natively, and XLA's own places", () =>
  withFigure("memories", {}, async (page, figure) => {
    for (const { id, why, sums, compared, heap } of golden.programs) {
      await figure.locator(".two-memories select").first().selectOption(id);
      await settled(page);
      assert.equal(await said(figure, "why"), why, id);
      assert.equal(await said(figure, "sums"), sums);
      assert.ok((await said(figure, "compared")).startsWith(compared));
      assert.equal(await figure.locator(".two-memories").getAttribute("data-heap"), String(heap));
    }
    await figure.getByLabel("outline XLA's places").check();
    await settled(page);
    assert.equal(await figure.locator(".layer-ghost > *").count(), golden.programs.at(-1).places);
  }));

test("memories: a prediction, right and wrong; the puzzle by the sliders, undone", () =>
  withFigure("memories", {}, async (page, figure) => {
    const where = (name) => (texts) => texts.findIndex((text) => text.startsWith(name));
    assert.match(await predict(page, "cause", where("There is too little time")), /^Right\. .*FailLiveRangeTooShort/);
    assert.match(await predict(page, "cause", where("Fast memory is full")), /^Not so\. /);
    assert.match(await puzzle(page, "room"), /^Not yet\. It is read from slow memory/);
    const { reader, start, words } = golden.solution;
    await figure.getByLabel("Value and reader").selectOption(String(reader));
    await settled(page);
    await figure.getByRole("button", { name: new RegExp(`^after step ${start}:`) }).click();
    await settled(page);
    assert.equal(await puzzle(page, "room"), `Solved. ${words}`);
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "room"), /^Not yet\. /);
    await figure.getByRole("button", { name: "Redo", exact: true }).click();
    await figure.getByLabel("Copy engine", { exact: true }).fill("50");
    await settled(page);
    assert.match(await puzzle(page, "room"), /^Not yet\. /);
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "room"), /^Not yet\. It is read from slow memory/);
  }));

test("memories: less fast memory, as natively", () =>
  withFigure("memories", {}, async (page, figure) => {
    for (const { capacity, sums, compared } of golden.capacities) {
      await figure.getByLabel("Fast memory", { exact: true }).fill(String(capacity));
      await settled(page);
      assert.equal(await said(figure, "sums"), sums);
      assert.ok((await said(figure, "compared")).startsWith(compared));
    }
  }));

test("memories: a copy's start by keys, by buttons and by the pointer, and why it does not fit", () =>
  withFigure("memories", {}, async (page, figure) => {
    const { reader, starts } = golden.pulled;
    await figure.getByLabel("Value and reader").selectOption(String(reader));
    await settled(page);
    const cells = figure.locator(".start-cell");
    assert.deepEqual(await cells.evaluateAll((all) => all.map((c) => c.dataset.verdict)), starts.map((s) => s.verdict));
    // Keys, from the last start to the first.
    const handle = figure.getByRole("slider", { name: "Start of the copy" });
    await handle.focus();
    await page.keyboard.press("End");
    for (const { verdict: expected, why } of starts.toReversed()) {
      await settled(page);
      assert.equal(await verdict(figure), expected);
      assert.equal(await said(figure, "why"), why);
      await page.keyboard.press("ArrowLeft");
    }
    // Buttons.
    const fits = starts.findIndex((s) => s.verdict === "fits");
    await cells.nth(fits).focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await verdict(figure), "fits");
    // The pointer: one column to the right.
    const column = (await figure.locator(".layer-row-mark rect").boundingBox()).width;
    const { x, y, width, height } = await handle.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + column, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    assert.equal(await verdict(figure), starts[fits + 1].verdict);
    // The address keeps it; undo takes the drag back as one step.
    await page.reload();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    assert.equal(await verdict(figure), starts[fits + 1].verdict);
    await figure.getByRole("button", { name: "Let the engine choose" }).click();
    await settled(page);
    assert.equal(await verdict(figure), "fits");
  }));

test("memories: a phrase of the prose shows what it speaks of, by touch", () =>
  withFigure("memories", { touch: true, width: 390 }, async (page, figure) => {
    await page.getByRole("button", { name: "the state must be back there" }).tap();
    await settled(page);
    assert.equal(await said(figure, "why"), golden.programs[2].why);
    const cell = figure.locator(".start-cell").first();
    await cell.scrollIntoViewIfNeeded();
    await cell.tap();
    await settled(page);
    assert.equal(await cell.getAttribute("aria-pressed"), "true");
  }));

test("spread: every step by keys, as natively; a prediction, right and wrong", () =>
  withFigure("spread", {}, async (page, figure) => {
    assert.equal(await said(figure, "step"), golden.spread[1]);
    await figure.getByRole("button", { name: "Place: first" }).focus();
    await page.keyboard.press("Enter");
    for (const words of golden.spread) {
      await settled(page);
      assert.equal(await said(figure, "step"), words);
      await figure.getByRole("button", { name: "Place: forward" }).focus();
      await page.keyboard.press("Enter");
    }
    assert.match(await predict(page, "carried", (texts) => texts.findIndex((t) => t.startsWith("Each keeps"))), /^Right\. /);
    assert.match(await predict(page, "carried", (texts) => texts.findIndex((t) => t.startsWith("Both are"))), /^Not so\. /);
    await page.reload();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    assert.equal(await said(figure, "step"), golden.spread.at(-1));
  }));

test("unrolled: the plan as natively, with less bandwidth, and the puzzle by buttons", () =>
  withFigure("unrolled", {}, async (page, figure) => {
    const { sentence, slow, solution, copied } = golden.unrolled;
    assert.equal(await said(figure, "plan"), sentence);
    assert.equal(await figure.locator(".unrolling").getAttribute("data-copied"), String(copied));
    await figure.getByLabel("Slow memory", { exact: true }).fill("50");
    await settled(page);
    assert.equal(await said(figure, "plan"), slow);
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "loop"), /^Not yet\. /);
    await figure.getByLabel("Fast memory", { exact: true }).fill(String(solution - 5));
    await settled(page);
    assert.match(await puzzle(page, "loop"), /^Not yet\. /);
    await figure.getByRole("button", { name: "Fast memory: more" }).click();
    await settled(page);
    assert.match(await puzzle(page, "loop"), /^Solved\. /);
  }));

const OPEN = "#v2/memories/memories=m=attention_grad;table;v.theirs=1&spread=m=attention_grad;table&unrolled=m=attention_grad;table";
const FIGURES = ["memories", "spread", "unrolled"];

for (const scheme of ["light", "dark"]) {
  test(`is accessible with everything open, ${scheme}`, () =>
    withPage({ scheme, path: OPEN }, async (page) => {
      for (const id of FIGURES) {
        await page.locator(`#${id}`).scrollIntoViewIfNeeded();
        await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
      }
      await settled(page);
      await expectAccessible(page);
      for (const id of FIGURES) {
        await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-1280-${scheme}.png` });
      }
    }));
}

test("fits a narrow screen", () =>
  withPage({ width: 320, height: 700, path: OPEN }, async (page) => {
    for (const id of FIGURES) {
      await page.locator(`#${id}`).scrollIntoViewIfNeeded();
      await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
      await settled(page);
      await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-320.png` });
    }
    await expectNoSidewaysScroll(page);
  }));
