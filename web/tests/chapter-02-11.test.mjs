// Chapters 2 and 11: what binds values into a buffer, and copy insertion phase by phase, against what the engine computes
// natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, predict, settled, withPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden_copies.rs).
const golden = JSON.parse(readFileSync(new URL("golden-copies.json", import.meta.url), "utf8"));
const shots = process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots";

/** The page at a figure, awake. */
const withFigure = (id, options, work) =>
  withPage({ path: `#${id}`, ...options }, async (page) => {
    const figure = page.locator(`#${id}`);
    await awake(page, figure);
    return work(page, figure);
  });

async function awake(page, figure) {
  await figure.scrollIntoViewIfNeeded();
  await figure.locator(".stage:not(.asleep)").waitFor();
  await settled(page);
}

const where = (name) => (texts) => texts.findIndex((text) => text.startsWith(name));
const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const said = (figure, what) => figure.locator(`[data-said=${what}]`).innerText();
const button = (figure, name) => figure.getByRole("button", { name, exact: true });
const choice = (figure, name) => figure.getByLabel(name, { exact: true });
const list = (figure, name) => figure.locator("label.field", { hasText: new RegExp(`^${name}`) }).locator("select");

/** What chapter 2 shows: how many values, bytes in all, and the sentences. */
async function sharing(figure) {
  const { values, memory } = await figure.locator(".sharing").evaluate(({ dataset }) => ({ ...dataset }));
  const links = await figure.locator(".links button").allInnerTexts();
  return { values: +values, memory: +memory, sentence: await said(figure, "sentence"), pass: await said(figure, "pass"), links };
}

/** What chapter 11 shows at its last phase. */
async function copying(figure) {
  const { stayed, bytes, memory } = await figure.locator(".phases").evaluate(({ dataset }) => ({ ...dataset }));
  return { stayed: +stayed, bytes: +bytes, memory: memory === undefined ? null : +memory, said: await said(figure, "stage") };
}

const numbers = ({ stayed, bytes, memory, stages }) => ({ stayed, bytes, memory, said: stages[4] });

test("sharing: every program and every copy as natively", () =>
  withFigure("share", {}, async (page, figure) => {
    for (const { id, first, turned } of golden.sharing) {
      await list(figure, "Program").selectOption(id);
      await settled(page);
      assert.deepEqual(await sharing(figure), first, id);
      for (const { words, then } of turned) {
        const box = choice(figure, words);
        await box.click();
        await settled(page);
        assert.deepEqual(await sharing(figure), then, `${id}: ${words}`);
        await box.click();
        await settled(page);
      }
      assert.deepEqual(await sharing(figure), first, `${id} again`);
    }
  }));

test("sharing: a prediction, right and wrong; the puzzle, undone and kept by the address", () =>
  withFigure("share", {}, async (page, figure) => {
    assert.match(await predict(page, "leaves", where("It stays")), /^Right\. .*writes its result into arg_tuple\.6\{1\}.* 6 values/);
    assert.match(await predict(page, "leaves", where("It leaves")), /^Not so\. /);
    assert.match(await puzzle(page, "leave"), /^Not yet\. 0 copies are put in/);
    const around = figure.getByLabel(/^between .*select_dynamic-update-slice_fusion/);
    assert.equal(await around.count(), 2);
    await around.first().check();
    await settled(page);
    assert.match(await puzzle(page, "leave"), /^Not yet\. 1 copy is put in/);
    await around.last().check();
    await settled(page);
    assert.match(await puzzle(page, "leave"), /^Solved\. 2 copies/);
    await page.reload();
    await awake(page, figure);
    assert.match(await puzzle(page, "leave"), /^Solved\. /);
    await button(figure, "Reset").click();
    await settled(page);
    assert.match(await puzzle(page, "leave"), /^Not yet\. 0 copies/);
    await button(figure, "Undo").click();
    await settled(page);
    assert.match(await puzzle(page, "leave"), /^Solved\. /);
  }));

test("sharing: rule by rule, by keys alone", () =>
  withFigure("share", {}, async (page, figure) => {
    const links = golden.sharing[0].first.links.length;
    const made = () => figure.locator(".binding .cap.link").count();
    assert.equal(await made(), 3 * links);
    await button(figure, "Rule: first").focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await made(), 0);
    assert.equal(await figure.locator(".links .still").count(), links);
    await button(figure, "Rule: forward").focus();
    for (let n = 1; n <= links; n += 1) {
      await page.keyboard.press("Enter");
      await settled(page);
      assert.equal(await made(), 3 * n);
    }
    const copy = choice(figure, golden.sharing[0].turned[0].words);
    await copy.focus();
    await page.keyboard.press("Space");
    await settled(page);
    assert.equal((await sharing(figure)).sentence, golden.sharing[0].turned[0].then.sentence);
    await figure.locator(".links button").first().focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await made(), 3);
    await page.reload();
    await awake(page, figure);
    assert.equal(await made(), 3, "the address keeps the step");
  }));

test("copies: every program, each change and region analysis as natively", () =>
  withFigure("copies", {}, async (page, figure) => {
    for (const { id, first, regions, switched } of golden.copies) {
      await list(figure, "Program").selectOption(id);
      await settled(page);
      assert.deepEqual(await copying(figure), numbers(first), id);
      assert.ok((await said(figure, "story")).includes(first.refusal), id);
      const region = choice(figure, "Region analysis");
      await region.click();
      await settled(page);
      assert.deepEqual(await copying(figure), numbers(regions), `${id} with regions`);
      await region.click();
      for (const { words, then } of switched) {
        const box = choice(figure, words);
        await box.click();
        await settled(page);
        assert.deepEqual(await copying(figure), numbers(then), `${id}: ${words}`);
        await box.click();
        await settled(page);
      }
      assert.deepEqual(await copying(figure), numbers(first), `${id} again`);
    }
  }));

test("copies: the phases, forward and back by keys", () =>
  withFigure("copies", {}, async (page, figure) => {
    const { stages } = golden.copies[0].first;
    const drawn = async () => [await figure.locator(".copying .copy.stands").count(), await figure.locator(".copying .copy.idle").count()];
    await button(figure, "Phase: first").focus();
    await page.keyboard.press("Enter");
    await settled(page);
    const seen = [];
    for (const [n, stage] of stages.entries()) {
      assert.equal(await said(figure, "stage"), stage);
      seen.push(await drawn());
      if (n < 4) {
        await button(figure, "Phase: forward").focus();
        await page.keyboard.press("Enter");
        await settled(page);
      }
    }
    assert.deepEqual(seen, [[0, 0], [3, 0], [2, 1], [2, 1], [2, 0]]);
    await button(figure, "Phase: back").focus();
    for (const stage of stages.slice(0, 4).reverse()) {
      await page.keyboard.press("Enter");
      await settled(page);
      assert.equal(await said(figure, "stage"), stage);
    }
  }));

test("copies: a copy goes with its late reader and comes back, and the page says why", () =>
  withFigure("copies", {}, async (page, figure) => {
    const story = await said(figure, "story");
    assert.match(story, /Protects\s+copy\.1/);
    assert.match(story, /Last reader\s+slice_bitcast_fusion/);
    assert.match(story, /nothing makes it run before/);
    assert.equal(await figure.locator(".copying .meet").count(), 1);
    const read = figure.getByLabel("slice_bitcast_fusion reads x.1, the old value");
    await read.uncheck();
    await settled(page);
    assert.equal((await copying(figure)).stayed, 0);
    assert.equal(await figure.locator(".copying .meet").count(), 0);
    await read.check();
    await settled(page);
    assert.equal((await copying(figure)).stayed, 2);
    await figure.getByRole("button", { name: /^Try it: let slice_bitcast_fusion run before/ }).click();
    await settled(page);
    assert.equal((await copying(figure)).stayed, 0);
    assert.ok(await figure.getByLabel(/must run before/).isChecked());
    await button(figure, "Undo").click();
    await settled(page);
    assert.equal((await copying(figure)).stayed, 2);
  }));

test("copies: a prediction, right and wrong; the puzzle", () =>
  withFigure("copies", {}, async (page, figure) => {
    assert.match(await predict(page, "first", where("None")), /^Right\. .*No copy stays/);
    assert.match(await predict(page, "first", where("Both")), /^Not so\. /);
    assert.match(await puzzle(page, "pop"), /^Not yet\. This is another program/);
    await list(figure, "Program").selectOption("pop");
    await settled(page);
    assert.match(await puzzle(page, "pop"), /^Not yet\. 2 copies stay/);
    const region = choice(figure, "Region analysis");
    await region.check();
    await settled(page);
    assert.match(await puzzle(page, "pop"), /^Not yet\. .*region analysis is on/);
    await region.uncheck();
    await choice(figure, "wrapped_slice must run before dynamic_update_slice.1").check();
    await settled(page);
    assert.match(await puzzle(page, "pop"), /^Not yet\. 2 copies stay/);
    await choice(figure, "wrapped_slice must run before dynamic_update_slice.1").uncheck();
    await choice(figure, "slice_bitcast_fusion must run before dynamic_update_slice.1").check();
    await settled(page);
    assert.match(await puzzle(page, "pop"), /^Solved\. /);
    await page.reload();
    await awake(page, figure);
    assert.match(await puzzle(page, "pop"), /^Solved\. /);
  }));

test("both: by touch, a value and a copy are chosen in the picture", () =>
  withPage({ touch: true, width: 400, height: 800, path: "#share" }, async (page) => {
    const share = page.locator("#share");
    await awake(page, share);
    await share.locator(".binding .band").nth(2).tap({ position: { x: 20, y: 12 }, force: true });
    await settled(page);
    assert.equal(await share.locator(".binding .band.selected").count(), 1);
    const copies = page.locator("#copies");
    await awake(page, copies);
    const chosen = () => list(copies, "Copy").inputValue();
    assert.equal(await chosen(), "0");
    await copies.locator(".copying .copy.stands:not(.chosen)").first().tap({ position: { x: 30, y: 8 }, force: true });
    await settled(page);
    assert.equal(await chosen(), "1");
    assert.match(await said(copies, "story"), /^copy\.1 of x\.1/);
  }));

const OPEN = "#v2/share/share=m=attention_grad;p.at-28-1=1;v.rule=3;v.leaves=1;table&copies=m=attention_grad;p.case=!swap;v.phase=2;v.first=0;table";

for (const scheme of ["light", "dark"]) {
  test(`is accessible with everything open, ${scheme}`, () =>
    withPage({ scheme, path: OPEN }, async (page) => {
      for (const id of ["share", "copies"]) await awake(page, page.locator(`#${id}`));
      for (const id of ["values-that-must-share", "the-copy-you-never-see"]) {
        await page.locator(`#${id} details:not([open]) > summary`).evaluateAll((all) => all.forEach((s) => s.click()));
      }
      await settled(page);
      assert.ok((await page.locator("#share tbody tr").count()) > 5);
      assert.equal(await page.locator("#copies tbody tr").count(), golden.copies[3].first.copies);
      await expectAccessible(page);
      for (const id of ["share", "copies"]) {
        await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-1280-${scheme}.png` });
      }
    }));
}

test("fits a narrow screen", () =>
  withPage({ width: 320, height: 700, path: OPEN }, async (page) => {
    for (const id of ["share", "copies"]) {
      await awake(page, page.locator(`#${id}`));
      await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-320.png` });
    }
    await expectNoSidewaysScroll(page);
  }));

test("in forced colours and without motion", () =>
  withPage({ forcedColors: true, reducedMotion: true, path: OPEN }, async (page) => {
    for (const id of ["share", "copies"]) {
      await awake(page, page.locator(`#${id}`));
      assert.equal(await page.locator(`#${id} .scrubber .play`).count(), 0, "nothing plays by itself");
      await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-forced.png` });
    }
    // What is there and what is not differ by more than a fill.
    const strokes = (name) => page.locator(`#copies .copying .copy.${name}`).first().evaluate((e) => [getComputedStyle(e).stroke, getComputedStyle(e).strokeDasharray].join(" "));
    assert.notEqual(await strokes("stands"), await strokes("idle"));
  }));
