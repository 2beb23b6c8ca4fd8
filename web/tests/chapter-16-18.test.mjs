// Chapters 16 and 18: devices that must agree, an address seen from all, what is copied and what is remapped, and rules over
// many steps; against what the engine computes natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, predict, settled, withFigure, withPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden_devices.rs).
const golden = JSON.parse(readFileSync(new URL("golden-devices.json", import.meta.url), "utf8"));
const shots = process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots";

const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const said = async (figure, what) => (await figure.locator(`[data-said=${what}]`).innerText()).trim();
const ready = (figure) => figure.locator(".meeting").getAttribute("data-ready");
const results = (figure) => figure.locator(".results li").evaluateAll((all) => all.map((li) => li.innerText.replace(/^Device \d: /, "")));
const where = (start) => (texts) => texts.findIndex((text) => text.startsWith(start));
const broken = (way, trouble) => golden.rendezvous.broken.find((b) => b.way === way && b.trouble === trouble);

/** Comes back to the same address anew. */
async function reload(page, figure) {
  await page.reload();
  await figure.locator(".stage:not(.asleep)").waitFor();
  await settled(page);
}

/** Sets a slider by its keys. */
async function slide(page, figure, label, key, times = 1) {
  await figure.getByRole("slider", { name: label, exact: true }).focus();
  for (let n = 0; n < times; n += 1) await page.keyboard.press(key);
  await settled(page);
}

test("rendezvous: every event by keys, as natively; a prediction, right and wrong", () =>
  withFigure("rendezvous", {}, async (page, figure) => {
    const { words, seats } = golden.rendezvous;
    assert.equal(await said(figure, "event"), words.at(-1), "it begins at its end");
    await figure.getByRole("button", { name: "Event: first" }).focus();
    await page.keyboard.press("Enter");
    for (const [n, expected] of words.entries()) {
      await settled(page);
      assert.equal(await said(figure, "event"), expected);
      assert.equal(await figure.locator(".seat.here").count(), seats[n]);
      await figure.getByRole("button", { name: "Event: forward" }).focus();
      await page.keyboard.press("Enter");
    }
    const given = await predict(page, "order", where("None"));
    assert.equal(given, `Right. ${broken("symmetric", "order").sentence}`);
    assert.match(await predict(page, "order", where("All four")), /^Not so\. /);
  }));

test("rendezvous: it plays, and not where motion is not wanted", async () => {
  await withFigure("rendezvous", {}, async (page, figure) => {
    await figure.getByRole("button", { name: "Event: first" }).click();
    await figure.getByRole("button", { name: "Play" }).click();
    await page.waitForFunction(() => Number(document.querySelector(".meeting").dataset.moment) >= 2);
    await figure.getByRole("button", { name: "Pause" }).click();
  });
  await withFigure("rendezvous", { reducedMotion: true }, async (page, figure) => {
    assert.equal(await figure.getByRole("button", { name: "Play" }).count(), 0);
    await figure.getByRole("button", { name: "Event: back" }).click();
    await settled(page);
    assert.equal(await said(figure, "event"), golden.rendezvous.words.at(-2));
  });
});

test("rendezvous: whatever is broken, the engine's own words, as natively", () =>
  withFigure("rendezvous", {}, async (page, figure) => {
    for (const { way, trouble, sentence, ready: expected, results: list } of golden.rendezvous.broken) {
      await figure.getByLabel("Way").selectOption(way);
      await figure.getByLabel("What goes wrong").selectOption(trouble);
      await settled(page);
      assert.equal(await said(figure, "meeting"), sentence, `${way} ${trouble}`);
      assert.equal(await ready(figure), String(expected));
      assert.deepEqual(await results(figure), list);
    }
    // The address keeps it.
    await reload(page, figure);
    const last = golden.rendezvous.broken.at(-1);
    assert.equal(await said(figure, "meeting"), last.sentence);
  }));

test("rendezvous: the puzzle, undone and redone; the device that makes the trouble", () =>
  withFigure("rendezvous", {}, async (page, figure) => {
    assert.match(await puzzle(page, "sizes"), /^Not yet\. The sizes are the same, and 4 of 4/);
    await figure.getByLabel("What goes wrong").selectOption("size");
    await settled(page);
    assert.match(await puzzle(page, "sizes"), /^Not yet\. The sizes differ/);
    await figure.getByLabel("with device").selectOption("3");
    await figure.getByLabel("Way").selectOption("peer");
    await settled(page);
    assert.match(await puzzle(page, "sizes"), /^Solved\. /);
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "sizes"), /^Not yet\. /);
    await figure.getByRole("button", { name: "Redo", exact: true }).click();
    await settled(page);
    assert.match(await puzzle(page, "sizes"), /^Solved\. /);
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    await settled(page);
    assert.equal(await said(figure, "meeting"), broken("symmetric", "none").sentence);
  }));

test("rendezvous: phrases of the prose break it, by touch", () =>
  withFigure("rendezvous", { touch: true, width: 390 }, async (page, figure) => {
    for (const [name, way, trouble] of [
      ["A rank that never comes", "symmetric", "never"],
      ["Another process", "multicast", "process"],
      ["waited for the others", "symmetric", "moved-alone"],
    ]) {
      const phrase = page.getByRole("button", { name });
      await phrase.tap();
      await settled(page);
      assert.equal(await said(figure, "meeting"), broken(way, trouble).sentence);
      assert.equal(await phrase.getAttribute("aria-pressed"), "true");
    }
  }));

test("reach: a byte on each device, every way, as natively, and in the address", () =>
  withFigure("reach", {}, async (page, figure) => {
    const check = async (expected) => {
      assert.equal(await said(figure, "reach"), expected.sentence);
      assert.equal(await figure.locator(".reaching").getAttribute("data-address"), expected.address);
      for (const [n, pointer] of expected.pointers.entries()) {
        const row = figure.locator(`.results li[data-device="${n}"]`);
        const text = await row.innerText();
        assert.ok(text.includes(expected.seen[n]), text);
        assert.equal(await row.locator(".code").count(), pointer ? 1 : 0);
        if (pointer) assert.equal(await row.locator(".code").innerText(), pointer);
      }
    };
    const range = figure.getByLabel("one physical range behind all");
    for (const expected of golden.reach.filter((r) => r.device === 0)) {
      await figure.getByLabel("Way").selectOption(expected.way);
      await range.setChecked(expected.range);
      await settled(page);
      await check(expected);
    }
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    for (const expected of golden.reach.filter((r) => r.device > 0)) {
      await figure.getByLabel("Address in").selectOption(`${expected.device}.${expected.allocation}`);
      await settled(page);
      await check(expected);
    }
    await reload(page, figure);
    await check(golden.reach.at(-1));
  }));

test("reach: the byte under the pointer, kept by a click; by keys; by a finger", async () => {
  const middle = async (figure) => {
    // The asked allocation on device 0 is the one that is drawn as selected.
    const { x, y, width, height } = await figure.locator(".reach .band.selected").boundingBox();
    return [x + width / 2, y + height / 2];
  };
  await withFigure("reach", {}, async (page, figure) => {
    const first = golden.reach[0];
    const [x, y] = await middle(figure);
    const column = (await figure.locator(".reach .plot").boundingBox()).width / 4;
    await page.mouse.move(x + column, y);
    await settled(page);
    assert.match(await said(figure, "reach"), / on device 1 is byte [\d,]+ of allocation 10; .*device 0 at .*device 3 at /);
    await page.mouse.move(x, 5);
    await settled(page);
    assert.equal(await said(figure, "reach"), first.sentence, "what only passed by is not kept");
    await page.mouse.move(x + column, y);
    await page.mouse.down();
    await page.mouse.up();
    await page.mouse.move(x, 5);
    await settled(page);
    assert.match(await said(figure, "reach"), / on device 1 /);
    await figure.getByRole("button", { name: "Undo", exact: true }).click();
    await settled(page);
    assert.equal(await said(figure, "reach"), first.sentence);
    await slide(page, figure, "Byte", "ArrowRight");
    assert.match(await said(figure, "reach"), /is byte 8,193 of/);
    await figure.getByRole("button", { name: "Byte: less" }).click();
    await settled(page);
    assert.match(await said(figure, "reach"), /is byte 7,169 of/);
  });
  await withFigure("reach", { touch: true, width: 390 }, async (page, figure) => {
    await figure.locator(".reach .plot").scrollIntoViewIfNeeded();
    const [x, y] = await middle(figure);
    const column = (await figure.locator(".reach .plot").boundingBox()).width / 4;
    await page.touchscreen.tap(x + 2 * column, y);
    await settled(page);
    assert.match(await said(figure, "reach"), / on device 2 /);
  });
});

test("cutoff: every way of finding it and every setting of the sliders, as natively", () =>
  withFigure("cutoff", {}, async (page, figure) => {
    const { policies, bandwidths, free } = golden.cutoff;
    const check = async (expected, what) => {
      assert.equal(await said(figure, "plan"), expected.sentence, what);
      assert.equal(await said(figure, "slice"), expected.slice, what);
      assert.equal(await figure.locator(".cutting").getAttribute("data-cutoff"), String(expected.cutoff));
      assert.equal(await figure.locator(".cutting").getAttribute("data-reservation"), String(expected.reservation));
    };
    for (const policy of policies) {
      const button = figure.getByRole("button", { name: policy.title, exact: true });
      await button.click();
      await settled(page);
      await check(policy, policy.title);
      assert.equal(await button.getAttribute("aria-pressed"), "true");
    }
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    for (const [label, list] of [["Bandwidth", bandwidths], ["Free memory", free]]) {
      await slide(page, figure, label, "Home");
      for (const [n, expected] of list.entries()) {
        await check(expected, `${label} ${n}`);
        await page.keyboard.press("ArrowRight");
        await settled(page);
      }
      await figure.getByRole("button", { name: "Reset", exact: true }).click();
      await settled(page);
    }
  }));

test("cutoff: a prediction, a slice by click and by button, the prose's words, the puzzle by buttons", () =>
  withFigure("cutoff", {}, async (page, figure) => {
    assert.match(await predict(page, "limit", where("One slice")), /^Right\. Allocation 0, /);
    assert.match(await predict(page, "limit", where("All copies")), /^Not so\. /);
    const { slices, solution, third } = golden.cutoff;
    const words = (place) => slices.find((s) => s.place === place).words;
    await page.getByRole("button", { name: "three weights of one size" }).click();
    await settled(page);
    assert.equal(await said(figure, "slice"), third, "with the free memory that the prose speaks of");
    await page.getByRole("button", { name: "The largest weight" }).click();
    await settled(page);
    assert.match(await said(figure, "slice"), /^Allocation 0, /);
    await figure.getByRole("button", { name: "Smaller slice" }).click();
    await settled(page);
    const at = slices.findIndex((s) => s.words.startsWith("Allocation 0,")) - 1;
    assert.equal(await said(figure, "slice"), slices[at].words);
    // The smallest slice is the leftmost column.
    await figure.locator(".cutoff .plot").scrollIntoViewIfNeeded();
    const bands = await figure.locator(".cutoff .layer-band rect").all();
    const boxes = await Promise.all(bands.map((band) => band.boundingBox()));
    const axis = (await figure.locator(".cutoff .layer-grid line").first().boundingBox()).x;
    const { x, y, width, height } = boxes.filter((box) => box.x >= axis).sort((a, b) => a.x - b.x || a.y - b.y)[0];
    await page.mouse.click(x + width / 2, y + height - 3);
    await settled(page);
    assert.equal(await said(figure, "slice"), slices[0].words);
    assert.equal(words(slices[0].place), slices[0].words);
    // The puzzle.
    assert.match(await puzzle(page, "everything"), /^Not yet\. 17 of 19 slices/);
    await figure.getByRole("button", { name: "Auto, calibrated" }).click();
    await slide(page, figure, "Cost of a remap", "End");
    await slide(page, figure, "Free memory", "Home");
    for (let n = 0; n < solution.free; n += 1) {
      assert.match(await puzzle(page, "everything"), /^Not yet\. /);
      await figure.getByRole("button", { name: "Free memory: more" }).click();
      await settled(page);
    }
    assert.match(await puzzle(page, "everything"), /^Solved\. 19 of 19 slices/);
    await reload(page, figure);
    assert.match(await puzzle(page, "everything"), /^Solved\. /);
    await page.goBack();
    await settled(page);
    assert.match(await puzzle(page, "everything"), /^Not yet\. /);
  }));

test("churn: each rule, broken and kept, as natively; step by step by keys", () =>
  withFigure("churn", {}, async (page, figure) => {
    for (const { rule, broken: wrong, kept } of golden.churn.cases) {
      await figure.locator(".churning select").selectOption(rule);
      await settled(page);
      assert.equal(await said(figure, "course"), kept, "rules are kept until they are switched off");
      assert.equal(await figure.locator(".cross").count(), 0);
      await figure.getByLabel("keep the rule").uncheck();
      await settled(page);
      assert.equal(await said(figure, "course"), wrong.sentence);
      assert.equal(await figure.locator(".churning").getAttribute("data-first-fault"), String(wrong.first));
      await figure.getByLabel("keep the rule").check();
      await settled(page);
    }
    await figure.getByRole("button", { name: "Reset", exact: true }).click();
    await settled(page);
    await figure.getByLabel("keep the rule").uncheck();
    await settled(page);
    const { steps } = golden.churn;
    const { chosen } = golden.churn.cases[0].broken;
    assert.equal(await said(figure, "step"), steps[chosen], "it begins where it goes wrong first");
    await figure.getByRole("button", { name: "Step: first" }).focus();
    await page.keyboard.press("Enter");
    for (const expected of steps) {
      await settled(page);
      assert.equal(await said(figure, "step"), expected);
      await figure.getByRole("button", { name: "Step: forward" }).focus();
      await page.keyboard.press("Enter");
    }
    await reload(page, figure);
    assert.equal(await said(figure, "step"), steps.at(-1));
  }));

test("churn: a prediction, the puzzle, by touch", () =>
  withFigure("churn", { touch: true, width: 390 }, async (page, figure) => {
    assert.match(await predict(page, "guard", where("In one whose slices are all copied")), /^Right\. .*set-up runs again/);
    assert.match(await predict(page, "guard", where("In both")), /^Not so\. /);
    const { fastest, drifts } = golden.churn;
    assert.match(await puzzle(page, "falling"), /^Not yet\. .*switched off/);
    await figure.getByLabel("keep the rule").tap();
    await settled(page);
    assert.match(await puzzle(page, "falling"), /^Not yet\. /);
    const less = figure.getByRole("button", { name: "Free memory: less" });
    const more = figure.getByRole("button", { name: "Free memory: more" });
    for (let n = 0; n < drifts; n += 1) if (await more.isEnabled()) await more.tap();
    await settled(page);
    assert.match(await puzzle(page, "falling"), /^Not yet\. .*Nothing goes wrong/, "nothing wrong is not yet as fast as it can");
    for (let n = drifts - 1; n > fastest; n -= 1) await less.tap();
    await settled(page);
    assert.match(await puzzle(page, "falling"), /^Solved\. /);
    await less.tap();
    await settled(page);
    assert.match(await puzzle(page, "falling"), /^Not yet\. /);
  }));

const FIGURES = ["rendezvous", "reach", "cutoff", "churn"];
const MODULES = { rendezvous: "gpu_two_cliques", reach: "gpu_two_cliques", cutoff: "gpu_layer_step", churn: "gpu_layer_step" };
const OPEN = `#v2/rendezvous/${FIGURES.map((id) => `${id}=m=${MODULES[id]};table`).join("&")}`;
const WIDE = "#rendezvous";

async function wakeAll(page) {
  for (const id of FIGURES) {
    await page.locator(`#${id}`).scrollIntoViewIfNeeded();
    await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
    await page.locator(`#${id} svg .band`).first().waitFor();
    await settled(page);
  }
}

for (const scheme of ["light", "dark"]) {
  test(`is accessible with everything open, ${scheme}`, () =>
    withPage({ scheme, path: OPEN }, async (page) => {
      await wakeAll(page);
      await expectAccessible(page);
    }));
  test(`pictures, ${scheme}`, async () => {
    for (const width of [1280, 360]) {
      await withPage({ scheme, width, path: WIDE }, async (page) => {
        await wakeAll(page);
        for (const id of FIGURES) await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-${width}-${scheme}.png` });
        for (const slug of ["memory-that-many-devices-share", "copy-or-remap"]) {
          await page.locator(`#${slug}`).screenshot({ path: `${shots}/${slug}-${width}-${scheme}.png` });
        }
      });
    }
  });
}

test("at rest nothing is drawn", () =>
  withPage({ path: WIDE }, async (page) => {
    await wakeAll(page);
    await page.waitForTimeout(500);
    const frames = await page.evaluate(
      () =>
        new Promise((done) => {
          let asked = 0;
          const real = window.requestAnimationFrame;
          window.requestAnimationFrame = (...rest) => ((asked += 1), real.apply(window, rest));
          let written = 0;
          new MutationObserver((list) => (written += list.length)).observe(document, { subtree: true, childList: true, attributes: true });
          window.setTimeout(() => done(asked + written), 1000);
        }),
    );
    assert.equal(frames, 0);
  }));

test("fits a narrow screen", () =>
  withPage({ width: 320, height: 700, path: OPEN }, async (page) => {
    await wakeAll(page);
    await expectNoSidewaysScroll(page);
    for (const id of FIGURES) await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-320.png` });
  }));

test("forced colours show what fills said", () =>
  withPage({ forcedColors: true, path: WIDE }, async (page) => {
    await wakeAll(page);
    for (const id of FIGURES) await page.locator(`#${id}`).screenshot({ path: `${shots}/${id}-forced.png` });
    await expectAccessible(page);
  }));
