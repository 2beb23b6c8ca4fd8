// Chapter 17: who frees what, step by step, spoilt and changed; against what the engine computes natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, predict, settled, withFigure, withPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden_freeing.rs).
const golden = JSON.parse(readFileSync(new URL("golden-freeing.json", import.meta.url), "utf8"));
const shots = process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots";
const [diamond] = golden.examples;

const said = (figure, what) => figure.locator(`[data-said=${what}]`).innerText();
const faults = (figure) => figure.locator(".freeing").getAttribute("data-faults");
const puzzle = (page) => page.locator("[data-puzzle=clones] .verdict").innerText();
const choose = async (page, figure, id) => {
  await figure.locator(".touch-controls select").first().selectOption(id);
  await settled(page);
};
const rule = async (page, figure, id) => {
  await figure.locator(".touch-controls select").nth(1).selectOption(id);
  await settled(page);
};
/** A button that spoils a part. */
const spoiler = (figure, { part, how }) => figure.getByRole("group", { name: part, exact: true }).getByRole("button", { name: how, exact: true });
/** The alias sets, as the page lists them. */
const sets = (figure) =>
  figure.locator(".alias-sets button").evaluateAll((all) => all.map((b) => [...b.children].map((c) => c.textContent).join(" ")));

test("freeing: each program as natively, step by step, and with the gaps of LLVM 16", () =>
  withFigure("freeing", {}, async (page, figure) => {
    for (const { id, counted, steps, gaps, newer, refusal } of golden.examples) {
      await choose(page, figure, id);
      assert.equal(await said(figure, "counted"), counted, id);
      assert.equal(await figure.locator(".freeing").getAttribute("data-done"), String(steps.length - 1));
      if (refusal) {
        assert.equal(await said(figure, "step"), `Refused: ${refusal.message}.`);
        assert.match(refusal.message, /loop/);
        assert.equal(await figure.locator(".edge.back").count() > 0, true, "the branch back is drawn");
        continue;
      }
      await figure.getByRole("button", { name: "Step: first" }).click();
      for (const [n, step] of steps.entries()) {
        await settled(page);
        assert.equal(await said(figure, "step"), step.words, `${id} after ${n}`);
        assert.equal(await said(figure, "verdict"), step.verdict);
        assert.equal(await faults(figure), String(step.faults));
        assert.deepEqual(await sets(figure), step.sets);
        if (n + 1 < steps.length) await figure.getByRole("button", { name: "Step: forward" }).click();
      }
      assert.equal(steps.at(-1).faults, 0, "what comes out is right");
      await rule(page, figure, "llvm16");
      assert.equal(await said(figure, "verdict"), gaps);
      await rule(page, figure, "newer");
      assert.deepEqual([await said(figure, "verdict"), await said(figure, "counted")], newer);
      assert.ok((await figure.locator(".graph .band.put").count()) > 0, "what the newer rule puts in is drawn");
      await rule(page, figure, "older");
    }
  }));

test("freeing: every part spoilt in every way, as natively", () =>
  withFigure("freeing", {}, async (page, figure) => {
    for (const { id, spoilt } of golden.examples) {
      await choose(page, figure, id);
      for (const one of spoilt) {
        const button = spoiler(figure, one);
        await button.click();
        await settled(page);
        assert.equal(await faults(figure), String(one.faults.length), `${one.part} ${one.how}`);
        assert.ok(one.faults.length > 0);
        assert.equal(await said(figure, "verdict"), one.faults[0][1]);
        assert.ok((await figure.locator(".graph .row-mark.way").count()) > 0, "the way is drawn");
        assert.ok((await figure.locator(".graph .axis.top", { hasText: "wrong here" }).count()) > 0);
        await button.click();
        await settled(page);
        assert.equal(await faults(figure), "0");
      }
    }
  }));

test("freeing: two faults of one cause are both told; undo, redo, reset, and the address", () =>
  withFigure("freeing", {}, async (page, figure) => {
    const one = diamond.spoilt.find((s) => s.faults.length > 1);
    const button = spoiler(figure, one);
    await button.focus();
    await page.keyboard.press("Space");
    await settled(page);
    const second = figure.getByRole("group", { name: "Faults" }).getByRole("button").nth(1);
    assert.equal(await second.innerText(), `2. ${one.faults[1][0]}`);
    await second.focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await said(figure, "verdict"), one.faults[1][1]);
    await page.reload();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    assert.equal(await said(figure, "verdict"), one.faults[1][1], "the address has it");
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    await button.click();
    await settled(page);
    assert.equal(await faults(figure), "0");
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.equal(await faults(figure), String(one.faults.length));
    await figure.getByRole("button", { name: "Redo", exact: true }).click();
    await settled(page);
    assert.equal(await faults(figure), "0");
    await rule(page, figure, "llvm16");
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    await settled(page);
    assert.equal(await said(figure, "verdict"), diamond.steps.at(-1).verdict);
    assert.match(await figure.locator("[aria-live=polite].hidden").innerText(), /Nothing is leaked/);
  }));

test("freeing: a text that is wrong says where; the puzzle by a changed text", () =>
  withFigure("freeing", {}, async (page, figure) => {
    assert.equal(await puzzle(page), `Not yet. ${diamond.counted}`);
    await figure.locator("details.text summary").click();
    const area = figure.getByLabel("MLIR text of the program");
    const first = await area.inputValue();
    const { text, line, column, message } = golden.wrong;
    await area.fill(text);
    await figure.getByRole("button", { name: `line ${line}, column ${column}` }).waitFor();
    assert.ok((await figure.locator(".problems").innerText()).replaceAll("`", "").includes(message));
    assert.equal(await said(figure, "step"), `Line ${line}, column ${column}: ${message}.`);
    assert.equal(await figure.locator(".strip.wrong").count(), 1);
    // A loop of blocks is refused with words, at its place, and is drawn all the same.
    await area.fill(first.replace('  "test.copy"', "  cf.br ^bb1\n^bb3:\n  \"test.copy\"").replace("%r, %out", "%x, %out"));
    await figure.getByRole("button", { name: /^line 8, column 3$/ }).waitFor();
    assert.match(await said(figure, "step"), /^Refused: a branch back makes a loop of blocks/);
    const lines = first.split("\n");
    const alloc = lines.findIndex((l) => l.includes("memref.alloc"));
    const [taken] = lines.splice(alloc, 1);
    lines.splice(1, 0, taken);
    await area.fill(lines.join("\n"));
    await page.waitForFunction(() => document.querySelector("[data-puzzle=clones]").classList.contains("solved"));
    assert.equal(await puzzle(page), "Solved. 0 clones and 1 release.");
    await figure.getByRole("button", { name: "The first text again" }).click();
    await settled(page);
    assert.equal(await area.inputValue(), first);
    assert.equal(await puzzle(page), `Not yet. ${diamond.counted}`);
  }));

test("freeing: a prediction, right and wrong; a name in the prose lights its set, and a set its marks", () =>
  withFigure("freeing", {}, async (page, figure) => {
    const where = (name) => (texts) => texts.findIndex((text) => text.startsWith(name));
    const answer = await predict(page, "clone", where("It is used when it is gone"));
    assert.match(answer, /^Right\. .*is used when it is gone.*freed twice/);
    assert.match(await predict(page, "clone", where("A leak")), /^Not so\. /);
    const term = page.locator("#freeing-with-branches .term", { hasText: "%r" });
    await term.hover();
    await settled(page);
    assert.ok((await figure.locator(".graph .band.lit").count()) > 1);
    await term.click();
    await settled(page);
    assert.equal(await figure.locator(".alias-sets button[aria-pressed=true] .code").innerText(), "%r");
    const chip = figure.locator(".graph .band.hue-2").first();
    await chip.hover();
    await settled(page);
    assert.equal(await figure.locator(".alias-sets button.lit .code").innerText(), "%a");
  }));

test("freeing: by touch, and with reduced motion nothing plays by itself", () =>
  withFigure("freeing", { touch: true, width: 390, reducedMotion: true }, async (page, figure) => {
    assert.equal(await figure.getByRole("button", { name: "Play" }).count(), 0);
    await figure.getByRole("button", { name: "Step: back" }).tap();
    await settled(page);
    assert.equal(await said(figure, "step"), diamond.steps.at(-2).words);
    const [one] = diamond.spoilt;
    await spoiler(figure, one).tap();
    await settled(page);
    assert.equal(await said(figure, "verdict"), one.faults[0][1]);
    await figure.locator(".graph .band.put").first().tap();
    await settled(page);
    assert.equal(await figure.locator(".alias-sets button[aria-pressed=true]").count(), 1);
  }));

test("freeing: the table has every line", () =>
  withFigure("freeing", { path: "#v2/freeing/freeing=m=attention_grad;table" }, async (page, figure) => {
    const rows = figure.locator("details.table tbody tr");
    assert.equal(await rows.count(), 11);
    assert.equal(await rows.filter({ hasText: "put in" }).count(), 4);
    await figure.getByRole("button", { name: "Step: first" }).click();
    await settled(page);
    assert.equal(await rows.filter({ hasText: "to come" }).count(), 4);
  }));

test("freeing: at rest nothing is done", () =>
  withFigure("freeing", {}, async (page) => {
    await page.waitForTimeout(600);
    const frames = await page.evaluate(
      () =>
        new Promise((done) => {
          let seen = 0;
          const watch = new MutationObserver((list) => (seen += list.length));
          watch.observe(document.getElementById("freeing"), { subtree: true, childList: true, attributes: true, characterData: true });
          const real = window.requestAnimationFrame;
          window.requestAnimationFrame = (...rest) => ((seen += 1), real.apply(window, rest));
          setTimeout(() => done(seen), 1000);
        }),
    );
    assert.equal(frames, 0);
  }));

const OPEN = "#v2/freeing/freeing=m=attention_grad;p.broken=!1l;table;text";

for (const scheme of ["light", "dark"]) {
  test(`is accessible with everything open, ${scheme}`, () =>
    withFigure("freeing", { scheme, path: OPEN }, async (page, figure) => {
      await expectAccessible(page);
      await figure.screenshot({ path: `${shots}/freeing-1280-${scheme}.png` });
    }));
}

test("in the reader's own few colours outlines say what fills said", () =>
  withFigure("freeing", { forcedColors: true, path: OPEN }, async (page, figure) => {
    await figure.screenshot({ path: `${shots}/freeing-forced.png` });
    const stroke = (what) => figure.locator(what).first().evaluate((e) => getComputedStyle(e).stroke);
    assert.notEqual(await stroke(".graph .row-mark.block.way"), await stroke(".graph .row-mark.block:not(.way):not(.now)"));
  }));

for (const width of [320, 360]) {
  test(`fits ${width} px, each program`, () =>
    withFigure("freeing", { width, height: 700, path: OPEN }, async (page, figure) => {
      await figure.screenshot({ path: `${shots}/freeing-${width}.png` });
      for (const { id } of golden.examples) {
        await choose(page, figure, id);
        await expectNoSidewaysScroll(page);
        if (width === 360) await figure.locator(".graph").screenshot({ path: `${shots}/freeing-${id}-360.png` });
      }
    }));
}
