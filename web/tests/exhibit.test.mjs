// The signature exhibit: what a pulled end does, by pointer and by keys, against what the engine computes natively.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, screenshot, settled, withPage as withAnyPage } from "./harness.mjs";

// Written by `cargo test -p bufferscope-web` (web/tests/golden.rs): sizes for edits, computed without a browser.
const golden = JSON.parse(readFileSync(new URL("golden.json", import.meta.url), "utf8"));
const first = golden.find(({ module }) => module === "varied_temp_sizes");

/** The page at the exhibit, awake. Links of the first version open there by themselves. */
const withPage = (options, work) =>
  withAnyPage({ path: "#drag", ...options }, async (page) => {
    await awake(page);
    return work(page);
  });

async function awake(page) {
  await page.locator("#drag .card").waitFor();
  await page.locator("#drag .timeline svg .axis").first().waitFor({ state: "attached" });
  await settled(page);
}

const numbers = (page) =>
  page.locator("#drag .card").evaluate(({ dataset: d }) => ({ heap: +d.heap, temp: +d.temp, total: +d.total, floor: +d.floor }));
const hash = (page) => page.evaluate(() => location.hash);
const endOf = (page) => page.locator("#drag").getByRole("slider", { name: "End of" });
const now = async (slider) => Number(await slider.getAttribute("aria-valuenow"));

/** The steps' width on the timeline, from two positions of the handle. */
async function columnWidth(page) {
  const handle = endOf(page);
  const before = await handle.boundingBox();
  await handle.press("ArrowRight");
  await settled(page);
  const after = await handle.boundingBox();
  await page.locator("#drag").getByRole("button", { name: "Undo" }).click();
  await settled(page);
  return after.x - before.x;
}

async function drag(page, steps) {
  const handle = endOf(page);
  await handle.scrollIntoViewIfNeeded();
  const column = await columnWidth(page);
  const { x, y, width, height } = await handle.boundingBox();
  const [fromX, fromY] = [x + width / 3, y + height / 2];
  await page.mouse.move(fromX, fromY);
  await page.mouse.down();
  const seen = [];
  for (let i = 1; i <= steps; i++) {
    await page.mouse.move(fromX + i * column, fromY);
    await settled(page);
    seen.push({ end: await now(handle), ...(await numbers(page)) });
  }
  await page.mouse.up();
  await settled(page);
  return seen;
}

test("is alive at once: the peak, its cause, a value and where its sharing breaks", () =>
  withPage({}, async (page) => {
    assert.deepEqual(await numbers(page), first.original);
    await page.locator("#drag").getByText(/^Peak: at step \d+/).waitFor();
    assert.match(await page.locator("#drag .task").innerText(), /Take the right end of sort\.6/);
    await page.locator("#drag .timeline svg text", { hasText: /^(step )?30: (stops sharing with|loses) concatenate\.10/ }).waitFor();
    assert.ok((await page.locator("#drag .timeline svg .band").count()) > 40);
    assert.ok((await page.locator("#drag .heap svg .band").count()) > 40);
    const fills = await page.locator("#drag .heap svg .band").evaluateAll((bands) => new Set(bands.map((b) => getComputedStyle(b).fill)).size);
    assert.ok(fills > 5, "buffers have colours of their own");
  }));

test("a drag by pointer packs as the engine does natively, at every step", () =>
  withPage({}, async (page) => {
    const seen = await drag(page, first.ends.length);
    assert.deepEqual(seen, first.ends);
    const card = await page.locator("#drag .card").innerText();
    assert.match(card, /sort\.6 no longer shares with concatenate\.10/);
    assert.match(card, /\+1,272 B \(\+5\.1 %\)/);
    assert.match(await page.locator("#drag > [role=status]").innerText(), /sort\.6 now ends at step/);
    assert.ok((await page.locator("#drag .heap svg .ghost").count()) > 0, "moved bands leave ghosts");
    await screenshot(page, "dragged-1280-light");
  }));

test("a drag by keys gives the same, and the slider says where it is", () =>
  withPage({}, async (page) => {
    const handle = endOf(page);
    await handle.focus();
    for (const expected of first.ends) {
      await page.keyboard.press("ArrowRight");
      await settled(page);
      assert.deepEqual({ end: await now(handle), ...(await numbers(page)) }, expected);
      assert.match(await handle.getAttribute("aria-valuetext"), new RegExp(`^ends at step ${expected.end}, `));
    }
    await page.keyboard.press("End");
    assert.equal(await now(handle), Number(await handle.getAttribute("aria-valuemax")));
    await page.keyboard.press("PageDown");
    assert.equal(await now(handle), Number(await handle.getAttribute("aria-valuemax")) - 10);
    await page.keyboard.press("Home");
    assert.equal(await now(handle), Number(await handle.getAttribute("aria-valuemin")));
  }));

test("the start can be pulled too, and every drag has a way without dragging", () =>
  withPage({}, async (page) => {
    const start = page.locator("#drag").getByRole("slider", { name: "Start of" });
    const before = await now(start);
    await start.press("ArrowLeft");
    assert.equal(await now(start), before - 1);
    await page.locator("#drag").getByRole("button", { name: "Start one step later" }).click();
    assert.equal(await now(start), before);
    await page.locator("#drag").getByRole("button", { name: "End one step later" }).click();
    assert.equal(await now(endOf(page)), first.ends[0].end);
    await page.locator("#drag").getByRole("button", { name: "end 30 · concatenate.10" }).click();
    const expected = first.ends.find(({ end }) => end === 30);
    assert.deepEqual({ end: await now(endOf(page)), ...(await numbers(page)) }, expected);
  }));

test("undo, redo and reset", () =>
  withPage({}, async (page) => {
    const button = (name) => page.locator("#drag").getByRole("button", { name, exact: true });
    assert.ok(await button("Undo").isDisabled());
    await drag(page, 4);
    const dragged = await numbers(page);
    await button("Undo").click();
    assert.deepEqual(await numbers(page), first.original);
    await button("Redo").click();
    assert.deepEqual(await numbers(page), dragged);
    await button("Reset").click();
    assert.deepEqual(await numbers(page), first.original);
    await page.keyboard.press("Control+z");
    assert.deepEqual(await numbers(page), dragged);
  }));

test("the address holds the state: reload and Back restore it", () =>
  withPage({}, async (page) => {
    await drag(page, 4);
    const dragged = await numbers(page);
    const address = await hash(page);
    assert.match(address, /^#v2\/drag\/drag=m=varied_temp_sizes;e=\d+\.16\.31/);
    await page.reload();
    await awake(page);
    assert.deepEqual(await numbers(page), dragged);
    assert.equal(await now(endOf(page)), 31);

    await page.locator("#drag").getByLabel("Module", { exact: true }).selectOption("mlp_grad");
    await page.locator("#drag .task", { hasText: "multiply_add_fusion.4" }).waitFor();
    const other = golden.find(({ module }) => module === "mlp_grad");
    assert.deepEqual(await numbers(page), other.original);
    await page.goBack();
    await page.locator("#drag .task", { hasText: "sort.6" }).waitFor();
    assert.equal(await hash(page), address);
    assert.deepEqual(await numbers(page), dragged);
    await page.goForward();
    await page.locator("#drag .task", { hasText: "multiply_add_fusion.4" }).waitFor();
    assert.deepEqual(await numbers(page), other.original);
  }));

test("every module opens with the sizes the engine computes natively", () =>
  withPage({}, async (page) => {
    const chooser = page.locator("#drag").getByLabel("Module", { exact: true });
    for (const { module, original } of golden) {
      await chooser.selectOption(module);
      await page.waitForFunction(
        (wanted) => document.querySelector("#drag .card").dataset.total === String(wanted.total),
        original,
      );
      assert.deepEqual(await numbers(page), original, module);
    }
  }));

test("the text can be changed; an error is shown at its line and the last picture stays", () =>
  withPage({}, async (page) => {
    await page.locator("#drag summary", { hasText: "HLO text" }).click();
    const area = page.locator("#drag").getByLabel("HLO text of the module");
    const text = await area.inputValue();
    assert.ok(text.startsWith("HloModule jit_varied_temp_sizes"));
    const line = 1 + text.slice(0, text.indexOf("%sort.6 = f32[1000]")).split("\n").length - 1;
    await area.fill(text.replace("%sort.6 = f32[1000]{0} sort(", "%sort.6 = f32[1000]{0} sort(%nobody, "));
    await page.locator("#drag .problems button", { hasText: `line ${line},` }).waitFor();
    await page.locator("#drag").getByText("this is the last picture that could be drawn").waitFor();
    assert.deepEqual(await numbers(page), first.original);
    assert.equal(await area.getAttribute("aria-invalid"), "true");

    // A larger slice makes a larger heap; the address carries the text.
    await area.fill(text.replaceAll("f32[1000]{0} sort(", "f32[1000]{0} sort( "));
    await page.waitForFunction(() => document.querySelector("#drag .problems").children.length === 0);
    assert.deepEqual(await numbers(page), first.original);
    assert.match(await hash(page), /^#v2\/drag\/drag=x=/);
    await page.reload();
    await awake(page);
    assert.deepEqual(await numbers(page), first.original);
    assert.equal(await page.locator("#drag").getByLabel("Module", { exact: true }).inputValue(), "own");
  }));

test("hovering anything lights it everywhere, the line of the text too", () =>
  withPage({ path: "#v1;m=varied_temp_sizes;text;table" }, async (page) => {
    const lit = () => page.evaluate(() => [...document.querySelectorAll("#drag .band.lit")].length);
    await page.locator("#drag tbody tr", { hasText: "sort.10" }).first().hover();
    await settled(page);
    assert.equal(await lit(), 6, "a bar, a band, and one in the heap of each packer");
    assert.equal(await page.locator("#drag .strip.lit:not(.gone)").count(), 1);
    await page.locator("#drag .pane textarea").hover({ position: { x: 60, y: 100 } });
    await settled(page);
    assert.equal(await lit(), 6, "from the text to the figures");
    await page.locator("#drag .heap svg .band.mate").first().hover();
    await settled(page);
    assert.equal(await page.locator("#drag tbody tr.lit").count(), 1, "from the heap to the table");
  }));

test("a click on the map selects; Escape puts it down", () =>
  withPage({}, async (page) => {
    await page.locator("#drag .heap svg .band.mate").first().click();
    await settled(page);
    assert.doesNotMatch(await page.locator("#drag .task").innerText(), /sort\.6 /);
    await page.keyboard.press("Escape");
    await settled(page);
    assert.match(await page.locator("#drag .task").innerText(), /Choose a value/);
    assert.equal(await page.locator("#drag").getByRole("slider").count(), 0);
  }));

test("reduced motion: nothing moves by itself, and the same is said", () =>
  withPage({ reducedMotion: true }, async (page) => {
    await endOf(page).focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.getAnimations().filter((a) => a.timeline instanceof DocumentTimeline).length), 0);
    assert.match(await page.locator("#drag .card").innerText(), /no longer shares with concatenate\.10/);
  }));

test("moved bands glide when motion is welcome, and the page then rests", () =>
  withPage({}, async (page) => {
    await endOf(page).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
    assert.ok((await page.evaluate(() => document.getAnimations().filter((a) => a.timeline instanceof DocumentTimeline).length)) > 0);
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => document.getAnimations().filter((a) => a.timeline instanceof DocumentTimeline).length), 0);
  }));

test("the figures stay where they are while an end is pulled", () =>
  withPage({}, async (page) => {
    const shifts = page.evaluate(
      () =>
        new Promise((done) => {
          let sum = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) sum += entry.value;
            // From here on only: before, the chapters above came, and the page went to the figure.
          }).observe({ type: "layout-shift" });
          setTimeout(() => done(sum), 2500);
        }),
    );
    await endOf(page).focus();
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press("ArrowRight");
      await settled(page);
    }
    assert.ok((await shifts) < 0.01, `layout shifts add up to ${await shifts}`);
  }));

for (const scheme of ["light", "dark"]) {
  test(`is accessible with text and table open, ${scheme}`, () =>
    withPage({ scheme, path: "#v1;m=mlp_grad;all;table;text" }, async (page) => {
      await expectAccessible(page);
      await screenshot(page, `open-1280-${scheme}`);
    }));
  test(`has no sideways scroll on a narrow screen, ${scheme}`, () =>
    withPage({ width: 360, scheme, touch: true, path: "#v1;m=varied_temp_sizes;table;text" }, async (page) => {
      await expectNoSidewaysScroll(page);
      await expectAccessible(page);
      await endOf(page).focus();
      for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
      await screenshot(page, `dragged-360-${scheme}`);
    }));
}

test("a few hundred buffers follow the keys; how fast is for the record", () =>
  withPage({ path: "#v1;m=transformer_train" }, async (page) => {
    await page.locator("#drag .task", { hasText: "copy_bitcast_fusion" }).waitFor();
    const handle = endOf(page);
    await handle.focus();
    const times = await handle.evaluate((element) => {
      const out = [];
      for (let i = 0; i < 30; i++) {
        const from = performance.now();
        element.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight", bubbles: true, cancelable: true }));
        out.push(performance.now() - from);
      }
      return out.sort((a, b) => a - b);
    });
    // For the record; the bar itself depends on the machine.
    console.log(`a step of a drag: median ${times[15].toFixed(1)} ms, slowest ${times[29].toFixed(1)} ms`);
    assert.equal(times.length, 30);
  }));

test("a finger drags too", () =>
  withPage({ width: 360, height: 740, touch: true }, async (page) => {
    const handle = endOf(page);
    await handle.scrollIntoViewIfNeeded();
    const column = await columnWidth(page);
    await handle.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await handle.boundingBox();
    const client = await page.context().newCDPSession(page);
    const touch = (type, dx) =>
      client.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: dx === undefined ? [] : [{ x: x + width / 2 + dx, y: y + height / 2 }],
      });
    await touch("touchStart", 0);
    for (let i = 1; i <= 4; i++) await touch("touchMove", i * column);
    await touch("touchEnd");
    await settled(page);
    const expected = first.ends[3];
    assert.deepEqual({ end: await now(handle), ...(await numbers(page)) }, expected);
    assert.equal(await page.evaluate(() => visualViewport.scale), 1);
    await screenshot(page, "touched-360-light", { fullPage: false });
  }));

test("forced colours, print and 320 px keep everything readable", async () => {
  await withPage({ forcedColors: true }, async (page) => {
    await screenshot(page, "forced-colors-1280", { fullPage: false });
    await expectAccessible(page, { whole: true });
  });
  await withPage({ width: 320, height: 640 }, async (page) => {
    await expectNoSidewaysScroll(page);
    await screenshot(page, "page-320");
  });
  await withPage({ scheme: "dark" }, async (page) => {
    await page.emulateMedia({ media: "print" });
    await screenshot(page, "print");
    assert.ok(await page.locator("#drag").getByRole("button", { name: "Undo" }).isHidden());
  });
});

test("an address with a text that cannot be read says what is wrong", async () => {
  let address;
  await withPage({ path: "#v1;m=varied_temp_sizes;text" }, async (page) => {
    await page.locator("#drag").getByLabel("HLO text of the module").fill("HloModule broken\n\nENTRY main {\n  ROOT a = f99[] nothing()\n}\n");
    await page.locator("#drag .problems button").first().waitFor();
    address = await hash(page);
  });
  await withAnyPage({ path: address }, async (page) => {
    await page.locator("#drag .problems button", { hasText: "line 4," }).first().waitFor();
    await page.getByText("what is wrong stands under it").waitFor();
    await page.locator("#drag").getByLabel("Module", { exact: true }).selectOption("donation_swap");
    await page.locator("#drag .task", { hasText: "copy" }).waitFor();
  });
});
