// Chapters 12, 13 and 19: fragmentation, the dump files with a reader's own, and the questions.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gunzipSync } from "node:zlib";
import { expectAccessible, expectNoSidewaysScroll, screenshot, settled, withPage } from "./harness.mjs";

// Written by `UPDATE=1 cargo test -p bufferscope-web` (web/src/fragmentation.rs).
const golden = JSON.parse(readFileSync(new URL("fragmentation.json", import.meta.url), "utf8"));
const native = (module, alignment) => golden.find((line) => line.module === module && line.alignment === alignment);
const grouped = (n) => n.toLocaleString("en-US");

/** A file that XLA itself wrote. */
const xla = (program, name) =>
  gunzipSync(readFileSync(new URL(`../../crates/dumps/tests/golden/cpu/${program}/${name}.gz`, import.meta.url)));
const FILES = ["buffer-assignment.txt", "values.txt", "live-range.txt", "memory-usage-report.txt"];

/** The page at a figure, awake. */
const withFigure = (id, options, work) =>
  withPage({ path: `#${id}`, ...options }, async (page) => {
    const figure = page.locator(`#${id}`);
    await figure.scrollIntoViewIfNeeded();
    await figure.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    await work(page, figure);
  });

async function predict(page, id, choice) {
  const box = page.locator(`[data-predict=${id}]`);
  await box.locator("label").nth(choice).click();
  await box.getByRole("button", { name: "See what the engine says" }).click();
  await settled(page);
  const verdict = await box.locator(".verdict").innerText();
  await box.getByRole("button", { name: "Answer again" }).click();
  await settled(page);
  return verdict;
}

const puzzle = (page, id) => page.locator(`[data-puzzle=${id}] .verdict`).innerText();
const button = (figure, name) => figure.getByRole("button", { name, exact: true });
const parts = async (figure) => (await figure.locator("[data-gap]").getAttribute("data-gap")).split(" ").map(Number);

test("fragmentation: the slider by keys shows what is computed natively, and is undone", () =>
  withFigure("gap", {}, async (page, figure) => {
    const expected = (alignment) => {
      const line = native("varied_temp_sizes", alignment);
      return [line.floor, line.bound, line.free, line.assigned];
    };
    assert.deepEqual(await parts(figure), expected(64));
    await figure.getByRole("slider").focus();
    for (const [key, alignment] of [["ArrowRight", 128], ["ArrowRight", 256], ["End", 4096], ["Home", 1], ["ArrowRight", 2]]) {
      await page.keyboard.press(key);
      await settled(page);
      assert.deepEqual(await parts(figure), expected(alignment), `at ${alignment}`);
      const sizes = await figure.locator(".packer svg").evaluateAll((all) => all.map((svg) => svg.getAttribute("aria-label")));
      native("varied_temp_sizes", alignment).packers.forEach((size, n) => assert.ok(sizes[n].endsWith(`${grouped(size)} B`), sizes[n]));
    }
    assert.match(await figure.locator(".answer").innerText(), /At an alignment of 2 B/);
    assert.match(await figure.getByRole("status").last().innerText(), /At an alignment of 2 B/, "said aloud");
    await button(figure, "Undo").click();
    await settled(page);
    assert.deepEqual(await parts(figure), expected(1));
    await button(figure, "Reset").click();
    await settled(page);
    assert.deepEqual(await parts(figure), expected(64));
    await button(figure, "Alignment: double").click();
    await settled(page);
    assert.deepEqual(await parts(figure), expected(128));
    await page.reload();
    await page.waitForFunction(() => !document.getElementById("startup"));
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("[data-gap]").waitFor();
    await settled(page);
    assert.deepEqual(await parts(figure), expected(128), "the address has it");
  }));

test("fragmentation: most modules lose nothing, and that is said", () =>
  withFigure("gap", {}, async (page, figure) => {
    await figure.getByLabel("Module").selectOption("mlp_grad");
    await figure.locator(".answer", { hasText: "nothing is lost" }).waitFor();
    const { floor, assigned } = native("mlp_grad", 64);
    assert.equal(floor, assigned);
    assert.match(await figure.locator(".part.bound").innerText(), /this is it/);
  }));

test("fragmentation: a prediction, right and wrong, and a puzzle", () =>
  withFigure("gap", {}, async (page, figure) => {
    const [from, to] = [64, 4096].map((a) => native("varied_temp_sizes", a).assigned);
    const right = [1.1, 1.5, 3].findIndex((most) => to / from <= most);
    assert.match(await predict(page, "align", right), new RegExp(`^Right\\. .*${grouped(from)} B to ${grouped(to)} B`));
    assert.match(await predict(page, "align", (right + 1) % 4), /^Not so\. /);
    const { floor } = native("varied_temp_sizes", 64);
    const goal = floor + Math.floor(floor / 5);
    const best = golden.filter((l) => l.module === "varied_temp_sizes" && l.assigned <= goal).at(-1).alignment;
    assert.match(await puzzle(page, "aligned"), /^Not yet\. .*larger alignment is possible/);
    for (let at = 64; at < best; at *= 2) await button(figure, "Alignment: double").click();
    await settled(page);
    assert.match(await puzzle(page, "aligned"), /^Solved\. /);
    await button(figure, "Alignment: double").click();
    await settled(page);
    assert.match(await puzzle(page, "aligned"), /^Not yet\. .*the goal is/);
  }));

test("fragmentation: the exact search closes in, and its optimum stands beside the packers", () =>
  withFigure("gap", {}, async (page, figure) => {
    const search = figure.locator("[data-search]");
    await figure.locator("[data-search=over]").waitFor();
    assert.match(await search.innerText(), /The optimum is 22,660 B: proved/);
    assert.match((await search.getAttribute("data-found")), /^22660 22660 \d+$/);
    assert.match(await figure.locator(".part.bound").innerText(), /22,660 B, proved/);
    assert.match(await figure.locator(".answer").innerText(), /takes 22,660 B: 2,368 B less, and none is smaller/);
    assert.match(await figure.locator(".packer.smallest svg").getAttribute("aria-label"), /the optimum: 22,660 B$/);
    assert.match(await figure.locator(".gap-scene").textContent(), /optimum 22,660/);
    await button(figure, "Alignment: double").click();
    await settled(page);
    assert.ok((await search.getAttribute("data-found")) === null || !(await search.innerText()).includes("22,660"), "what was found belongs to the last alignment");
    await figure.locator("[data-search=over]").waitFor();
    const [bound, height] = (await search.getAttribute("data-found")).split(" ").map(Number);
    const line = native("varied_temp_sizes", 128);
    assert.ok(bound === height && line.bound <= height && height <= line.assigned, `${bound} ${height}`);
  }));

// Written by `UPDATE=1 cargo test -p bufferscope-web` (web/src/packed_by_hand.rs).
const heaps = JSON.parse(readFileSync(new URL("by-hand.json", import.meta.url), "utf8"));
const board = (figure) => figure.locator(".by-hand");
const offsets = async (figure) => (await board(figure).getAttribute("data-offsets")).split(" ").map(Number);
const height = (figure) => board(figure).getAttribute("data-height");
const bandList = (figure) => figure.getByRole("combobox", { name: "Band" });
const grip = (figure) => figure.getByRole("slider");
const choose = async (page, figure, band) => {
  await bandList(figure).selectOption(String(band));
  await settled(page);
};
/** Drags the selected band by so many bytes, from its middle. */
async function drag(page, figure, bytes) {
  await figure.locator(".packing").scrollIntoViewIfNeeded();
  await settled(page);
  const list = bandList(figure);
  const label = await list.evaluate((select) => select.selectedOptions[0].textContent);
  const size = Number(label.match(/([\d,]+) B$/)[1].replaceAll(",", ""));
  const box = await grip(figure).boundingBox();
  const [x, y, scale] = [box.x + box.width / 2, box.y + box.height / 2, box.height / size];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y - (bytes * scale) / 2, { steps: 3 });
  await page.mouse.move(x, y - bytes * scale, { steps: 3 });
  await page.mouse.up();
  await settled(page);
}

test("by hand: the heights are those computed natively, for every heap", () =>
  withFigure("by-hand", {}, async (page, figure) => {
    for (const heap of heaps) {
      await figure.getByRole("combobox", { name: "Heap" }).selectOption(heap.id);
      await figure.locator(`[data-case=${heap.id}][data-best="${heap.best}"]`).waitFor();
      assert.deepEqual(await offsets(figure), heap.fitOffsets, `${heap.id} begins with best fit`);
      assert.equal(await height(figure), String(heap.fit));
      const rows = await figure.locator(".heights tbody tr").allInnerTexts();
      const expected = [heap.floor, heap.best, heap.fit, heap.merge, heap.split, heap.fit];
      expected.forEach((bytes, n) => assert.ok(rows[n].includes(`${grouped(bytes)} B`), `${heap.id}: ${rows[n]}`));
      assert.match(rows[2], /Best fit, (largest|longest-lived) first/, "the algorithm is named");
      await button(figure, "Show the optimum").click();
      await settled(page);
      assert.deepEqual(await offsets(figure), heap.bestOffsets);
      assert.equal(await height(figure), String(heap.best));
      assert.match(await puzzle(page, "by-hand"), /^Not yet\. .*it was shown, and not packed by hand/);
      await button(figure, "Show fast merge").click();
      await settled(page);
      assert.equal(await height(figure), String(heap.merge));
      await button(figure, "Show fast split").click();
      await settled(page);
      assert.equal(await height(figure), String(heap.split));
      await button(figure, "Each at its own addresses").click();
      await settled(page);
      assert.ok(Number(await height(figure)) > heap.fit);
    }
  }));

test("by hand: a prediction, right and wrong", () =>
  withFigure("by-hand", {}, async (page) => {
    const conv = heaps.find((heap) => heap.id === "conv");
    const packers = [conv.fit, conv.merge, conv.split];
    const right = packers.indexOf(Math.min(...packers));
    assert.match(await predict(page, "fastest", right), new RegExp(`^Right\\. .*fast merge ${grouped(conv.merge)} B`));
    assert.match(await predict(page, "fastest", (right + 1) % 3), /^Not so\. /);
  }));

test("by hand: solved with the pointer; what overlaps is named; undone, redone, reset, and in the address", () =>
  withFigure("by-hand", {}, async (page, figure) => {
    const [small] = heaps;
    await figure.locator(`[data-best="${small.best}"]`).waitFor();
    const first = await offsets(figure);
    // Onto the band that it lives with: not refused, but named, and no packing.
    const [a, b] = [small.names.indexOf("a"), small.names.indexOf("b")];
    await choose(page, figure, b);
    await drag(page, figure, first[a] - first[b]);
    const there = (await offsets(figure))[b];
    assert.ok(Math.abs(there - first[a]) < 200 && there % 64 === 0, `${there}: to the pixel`);
    assert.equal(await height(figure), "none");
    assert.match(await figure.locator(".answer").innerText(), /^This is no packing: a and b are alive together and both have [\d,]+ B at/);
    assert.match(await puzzle(page, "by-hand"), /^Not yet\. This is no packing/);
    assert.ok((await figure.locator(".packing .clash").count()) > 0, "it is seen, too");
    assert.match(await grip(figure).getAttribute("aria-valuetext"), /overlaps a$/);
    await button(figure, "Undo").click();
    await settled(page);
    assert.deepEqual(await offsets(figure), first, "one drag is one entry");
    await button(figure, "Redo").click();
    await settled(page);
    assert.equal(await height(figure), "none");
    await button(figure, "Reset").click();
    await settled(page);
    assert.deepEqual(await offsets(figure), first);

    // From best fit's packing to an optimum, each move with the pointer.
    for (const [band, to] of [["a", 0], ["b", 7168], ["c", 8192], ["d", 0]]) {
      const n = small.names.indexOf(band);
      await choose(page, figure, n);
      const by = to - (await offsets(figure))[n];
      if (by) await drag(page, figure, by);
      assert.equal((await offsets(figure))[n], to, `${band} snaps to ${to}`);
    }
    assert.equal(await height(figure), String(small.best));
    assert.match(await puzzle(page, "by-hand"), /^Solved\. The heap takes 15,360 B, 7,168 B less than best fit's\. This is the optimum/);
    const solved = await offsets(figure);
    assert.match(page.url(), /p\.at=!/);
    await page.reload();
    await page.waitForFunction(() => !document.getElementById("startup"));
    await figure.scrollIntoViewIfNeeded();
    await board(figure).waitFor();
    assert.deepEqual(await offsets(figure), solved, "the address has it");
    await figure.locator(`[data-best="${small.best}"]`).waitFor();
    assert.match(await puzzle(page, "by-hand"), /^Solved\. /);
    await page.goBack();
    await settled(page);
    assert.notDeepEqual(await offsets(figure), solved, "Back goes a move back");
  }));

test("by hand: keys, buttons, hints, the table and what is said", () =>
  withFigure("by-hand", {}, async (page, figure) => {
    const [small] = heaps;
    await figure.locator(`[data-best="${small.best}"]`).waitFor();
    const d = small.names.indexOf("d");
    await choose(page, figure, d);
    await grip(figure).focus();
    const now = async () => (await offsets(figure))[d];
    const from = await now();
    await page.keyboard.press("Shift+ArrowUp");
    await settled(page);
    assert.equal(await now(), from + 64);
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("ArrowUp");
    await settled(page);
    const edge = await now();
    assert.ok(edge > from);
    await page.keyboard.press("ArrowDown");
    await settled(page);
    assert.equal(await now(), from);
    await page.keyboard.press("PageUp");
    await settled(page);
    const free = await now();
    assert.notEqual(await height(figure), "none", "page keys look for free places only");
    assert.ok(free > from);
    await button(figure, "Lowest free place").click();
    await settled(page);
    assert.equal(await now(), 0);
    await page.keyboard.press("Home");
    await button(figure, "Up by 64 B").click();
    await settled(page);
    assert.equal(await now(), 64);
    assert.match(await figure.getByRole("status").last().innerText(), /^d: from 64 to 8,256 B/, "said aloud");
    await grip(figure).focus();
    const band = bandList(figure);
    await page.keyboard.press("ArrowRight");
    await settled(page);
    assert.equal(await band.inputValue(), String(d + 1));
    await button(figure, "Reset").click();
    await settled(page);

    // A hint at a time leads to the optimum.
    for (let n = 0; n < small.names.length && (await height(figure)) !== String(small.best); n++) {
      await button(figure, "Hint: one band").click();
      await settled(page);
      const words = await figure.locator(".hint-words").innerText();
      const [, name, at] = words.match(/^Hint: in one of the smallest packings, (\S+) stands at ([\d,]+)\./);
      assert.equal(await figure.locator(".packing .hinted").count(), 1);
      assert.equal(await band.inputValue(), String(small.names.indexOf(name)), "the hinted band is chosen");
      await button(figure, "Put it there").click();
      await settled(page);
      assert.equal((await offsets(figure))[small.names.indexOf(name)], Number(at.replaceAll(",", "")));
      assert.match(await figure.locator(".hint-words").innerText(), /stands there now/);
    }
    assert.match(await puzzle(page, "by-hand"), /^Solved\. /);
    await figure.locator("details.table > summary").click();
    await settled(page);
    const rows = figure.locator("details.table tbody tr");
    assert.equal(await rows.count(), small.names.length);
    assert.match(await rows.nth(small.names.indexOf("b")).innerText(), /^b\s+8,192\s+1\s/);
  }));

test("by hand: with a finger, first chosen, then moved; the page scrolls over the rest", () =>
  withFigure("by-hand", { width: 360, touch: true }, async (page, figure) => {
    const [small] = heaps;
    const n = small.names.indexOf("a");
    const bands = figure.locator(".packing .layer-band .band");
    await figure.locator(".packing").scrollIntoViewIfNeeded();
    const box = await bands.nth(n).boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    assert.equal(await bandList(figure).inputValue(), String(n));
    const before = await offsets(figure);
    assert.equal(await grip(figure).evaluate((e) => getComputedStyle(e).touchAction), "none");
    assert.equal(await figure.locator(".packing .plot").evaluate((e) => getComputedStyle(e).touchAction), "pan-y");
    const at = await grip(figure).boundingBox();
    const client = await page.context().newCDPSession(page);
    const touch = (type, y) =>
      client.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: at.x + at.width / 2, y }] });
    const y = at.y + at.height / 2;
    await touch("touchStart", y);
    for (const by of [8, 16, 24, 32]) await touch("touchMove", y - by);
    await touch("touchEnd");
    await settled(page);
    const after = await offsets(figure);
    assert.ok(after[n] > before[n], `${before[n]} to ${after[n]}`);
    assert.deepEqual(after.filter((_, k) => k !== n), before.filter((_, k) => k !== n), "no other moved");
  }));

test("by hand: without motion nothing glides, and forced colours tell overlaps", () =>
  withFigure("by-hand", { forcedColors: true, reducedMotion: true }, async (page, figure) => {
    await figure.locator(`[data-best="${heaps[0].best}"]`).waitFor();
    await button(figure, "Show the optimum").click();
    await settled(page);
    const moving = await figure.locator(".packing svg").evaluate((svg) => svg.getAnimations({ subtree: true }).filter((a) => a.playState === "running").length);
    assert.equal(moving, 0);
    await choose(page, figure, 1);
    await grip(figure).focus();
    await page.keyboard.press("Home");
    await settled(page);
    await expectAccessible(page);
    await figure.screenshot({ path: `${process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots"}/by-hand-forced.png` });
  }));

test("files: lines light the pictures, and the pictures light lines", () =>
  withFigure("files", {}, async (page, figure) => {
    const words = figure.locator(".dump-words");
    assert.match(await words.innerText(), /^Line \d+\. Allocation \d+ is one block of 25,028 B/);
    // A line of one value.
    await figure.getByRole("listbox").focus();
    await page.keyboard.press("ArrowDown");
    await settled(page);
    const told = await words.innerText();
    const name = told.match(/^Line \d+\. (\S+) stands in allocation/)[1];
    const label = await figure.locator(".linked-heap svg").getAttribute("aria-label");
    assert.ok(label.endsWith(`lit: ${name}`), label);
    assert.equal(await figure.locator(".linked-heap .band.selected").count(), 1);
    // The other way: another block of the heap, and its lines.
    const box = await figure.locator(".linked-heap .band:not(.selected):not(.mate)").first().boundingBox();
    const at = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(...at);
    await settled(page);
    const lit = await figure.locator(".linked-heap svg").getAttribute("aria-label");
    assert.notEqual(lit, label);
    assert.ok((await figure.locator(".dump-tabs .count").allInnerTexts()).every((n) => Number(n) > 0), "lines in all four files");
    await page.mouse.click(...at);
    await settled(page);
    const now = lit.split("lit: ")[1];
    assert.match(await words.innerText(), new RegExp(`^Line \\d+\\. ${now.replaceAll(".", "\\.")} stands in`));
    await page.mouse.move(2, 2);
    await button(figure, "Line about this value: on").click();
    await settled(page);
    assert.match(await words.innerText(), /Allocation \d+ is one block/, "its allocation's own line");
  }));

test("files: tabs by keys, search, a long file of which few lines are in the document", () =>
  withFigure("files", {}, async (page, figure) => {
    await figure.getByRole("tab").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await settled(page);
    assert.equal(await figure.getByRole("tab", { selected: true }).innerText().then((t) => t.split("\n")[0].trim()), "live-range.txt");
    await figure.getByRole("searchbox").fill("(peak)");
    await settled(page);
    assert.equal(await figure.locator(".found[role=status]").innerText(), "in 1 line");
    assert.match(await puzzle(page, "peak"), /^Not yet\. /);
    await figure.getByRole("searchbox").press("Enter");
    await settled(page);
    assert.match(await puzzle(page, "peak"), /^Solved\. /);
    assert.match(await figure.locator(".dump-words").innerText(), /Most is alive at step \d+, where \S+ runs/);
    assert.ok((await figure.locator(".dump-line").count()) < 40, "only the window's lines");
    const setSize = Number(await figure.locator(".dump-line").first().getAttribute("aria-setsize"));
    assert.ok(setSize > 100);
    await page.reload();
    await page.waitForFunction(() => !document.getElementById("startup"));
    await figure.scrollIntoViewIfNeeded();
    await figure.locator(".dump-line.current").waitFor();
    assert.match(await figure.locator(".dump-words").innerText(), /Most is alive at step/, "the address has file and line");
  }));

test("files: a prediction, right and wrong", () =>
  withFigure("files", {}, async (page) => {
    assert.match(await predict(page, "rows", 2), /^Right\. The rows add up to [\d,]+ B, the allocation has 25,028 B/);
    assert.match(await predict(page, "rows", 0), /^Not so\. /);
  }));

test("files: a reader's own, compared with what the engine writes; a broken one is named", () =>
  withFigure("files", {}, async (page, figure) => {
    const program = "mlp_grad";
    const own = [...FILES.map((name) => [name, xla(program, name)]), ["module.txt", xla(program, "module.txt")]];
    const file = ([name, buffer]) => ({ name: `module_0001.jit_f.${name}`, mimeType: "text/plain", buffer });
    await figure.locator("input[type=file]:not(.state-file)").setInputFiles(own.map(file));
    await figure.getByRole("tab", { name: /module_0001/ }).first().waitFor();
    await settled(page);
    assert.equal(await figure.getByRole("tab").count(), 4);
    assert.match(await figure.locator(".compared").innerText(), /Byte for byte what the engine writes/);
    assert.ok((await figure.locator(".linked-heap .band").count()) > 3, "a picture from the files alone");

    // Changed in one place, cut off, and no dump at all.
    const changed = own[0][1].toString().replace("offset=0", "offset=64");
    const at = changed.split("\n").findIndex((line) => line.includes("offset=64")) + 1;
    const cut = own[2][1].subarray(0, own[2][1].length / 2 - 3);
    await figure.locator("input[type=file]:not(.state-file)").setInputFiles(
      [["buffer-assignment.txt", Buffer.from(changed)], ["live-range.txt", cut], ["module.txt", own[4][1]],
        ["photo.png", Buffer.from([0x89, 0x50, 0xff, 0])]].map(file),
    );
    await figure.locator(".remarks", { hasText: "photo.png" }).waitFor();
    await settled(page);
    assert.match(await figure.locator(".compared").innerText(), new RegExp(`in line ${at}\\.|first in line ${at}\\.`));
    await figure.getByRole("tab").nth(1).click();
    await settled(page);
    assert.match(await figure.locator(".problems").innerText(), /line \d+, column \d+ .*cut off/);
    await figure.locator(".problems button").first().click();
    await settled(page);
    assert.match(await figure.locator(".dump-words").innerText(), /cut off/);
    await button(figure, "Close your files").click();
    await settled(page);
    assert.match(await figure.locator(".dump-words").innerText(), /^Line/);
    assert.equal(await figure.getByRole("tab").first().innerText().then((t) => t.split("\n")[0].trim()), "buffer-assignment.txt");
  }));

test("files: dropped on the figure", () =>
  withFigure("files", {}, async (page, figure) => {
    const text = xla("mlp_grad", "buffer-assignment.txt").toString();
    const transfer = await page.evaluateHandle((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "dropped.txt"));
      return data;
    }, text);
    await figure.locator(".files").dispatchEvent("dragover", { dataTransfer: transfer });
    await settled(page);
    assert.equal(await figure.locator(".files.dropping").count(), 1);
    await figure.locator(".files").dispatchEvent("drop", { dataTransfer: transfer });
    await figure.getByRole("tab", { name: /dropped\.txt/ }).waitFor();
    await settled(page);
    assert.match(await figure.locator(".remarks").innerText(), /no picture/);
  }));

test("questions: each has its figure, and links open states elsewhere", () =>
  withFigure("ask-share", {}, async (page, figure) => {
    assert.equal(await page.locator("#questions .ask").count(), 6);
    assert.equal(await page.locator("#questions .figure").count(), 6);
    assert.match(await figure.locator(".answer").innerText(), /^They share bytes\./);
    assert.match(await puzzle(page, "could"), /^Not yet\. They share/);
    // From the first that is written, try the others until two could share and do not.
    const other = figure.getByLabel("The other");
    const values = await other.locator("option").evaluateAll((all) => all.map((o) => o.value));
    await figure.locator("select").first().selectOption(values[0]);
    const seen = new Set();
    for (const value of values) {
      await other.selectOption(value);
      await settled(page);
      const said = await figure.locator(".answer").innerText();
      seen.add(said.split(/[:.,]/)[0]);
      if (said.startsWith("They could share")) break;
    }
    assert.ok(seen.has("They must not share"), [...seen].join("; "));
    assert.match(await puzzle(page, "could"), /^Solved\. They could share, and do not/);
    await page.locator("#ask-gap").scrollIntoViewIfNeeded();
    await page.locator("#ask-gap .stage:not(.asleep)").waitFor();
    await page.getByRole("link", { name: /alignment up to 256/ }).click();
    await page.locator("#gap [data-alignment='256']").waitFor();
    await page.waitForFunction(() => document.activeElement?.id === "gap");
    assert.match(page.url(), /#v2\/gap\/gap=m=varied_temp_sizes;p\.alignment=8$/);
  }));

test("questions: a prediction, right and wrong; copies with their reasons", () =>
  withFigure("ask-must", {}, async (page) => {
    assert.match(await predict(page, "must", 0), /^Right\. .*must be one with/);
    assert.match(await predict(page, "must", 1), /^Not so\. /);
    const copies = page.locator("#ask-copy");
    await copies.scrollIntoViewIfNeeded();
    await copies.locator(".stage:not(.asleep)").waitFor();
    await settled(page);
    const first = await copies.locator(".answer").innerText();
    assert.match(first, /moves 256 B from a_2_\.1 to a buffer of its own.* cannot be: a_2_\.1 and multiply_add_fusion are both alive/);
    await copies.getByRole("group", { name: "Copies" }).getByRole("button").nth(1).click();
    await settled(page);
    assert.notEqual(await copies.locator(".answer").innerText(), first);
  }));

test("in forced colours and without motion", () =>
  withFigure("gap", { forcedColors: true, reducedMotion: true }, async (page, figure) => {
    const stroke = (name) => figure.locator(`.gap-scene .band.${name}`).evaluate((e) => getComputedStyle(e).stroke);
    assert.equal(await stroke("floor"), await stroke("packer"), "one colour of the reader's for all outlines");
    await expectAccessible(page);
    await screenshot(page, "fragmentation-forced", { fullPage: false });
  }));

for (const width of [1280, 360, 320]) {
  for (const scheme of ["light", "dark"]) {
    test(`accessible and not too wide at ${width} px, ${scheme}`, () =>
      withFigure("gap", { width, scheme }, async (page) => {
        for (const id of ["gap", "by-hand", "files", "ask-assign", "ask-share", "ask-gap", "ask-must", "ask-copy", "ask-files"]) {
          await page.locator(`#${id}`).scrollIntoViewIfNeeded();
          await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
        }
        await settled(page);
        if (width !== 320) await expectAccessible(page);
        await expectNoSidewaysScroll(page);
        for (const id of ["fragmentation", "four-files-with-the-answer", "questions"]) {
          await page.locator(`#${id}`).screenshot({ path: `${process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots"}/${id}-${width}-${scheme}.png` });
        }
      }));
  }
}
