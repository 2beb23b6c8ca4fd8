// Chapters 1, 3 and 4: the allocations, the order, two ranges and a chain, against what the engine computes natively.
import assert from "node:assert/strict";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, screenshot, settled, withPage } from "./harness.mjs";

/** The page at a figure, awake. */
const withFigure = (id, options, work) =>
  withPage({ path: `#${id}`, ...options }, async (page) => {
    const figure = page.locator(`#${id}`);
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("svg .axis").first().waitFor({ state: "attached" });
    await settled(page);
    return work(page, figure);
  });

async function predict(page, id, option) {
  const box = page.locator(`[data-predict=${id}]`);
  await box.locator("label").nth(option).click();
  await box.getByRole("button", { name: "See what the engine says" }).click();
  await settled(page);
  const verdict = await box.locator(".verdict").innerText();
  await box.getByRole("button", { name: "Answer again" }).click();
  await settled(page);
  return verdict;
}
const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const told = (figure) => figure.locator(".told-here").first().innerText();

test("1: a value, where it lives and why; words in the text light it and select it", () =>
  withFigure("slabs", {}, async (page, figure) => {
    assert.match(await figure.locator(".sum").innerText(), /^19 allocations, together 788,548 B \(770\.1 KiB\)$/);
    const term = page.locator("#what-gets-decided").getByRole("button", { name: "ynn_fusion.3", exact: true });
    await term.hover();
    await settled(page);
    assert.equal(await figure.locator(".band.lit").count(), 1, "from the text to the picture");
    await term.click();
    await settled(page);
    assert.match(await told(figure), /^ynn_fusion\.3 stands in allocation 2 \(result, 65,536 B\) at offset 0, 65,536 B long: it is no part of the result/);
    assert.equal(await term.getAttribute("aria-pressed"), "true");
    await figure.locator("svg .band.mate").first().hover();
    await settled(page);
    assert.equal(await figure.locator(".band.lit").count(), 1);
    await figure.getByRole("button", { name: "Next value" }).click();
    await settled(page);
    assert.doesNotMatch(await told(figure), /^ynn_fusion\.3 /);
    await figure.locator("summary", { hasText: "Table" }).click();
    await figure.locator("tbody tr").nth(15).waitFor();
  }));

test("1: the prediction and the puzzle know right from wrong", () =>
  withFigure("slabs", {}, async (page, figure) => {
    assert.match(await predict(page, "apart", 1), /^Right\. .*1,187,908 B in place of 788,548 B/);
    assert.match(await predict(page, "apart", 2), /^Not so\./);
    await figure.locator(".chooser select").selectOption({ label: "dot" });
    await settled(page);
    assert.match(await puzzle(page, "squeezed"), /^Not yet\. dot is selected/);
    await figure.locator(".chooser select").selectOption({ label: "ynn_fusion.4" });
    await settled(page);
    assert.match(await puzzle(page, "squeezed"), /^Solved\. ynn_fusion\.4 \(2,048 B\)/);
  }));

test("3: an instruction moves by keys, buttons, a drag and the number in the text, and the heap follows", () =>
  withFigure("clock", {}, async (page, figure) => {
    const handle = figure.getByRole("slider", { name: "Step of dot" });
    const now = async () => Number(await handle.getAttribute("aria-valuenow"));
    assert.deepEqual([await now(), await handle.getAttribute("aria-valuemin"), await handle.getAttribute("aria-valuemax")], [14, "13", "18"]);
    assert.match(await told(figure), /dot runs at step 14; it may run at any from 13 to 18\. The heap takes 395,264 B, as in/);
    await handle.press("ArrowUp");
    await settled(page);
    assert.equal(await now(), 13);
    assert.match(await told(figure), /264,192 B in place of 395,264 B: −131,072 B \(−33\.2 %\)/);
    assert.match(await puzzle(page, "shrink"), /^Solved\./);
    assert.ok((await figure.locator("svg .ghost").count()) > 0, "what it was leaves a ghost");
    await figure.getByRole("button", { name: "Undo" }).click();
    await settled(page);
    assert.equal(await now(), 14);
    assert.match(await puzzle(page, "shrink"), /^Not yet\. The heap takes 395,264 B; the goal is 264,192 B/);
    await handle.press("End");
    await settled(page);
    assert.match(await told(figure), /dot runs at step 18.* 458,752 B/);
    await figure.getByRole("button", { name: "Reset" }).click();
    await figure.getByRole("button", { name: "Earlier" }).click();
    await settled(page);
    assert.equal(await now(), 13);
    await figure.getByRole("button", { name: "Reset" }).click();
    await settled(page);
    // The number in the prose.
    const number = page.getByRole("slider", { name: "Step of the chosen instruction" });
    await number.press("ArrowRight");
    await settled(page);
    assert.equal(await now(), 15);
    await page.getByRole("button", { name: "Step of the chosen instruction: less" }).click();
    await settled(page);
    assert.equal(await now(), 14);
    // Up, by pointer: as far as its operands let it.
    await handle.scrollIntoViewIfNeeded();
    const box = await handle.boundingBox();
    await page.mouse.move(box.x + 5, box.y + 12);
    await page.mouse.down();
    await page.mouse.move(box.x + 5, box.y + 12 - 22 * 4, { steps: 8 });
    await page.mouse.up();
    await settled(page);
    assert.equal(await now(), 13, "it stops behind what it reads");
    await figure.getByRole("button", { name: "Undo" }).click();
    await settled(page);
    assert.equal(await now(), 14, "a drag is one entry");
  }));

test("3: the prediction, and a clock with a loop in it", () =>
  withFigure("clock", {}, async (page, figure) => {
    assert.match(await predict(page, "late", 2), /^Right\. The heap takes 458,752 B \(\+63,488 B \(\+16\.1 %\)\)/);
    assert.match(await predict(page, "late", 0), /^Not so\./);
    await figure.getByLabel("Program").selectOption("kv_cache_loop");
    await page.waitForFunction(() => document.querySelectorAll("#clock svg .cap.nested").length > 10);
    await figure.locator("summary", { hasText: "Table" }).click();
    await figure.locator("tbody tr", { hasText: "while.1" }).waitFor();
    const rows = await figure.locator("tbody tr").allInnerTexts();
    const at = (name) => rows.findIndex((row) => row.includes(name));
    assert.ok(at("wrapped_compare") < at("copy.4") && at("copy.4") < at("while.1"), "condition, body, loop");
  }));

test("4: ranges closed at both ends, a prediction, a puzzle, a chain", () =>
  withFigure("pair", {}, async (page, figure) => {
    assert.match(await told(figure), /have one step in common, 6\. wrapped_broadcast and ynn_fusion\.5 do not share\./);
    await figure.locator("svg text", { hasText: "both at step 6" }).waitFor();
    assert.match(await predict(page, "inplace", 1), /^Right\. .*share 131,072 B/);
    assert.match(await predict(page, "inplace", 0), /^Not so\./);
    assert.match(await puzzle(page, "together"), /^Not yet\. .* at 1 of/);
    await figure.getByLabel("First").selectOption({ label: "multiply_divide_fusion" });
    await settled(page);
    assert.match(await puzzle(page, "together"), /^Solved\. .* at 8 of/);
    await figure.getByRole("button", { name: "Undo" }).click();
    await settled(page);
    assert.match(await puzzle(page, "together"), /^Not yet\./);
    const chain = page.locator("#chain");
    await chain.scrollIntoViewIfNeeded();
    await chain.locator("svg .read.beyond").first().waitFor({ state: "attached" });
    assert.match(await told(chain), /^5 values share one buffer of 4 B/);
  }));

for (const scheme of ["light", "dark"]) {
  test(`1, 3 and 4 are accessible with their tables open, ${scheme}`, async () => {
    for (const id of ["slabs", "clock", "pair", "chain"]) {
      await withFigure(id, { scheme }, async (page, figure) => {
        await figure.locator("summary", { hasText: "Table" }).click();
        await settled(page);
        await expectAccessible(page);
        await screenshot(page, `figure-${id}-${scheme}`, { fullPage: false });
      });
    }
  });
}

test("1, 3 and 4 fit a narrow screen and a finger", async () => {
  for (const id of ["slabs", "clock", "pair", "chain"]) {
    await withFigure(id, { width: 320, height: 700, touch: true }, async (page, figure) => {
      await expectNoSidewaysScroll(page);
      const small = await figure.locator("button:visible, select:visible, [role=slider]:visible").evaluateAll((all) =>
        all.map((e) => [e.textContent, e.getBoundingClientRect()]).filter(([, b]) => b.width < 24 || b.height < 24).map(([t]) => t));
      assert.deepEqual(small, [], "nothing to be hit is smaller than 24 px");
    });
  }
});
