// Chapters 8 to 10: values sorted, the log, placements and gates, against what the engine computes natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, screenshot, settled, withFigure, withPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden_assigning.rs).
const golden = JSON.parse(readFileSync(new URL("golden-assigning.json", import.meta.url), "utf8"));

async function predict(page, id, choose) {
  const box = page.locator(`[data-predict=${id}]`);
  const labels = box.locator("label");
  await labels.nth(await choose(await labels.allInnerTexts())).click();
  await box.getByRole("button", { name: "See what the engine says" }).click();
  await settled(page);
  const verdict = await box.locator(".verdict").innerText();
  await box.getByRole("button", { name: "Answer again" }).click();
  await settled(page);
  return verdict;
}

const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const button = (figure, name) => figure.getByRole("button", { name, exact: true });

test("values: a prediction, right and wrong", () =>
  withFigure("bins", {}, async (page) => {
    const where = (name) => (texts) => texts.findIndex((text) => text.startsWith(name));
    assert.match(await predict(page, "surprise", where("Parameter")), /^Right\. .*it is a parameter/);
    assert.match(await predict(page, "surprise", where("The packing")), /^Not so\. .*must share with a_0_\.1/);
  }));

test("values: sorted by keys alone, undone and sorted again; the puzzle says when it is solved", () =>
  withFigure("bins", {}, async (page, figure) => {
    const { sentence, cards } = golden.bins;
    assert.equal(await figure.locator(".answer").innerText(), sentence);
    assert.match(await puzzle(page, "bins"), /^Not yet\. 0 of 8 sorted/);
    for (const [n, { name, key }] of cards.entries()) {
      const card = figure.locator(`[data-card='${n}']`);
      assert.equal(await card.locator(".code").innerText(), name);
      await card.focus();
      await page.keyboard.press(String(key));
      await settled(page);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.card), String(n), "the keyboard stays with the card");
    }
    assert.match(await puzzle(page, "bins"), /^Solved\. 8 of 8 sorted, 8 of them/);
    await button(figure, "Undo").click();
    await settled(page);
    assert.match(await puzzle(page, "bins"), /^Not yet\. 7 of 8 sorted, 7/);
    await button(figure, "Redo").click();
    await page.reload();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    assert.match(await puzzle(page, "bins"), /^Solved\./);
    await button(figure, "Reset").click();
    await settled(page);
    assert.match(await puzzle(page, "bins"), /^Not yet\. 0 of 8/);
  }));

test("values: by a drag and by two clicks; the assigner's own answer beside it", () =>
  withFigure("bins", { height: 1000 }, async (page, figure) => {
    const [first, second] = golden.bins.cards;
    const card = figure.locator("[data-card='0']");
    const bin = figure.locator(`[data-bin='${first.key - 1}']`);
    await figure.locator(".tray").evaluate((tray) => tray.scrollIntoView());
    await settled(page);
    const [from, to] = [await card.boundingBox(), await bin.boundingBox()];
    await page.mouse.move(from.x + 20, from.y + 10);
    await page.mouse.down();
    await page.mouse.move(from.x + 40, from.y + 40, { steps: 3 });
    await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    assert.equal(await bin.locator("[data-card='0']").count(), 1);
    await figure.locator("[data-card='1']").click();
    const wrong = second.key === 1 ? 2 : 1;
    await figure.locator(`[data-bin='${wrong - 1}'] .bin-head`).click();
    await settled(page);
    assert.equal(await figure.locator(`[data-bin='${wrong - 1}'] [data-card='1']`).count(), 1);
    await button(figure, "Let the assigner sort").click();
    const answers = await figure.locator(".answers li").allInnerTexts();
    assert.equal(answers.length, 8);
    for (const [n, { bin, decision }] of golden.bins.cards.entries()) {
      assert.ok(answers[n].includes(bin) && answers[n].includes(decision), answers[n]);
    }
    assert.match(answers[0], /✓/);
    assert.match(answers[1], /✗/);
    await screenshot(page, "bins-1280-light");
  }));

test("log: every decision as the engine words it, forward and back, all by keys", () =>
  withFigure("log", {}, async (page, figure) => {
    const slider = figure.getByRole("slider", { name: "Decision" });
    const now = () => figure.locator(".log [aria-current] .line").innerText();
    const { log } = golden.bins;
    await slider.focus();
    await page.keyboard.press("Home");
    await settled(page);
    assert.equal(await now(), log[0]);
    const seen = [log[0]];
    for (let n = 1; n < 12; n++) {
      await page.keyboard.press("ArrowRight");
      await settled(page);
      seen.push(await now());
    }
    assert.deepEqual(seen, log.slice(0, 12));
    const blocks = await figure.locator(".memory svg .band").count();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowLeft");
    await settled(page);
    assert.equal(await now(), log[11]);
    assert.equal(await figure.locator(".memory svg .band").count(), blocks, "back is where it was");
    await page.keyboard.press("End");
    await settled(page);
    assert.equal(await now(), log.at(-1));
    // The filter leaves the others out.
    await figure.getByLabel("Show").selectOption("refusal");
    await figure.getByRole("button", { name: "Decision: back" }).click();
    await settled(page);
    assert.match(await now(), /does not go into allocation|does .* go into allocation/);
  }));

test("log: plays, pauses, and stops when it is out of sight; still without motion", async () => {
  await withFigure("log", {}, async (page, figure) => {
    const slider = figure.getByRole("slider", { name: "Decision" });
    await figure.getByLabel("Show").selectOption("");
    await slider.focus();
    await page.keyboard.press("Home");
    await button(figure, "Play").click();
    await page.waitForFunction(() => +document.querySelector("#log input[type=range]").value >= 2);
    await button(figure, "Pause").click();
    const there = await slider.inputValue();
    await page.waitForTimeout(1500);
    assert.equal(await slider.inputValue(), there);
    await button(figure, "Play").click();
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForTimeout(2500);
    assert.equal(await button(figure, "Play").count(), 1, "nothing plays that nobody sees");
  });
  await withFigure("log", { reducedMotion: true }, async (page, figure) => {
    assert.equal(await button(figure, "Play").count(), 0);
    await figure.getByRole("button", { name: "Decision: first" }).click();
    await figure.getByRole("button", { name: "Decision: forward" }).click();
    await settled(page);
  });
});

test("log: hovering a line lights the block, and a block the line", () =>
  withFigure("log", {}, async (page, figure) => {
    await figure.locator(".log [aria-current] button").hover();
    await settled(page);
    assert.ok((await figure.locator(".memory svg .band.lit").count()) > 0);
    await figure.locator(".memory svg .band.selected").first().hover({ force: true });
    await settled(page);
    assert.ok((await figure.locator(".log li.lit").count()) > 0);
  }));

const placement = (figure) =>
  figure.locator(".placement-view").evaluate(({ dataset: d }) => ({ at: +d.placement, offset: +d.offset, size: +d.size, total: +d.total }));

test("placement: each step as computed natively, forward and back", () =>
  withFigure("placement", {}, async (page, figure) => {
    assert.match(await figure.locator(".now").innerText(), /3 of them hold 2,052 B\. The smallest is 12,608 to 15,936/);
    const slider = figure.getByRole("slider", { name: "Step" });
    await slider.focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
    const { steps, total, choice } = golden.spatial;
    const walk = [];
    for (const [n, { offset, size, words }] of steps.entries()) {
      await settled(page);
      assert.deepEqual(await placement(figure), { at: n, offset, size, total });
      assert.equal(await figure.locator(".now").innerText(), words);
      walk.push(await figure.locator(".address-line svg").evaluate((svg) => svg.innerHTML));
      if (n + 1 < steps.length) await button(figure, "Next value").click();
    }
    for (let n = steps.length - 2; n >= steps.length - 6; n--) {
      await button(figure, "Value before").click();
      await settled(page);
      const { offset, size } = steps[n];
      assert.deepEqual(await placement(figure), { at: n, offset, size, total });
      assert.equal(await figure.locator(".address-line svg .band").count(), (walk[n].match(/class="band/g) ?? []).length);
    }
    await slider.focus();
    await page.keyboard.press("End");
    await settled(page);
    assert.equal(await figure.locator(".now").innerText(), choice);
    assert.equal(await figure.locator(".pseudo [aria-current]").count(), 1);
  }));

test("placement: the other order has its own steps, and four packers stand side by side", () =>
  withFigure("placement", {}, async (page, figure) => {
    const totals = await figure.locator(".packer .total").allInnerTexts();
    assert.equal(totals.length, 4);
    const digits = (n) => n.toLocaleString("en-US");
    assert.ok(totals[0].startsWith(`${digits(golden.spatial.total)} B`) && totals[0].includes("kept"), totals[0]);
    assert.ok(totals[1].startsWith(`${digits(golden.temporal.total)} B`) && !totals[1].includes("kept"), totals[1]);
    await figure.locator(".packer").nth(1).getByRole("button").click();
    await settled(page);
    const { at, offset, size, total } = await placement(figure);
    assert.deepEqual({ offset, size }, (({ offset, size }) => ({ offset, size }))(golden.temporal.steps[at]));
    assert.equal(total, golden.temporal.total);
  }));

test("placement: predictions and the puzzle", () =>
  withFigure("placement", {}, async (page, figure) => {
    const from = golden.spatial.steps[15].offset.toLocaleString("en-US");
    const right = (texts) => texts.findIndex((t) => t.startsWith(`${from} to`) || t.startsWith(`from ${from} `));
    assert.match(await predict(page, "fit", right), /^Right\. /);
    assert.match(await predict(page, "fit", (texts) => (right(texts) + 1) % texts.length), /^Not so\. /);
    assert.match(await predict(page, "kept", () => 0), /^Right\. .*25,028 B.*25,048 B/);
    assert.match(await predict(page, "kept", () => 2), /^Not so\. /);
    assert.match(await puzzle(page, "growth"), /^Not yet\. /);
    const { growth } = golden.spatial;
    await figure.getByRole("slider", { name: "Step" }).focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
    for (let i = 0; i < growth; i++) await button(figure, "Next value").click();
    await settled(page);
    assert.match(await puzzle(page, "growth"), /^Solved\. Here the heap ends at 25,028 B/);
  }));

test("gates: nine modules refused and passed as natively; three make the puzzle; undo brings one back", () =>
  withFigure("gates", {}, async (page, figure) => {
    assert.match(await puzzle(page, "pass"), /^Not yet\. /);
    const said = async () => (await figure.locator(".judgement").innerText()).replace(/^[✓✗!]\s*/, "");
    const gate = (n) => figure.locator(".gates button").nth(n - 1);
    for (const [k, { first, then }] of golden.gates.entries()) {
      await gate(k + 1).click();
      await settled(page);
      assert.equal(await said(), first);
      assert.equal(await figure.locator(".gates li.stopped").count(), 1);
      assert.equal(await figure.locator(".gates li.passed").count(), k, "so many gates are passed before");
      await figure.getByText("A way through").click();
      await button(figure, "Put that text in").click();
      await settled(page);
      assert.equal(await said(), then);
      assert.equal(await figure.locator(".gates li.stopped").count(), 0);
      assert.match(await puzzle(page, "pass"), k < 2 ? /^Not yet\. / : /^Solved\. /);
    }
    await button(figure, "Undo").click();
    await settled(page);
    assert.equal(await said(), golden.gates[8].first);
  }));

test("gates: a text typed by hand, with what is wrong at its line; options, too", () =>
  withFigure("gates", {}, async (page, figure) => {
    const area = figure.getByLabel("HLO text of module 7");
    const text = await area.inputValue();
    await area.fill(text.replace("negate(p)", "negate(nobody)"));
    await figure.locator(".problems button", { hasText: "line 5," }).waitFor();
    assert.match(await figure.locator(".judgement").innerText(), /Line 5 cannot be read/);
    assert.equal(await area.getAttribute("aria-invalid"), "true");
    await area.fill(text.replace("reverse(a), dimensions={0}", "exponential(a)"));
    await figure.locator(".judgement.passed").waitFor();
    await page.reload();
    await figure.locator(".judgement.passed").waitFor();
    assert.match(await area.inputValue(), /exponential\(a\)/);
    await button(figure, "The first text again").click();
    await figure.locator(".judgement.stopped").waitFor();
    await figure.getByLabel("Options").fill("--fast");
    await figure.getByLabel("Options").press("Enter");
    await figure.locator(".judgement", { hasText: "The options cannot be read" }).waitFor();
  }));

test("gates: a prediction, right and wrong", () =>
  withFigure("gates", {}, async (page) => {
    assert.match(await predict(page, "copy", () => 1), /^Right\. Gate 7 refuses: .*a copy must not stand/);
    assert.match(await predict(page, "copy", () => 0), /^Not so\. Gate 7/);
  }));

const OPEN = "#v2/bins/bins=m=kv_cache_loop;p.bins=!tc-pshu-;v.shown=1;table&log=m=kv_cache_loop;table&placement=m=varied_temp_sizes;v.at=31;table&gates=m=varied_temp_sizes;table";

for (const scheme of ["light", "dark"]) {
  test(`is accessible with everything open, ${scheme}`, () =>
    withPage({ scheme, path: OPEN }, async (page) => {
      for (const id of ["bins", "log", "placement", "gates"]) {
        await page.locator(`#${id}`).scrollIntoViewIfNeeded();
        await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
      }
      await settled(page);
      await expectAccessible(page);
      for (const id of ["bins", "log", "placement", "gates"]) {
        await page.locator(`#${id}`).screenshot({ path: `${process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots"}/${id}-1280-${scheme}.png` });
      }
    }));
  for (const width of [360, 320]) {
    test(`has no sideways scroll at ${width} px, ${scheme}`, () =>
      withPage({ width, scheme, touch: true, path: OPEN }, async (page) => {
        for (const id of ["bins", "log", "placement", "gates"]) {
          await page.locator(`#${id}`).scrollIntoViewIfNeeded();
          await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
          await settled(page);
          await page.locator(`#${id}`).screenshot({ path: `${process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots"}/${id}-${width}-${scheme}.png` });
        }
        await expectNoSidewaysScroll(page);
        const small = await page.locator("#bins button, #log button, #placement button, #gates button").evaluateAll((all) =>
          all.map((b) => [b.getBoundingClientRect(), b.innerText]).filter(([r]) => r.height > 0 && r.height < 24).map(([r, text]) => `${text} ${r.height}`),
        );
        assert.deepEqual(small, [], "targets are 24 px high at least");
      }));
  }
}

test("a finger taps a value, then a bin", () =>
  withFigure("bins", { width: 360, height: 740, touch: true }, async (page, figure) => {
    await figure.locator("[data-card='0']").tap();
    await figure.locator("[data-bin='2'] .bin-head").tap();
    await settled(page);
    assert.equal(await figure.locator("[data-bin='2'] [data-card='0']").count(), 1);
  }));

test("nothing shifts when figures wake", () =>
  withPage({}, async (page) => {
    await page.evaluate(() => {
      window.shifts = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
      }).observe({ type: "layout-shift" });
    });
    for (const id of ["bins", "log", "placement", "gates"]) {
      await page.locator(`#${id}`).evaluate((element) => element.scrollIntoView());
      await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
      await page.waitForTimeout(300);
    }
    const shifts = await page.evaluate(() => window.shifts);
    assert.ok(shifts < 0.05, `layout shifts add up to ${shifts}`);
  }));

test("forced colours keep the marks apart", () =>
  withFigure("placement", { forcedColors: true }, async (page, figure) => {
    await figure.screenshot({ path: `${process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots"}/placement-forced.png` });
    await expectAccessible(page);
  }));
