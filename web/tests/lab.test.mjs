// The lab: opening of every kind, the linked views, and what happens when the worker does not do what it should.
import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { dist, expectAccessible, expectNoSidewaysScroll, screenshot, settled, withPage } from "./harness.mjs";

const LONG = { timeout: 90_000 };
const sample = (name) => join(dist, "modules", name);

/** Puts files into the page's picker, as a reader does. */
const open = (page, files) => page.locator("#open-files").setInputFiles(files);

/** Waits until what is being opened or read is there, and its list of values with it. */
const chosen = async (page) => {
  await page.locator(".busy").waitFor({ state: "detached", ...LONG });
  await page.locator("#values tbody tr").first().waitFor(LONG);
};

/** Unfolds the ways to open something else. */
const unfold = async (page) => {
  const ways = page.locator("details.reopen");
  if (!(await ways.evaluate((d) => d.open))) await ways.locator("> summary").click();
};

/** Shows the list of what was opened again: with a module chosen it is one line. */
const list = async (page) => {
  const all = page.locator("details.listed");
  if (!(await all.evaluate((d) => d.open))) await all.locator("> summary").click();
};

const onLab = (options, body) => withPage({ ...options, path: `lab.html${options.path ?? ""}` }, body);

test("a dump folder in a zip: modules sorted by peak, what stands out, XLA's own beside ours", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, sample("donated_loop_reads.zip"));
    const rows = page.locator(".modules tbody tr");
    await rows.first().waitFor(LONG);
    assert.equal(await rows.count(), 3);
    // Opening has stepped back behind what was opened.
    assert.equal(await page.locator("details.reopen").evaluate((d) => d.open), false);
    const peaks = await rows.evaluateAll((all) => all.map((row) => Number(row.children[2].textContent.split(" ")[0].replaceAll(",", ""))));
    assert.deepEqual(peaks, peaks.toSorted((a, b) => b - a));
    await page.getByRole("button", { name: /^jit_loop_reads_mid/ }).click();
    await chosen(page);
    // The list has made room, the answer has the keyboard, and a button brings the list back.
    const listed = page.locator("details.listed");
    assert.equal(await listed.evaluate((d) => d.open), false);
    assert.ok((await page.locator(".open").boundingBox()).height < 80, "one line");
    assert.equal(await page.evaluate(() => document.activeElement.id), "bench-title");
    const answer = await page.locator("#bench-title").boundingBox();
    assert.ok(answer.y >= 0 && answer.y < 260, `the answer begins at ${answer.y}`);
    await list(page);
    assert.equal(await rows.first().isVisible(), true);
    assert.match(await page.locator(".headline").textContent(), /8,388,7\d\d B/);
    assert.match(await page.locator(".headline").textContent(), /add up to the files' own total/);
    assert.match(await page.locator("#difference summary").textContent(), /ours is the same/);
    // XLA's own and ours.
    const ours = page.getByRole("button", { name: /^Ours/ });
    await ours.click();
    await chosen(page);
    assert.equal(await ours.getAttribute("aria-pressed"), "true");
    await screenshot(page, "lab-folder");
    await expectAccessible(page);
  }));

test("a folder picked whole; a compile that failed is taken apart", () =>
  onLab({ width: 1280, scheme: "dark" }, async (page) => {
    const folder = join(mkdtempSync(join(tmpdir(), "lab-")), "dump");
    mkdirSync(folder);
    writeFileSync(join(folder, "module_0003.jit_t.cpu_after_optimizations.txt"), readFileSync(sample("transformer_train.txt")));
    writeFileSync(join(folder, "module_0007.jit_u.cpu_after_optimizations.txt.gz"), gzipSync(readFileSync(sample("unet_skip.txt"))));
    writeFileSync(join(folder, "error.txt"), "E0101 RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.\n");
    await page.locator("#open-folder").setInputFiles(folder);
    const rows = page.locator(".modules tbody tr");
    await rows.first().waitFor(LONG);
    assert.equal(await rows.count(), 2);
    assert.match(await page.locator(".oom").textContent(), /The program needs .*15\.8 GiB|too much/);
    await rows.first().getByRole("button").click();
    await chosen(page);
    await screenshot(page, "lab-folder-dark");
    await expectAccessible(page);
  }));

test("pasted text, HLO with a mistake, a Python file and a broken archive each say what they are", () =>
  onLab({}, async (page) => {
    await page.getByText("Paste text").click();
    await page.locator("#pasted").fill("HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n  ROOT n = f32[1024]{0} negate(p)\n}\n");
    await page.getByRole("button", { name: "Open the text" }).click();
    await chosen(page);
    assert.equal(await page.locator("#bench-title").textContent(), "m");
    await unfold(page);
    await page.locator("#pasted").fill("HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n  ROOT n = f32[1024]{0} negate(q)\n}\n");
    await page.getByRole("button", { name: "Open the text" }).click();
    await page.locator("#bench .notes li.wrong").first().waitFor(LONG);
    assert.match(await page.locator("#bench .notes").textContent(), /:5:\d+.*q/);
    for (const [name, text, says] of [
      ["model.py", "import jax\nimport jax.numpy as jnp\n\ndef f(x):\n    return x\n", /Python program.*xla_dump_to/],
      ["m.zip", "PK\u0003\u0004 and then nothing", /m\.zip/],
      ["old.txt", "", /empty/],
    ]) {
      await open(page, { name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });
      await page.locator(".busy").waitFor({ state: "detached", ...LONG });
      await page.locator("#there .notes").waitFor(LONG);
      assert.match(await page.locator("#there").textContent(), says, name);
      assert.equal(await page.locator("#bench").count(), 0);
    }
    await expectAccessible(page);
  }));

test("the answer comes first: how much, what makes the peak, what would change it", () =>
  onLab({ width: 1280, height: 900 }, async (page) => {
    await open(page, sample("attention_out_of_memory.zip"));
    await page.locator(".oom").first().waitFor(LONG);
    // What is above the list says nothing that a line of it says.
    const said = await page.locator(".oom.of-list > p").allTextContents();
    assert.match(said.join(" "), /3 of the modules did not fit.*What the text calls HLO temporaries is everything/);
    assert.doesNotMatch(said.join(" "), /too much/);
    assert.equal(await page.locator(".modules .wrong").filter({ hasText: /too much/ }).count(), 3);
    await page.locator(".modules tbody tr").first().getByRole("button").click();
    await chosen(page);
    assert.equal(await page.locator(".oom").first().isVisible(), false);
    assert.match(await page.locator("#packing").textContent(), /^No packing can fit: .* of temporaries are alive at one step/);
    const size = page.locator("#verdict section").first();
    assert.match(await size.textContent(), /What the text calls HLO temporaries is everything/);
    await size.locator(".message summary").click();
    assert.match(await size.locator(".message").textContent(), /RESOURCE_EXHAUSTED|Ran out of memory/);
    await size.locator(".message summary").click();
    // Seen without scrolling.
    const box = await page.locator("#verdict .sum").boundingBox();
    assert.ok(box.y + box.height < 900, `the answer begins at ${box.y}`);
    assert.match(await page.locator(".too-many").textContent(), /There were [\d,]+ B.*too much/);
    // What makes the peak adds up to no more than it, largest first, and each leads to its value.
    const makers = await page.locator(".makers:not(#beside-temps) .number.quiet").allTextContents();
    const shares = makers.map((m) => Number(m.replace(" %", "")));
    assert.deepEqual(shares, shares.toSorted((a, b) => b - a));
    assert.ok(shares[0] > 0 && shares.reduce((a, b) => a + b, 0) <= 102, makers.join(" "));
    // What is no temporary is named too, with its share of all: here an output that is larger than all of them.
    assert.match(await page.locator("#beside-temps li").first().textContent(), /32\.0 GiB67 %.*output/);
    const kinds = await page.locator(".shares .number.quiet").allTextContents();
    const sum = kinds.reduce((a, k) => a + Number.parseFloat(k), 0);
    assert.ok(Math.abs(sum - 100) < 0.5, kinds.join(" "));
    await page.locator(".makers button").first().click();
    await page.locator("#detail h3").waitFor(LONG);
    await screenshot(page, "lab-verdict");
    await expectAccessible(page);
    // The changes that help most come into the same place.
    await page.locator("#try-changes").click();
    const stop = page.getByRole("button", { name: "Stop, and keep what was found" });
    const found = page.locator(".try-changes").getByRole("button", { name: /what was tried/i });
    await stop.or(found).first().waitFor(LONG);
    if (await stop.isVisible()) await stop.click({ timeout: 2000 }).catch(() => {});
    await found.waitFor(LONG);
  }));

test("many donations: all at once, folded in words, found by a search", () =>
  onLab({ width: 1280, height: 900 }, async (page) => {
    await open(page, sample("attention_out_of_memory.zip"));
    await page.getByRole("button", { name: /^jit_too_many_arguments/ }).click();
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    // Nothing that is said touches the buttons above it.
    const gap = await page.evaluate(() => {
      const above = document.querySelector("#kept").closest(".actions").getBoundingClientRect().bottom;
      return document.querySelector("#outcome p").getBoundingClientRect().top - above;
    });
    assert.ok(gap >= 6, `${gap}`);
    const options = page.locator("#donation option");
    await options.first().waitFor({ state: "attached", ...LONG });
    const all = await options.count();
    assert.ok(all >= 20, `${all}`);
    assert.match(await page.locator("#donation optgroup").first().getAttribute("label"), /^Can be donated \(\d+\)$/);
    await page.locator("#donation-filter").fill("Argument XS[7]");
    await page.waitForFunction((n) => document.querySelectorAll("#donation option").length < n, all);
    assert.ok((await options.allTextContents()).every((o) => /argument 7 /.test(o)));
    await page.locator("form[aria-label=Donation] button").click();
    await page.locator("#tried").waitFor(LONG);
    assert.match(await page.locator("#tried-note").textContent(), /Tried: argument 7 is donated/);
    assert.equal(await page.locator(".all-edits").count(), 0);
    await page.getByRole("button", { name: "Reset" }).click();
    await page.locator("#tried").waitFor({ state: "detached" });
    await page.locator("#donate-all").click();
    await page.locator("#tried").waitFor(LONG);
    const note = page.locator("#tried-note");
    assert.match(await note.locator("> p").first().textContent(), /^Tried: 20 arguments are donated: .* and 17 more\.$/);
    assert.equal(await note.locator(".all-edits").evaluate((d) => d.open), false);
    assert.equal(await note.locator(".all-edits li").count(), 20);
    // It does not look like what went wrong.
    const ground = (selector) => page.locator(selector).evaluate((e) => getComputedStyle(e).backgroundColor);
    await list(page);
    assert.notEqual(await ground("#tried-note"), await ground(".oom"));
    await page.locator("#outcome .all-edits summary").click();
    await page.locator("#outcome .all-edits").getByRole("button", { name: /^Take back/ }).first().click();
    await page.waitForFunction(() => /19 arguments are donated/.test(document.getElementById("tried-note")?.textContent ?? ""), undefined, LONG);
    await page.locator("details.listed > summary").click();
    // Each saving is told once; what it leaves out is said, and that it is of the program as it was; what is made is marked.
    await page.locator("#advise").click();
    await page.locator("#advice li").first().waitFor(LONG);
    const changes = await page.locator("#advice li").allTextContents();
    assert.ok(changes.every((c) => c.split("saves").length === 2), changes.join("\n"));
    assert.match(await page.locator("#pane .caution").textContent(), /a compiler that is told of a donation/);
    assert.match(await page.locator("#pane .before-tried").textContent(), /^Of the program as it was/);
    const button = page.locator("#advice li").first().getByRole("button");
    assert.equal(await button.isDisabled(), false);
    await page.locator("#undo").click();
    await page.locator("#advice li button:disabled").first().waitFor(LONG);
    assert.equal(await button.textContent(), "Is tried");
    await page.getByRole("button", { name: "Reset" }).click();
    await page.locator(".before-tried").waitFor({ state: "detached", ...LONG });
    await screenshot(page, "lab-donations");
    await expectAccessible(page);
  }));

test("filters: by size with its unit, kind, step, length, number of lines; the decision log and the text say what is wrong", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, sample("transformer_train.txt"));
    await chosen(page);
    const said = () => page.locator("#pane .summary").textContent();
    const count = async () => Number((await said()).match(/^([\d,]+) values/)[1].replaceAll(",", ""));
    const changes = async (act) => {
      const before = await said();
      await act();
      await page.waitForFunction((was) => document.querySelector("#pane .summary")?.textContent !== was, before, LONG);
    };
    await page.locator("#group").selectOption({ label: "each value" });
    await changes(() => page.locator("#when").selectOption({ label: "at any time" }));
    const all = await count();
    await page.locator("#min-unit").selectOption("KiB");
    await changes(async () => {
      await page.locator("#min-bytes").fill("8");
      await page.locator("#min-bytes").press("Enter");
    });
    const bytes = () => page.locator("#values tbody tr td:nth-child(2)").evaluateAll((c) => c.map((x) => Number(x.textContent.replaceAll(/\D/g, ""))));
    assert.ok((await count()) < all);
    assert.ok((await bytes()).every((b) => b >= 8192));
    // The map dims what the list leaves out.
    await changes(() => page.locator("#kind").selectOption({ label: "temp" }));
    assert.ok((await page.locator("#values tbody tr td:nth-child(8)").allTextContents()).every((k) => k === "temp"));
    await changes(async () => {
      await page.locator("#min-steps").fill("30");
      await page.locator("#min-steps").press("Enter");
    });
    const steps = await page.locator("#values tbody tr td:nth-child(6)").allTextContents();
    assert.ok(steps.length > 0 && steps.every((s) => { const [a, b] = s.split("–").map((n) => Number(n.replaceAll(",", ""))); return b - a + 1 >= 30; }), steps.join(" "));
    await changes(() => page.locator("#no-filter").click());
    assert.equal(await count(), all);
    await page.locator("#top").selectOption({ label: "the first 10" });
    await page.waitForFunction(() => document.querySelectorAll("#values tbody tr").length === 10);
    assert.match(await page.locator("#more").textContent(), new RegExp(`\\(${new Intl.NumberFormat("en").format(all - 10)} left\\)`));
    await changes(() => page.locator("#when").selectOption({ label: "at the step of the cursor" }));
    await changes(async () => {
      await page.locator("#at-step").fill("1");
      await page.locator("#at-step").press("Enter");
    });
    assert.match(await said(), /at step 1\b/);
    // The decision log.
    await page.getByRole("tab", { name: "Decision log" }).click();
    await page.locator("#decisions li").first().waitFor(LONG);
    await page.locator("#decision-kind").selectOption("refuse");
    await page.locator("#decision-pattern").fill("overlap|both|alive|range");
    await page.waitForFunction(() => /^[\d,]+ of [\d,]+ decisions/.test(document.querySelector("#pane .summary")?.textContent ?? ""));
    await page.locator("#decision-pattern").fill("[");
    await page.locator("#decision-wrong").filter({ hasText: "no regular expression" }).waitFor(LONG);
    await page.locator("#decision-pattern").fill("zzzz");
    await page.locator("#pane .summary").filter({ hasText: /^0 of/ }).waitFor(LONG);
    assert.equal(await page.locator("#decision-wrong").textContent(), "");
    // The text.
    await page.getByRole("tab", { name: "HLO text" }).click();
    await page.locator("#find").fill("*");
    await page.locator("#find").press("Enter");
    await page.locator("#find-wrong").filter({ hasText: "no regular expression" }).waitFor(LONG);
    await page.locator("#find").fill("parameter\\(0\\)");
    await page.locator("#find").press("Enter");
    await page.locator("#text li[aria-current]").waitFor(LONG);
    await page.locator("#go-to").fill("3");
    await page.locator("#go-to").press("Enter");
    await page.waitForFunction(() => document.querySelector("#text li[aria-current] .line-number")?.textContent.trim() === "3");
  }));

test("map, list and text are linked", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, sample("transformer_train.txt"));
    await chosen(page);
    // From the list to the detail, from there to the text.
    await page.locator("#group").selectOption({ label: "each value" });
    await page.locator("#values tbody tr th button").first().click();
    const name = await page.locator("#values tbody tr th button").first().textContent();
    await page.locator("#detail h3").waitFor();
    assert.equal(await page.locator("#detail h3").textContent(), name);
    assert.match(await page.locator("#detail").textContent(), /reads it last|kept to the end|lives on/);
    await page.getByRole("button", { name: "Show in the text" }).click();
    await page.locator("#text li[aria-current]").waitFor();
    assert.ok((await page.locator("#text li[aria-current]").textContent()).includes(name));
    // Search jumps.
    await page.locator("#find").fill("^ENTRY");
    await page.getByRole("button", { name: "Next" }).click();
    await page.waitForFunction(() => document.querySelector("#text li[aria-current] code")?.textContent.startsWith("ENTRY"));
    // From the map to the detail.
    await page.getByRole("button", { name: "Deselect" }).click();
    await page.locator("#map").scrollIntoViewIfNeeded();
    // An axis at the side, in order and in sight; what the colours are; names in the bands, which come when it is at rest.
    const axis = await page.locator(".of-map span").evaluateAll((all) => all.map((s) => [s.textContent, s.getBoundingClientRect().top]));
    assert.ok(axis.length > 2 && axis[0][0] === "0" && axis.slice(1).every(([t]) => /^[\d.,]+ (B|[KMGT]iB)$/.test(t)), JSON.stringify(axis));
    assert.deepEqual(axis.map((a) => a[1]), axis.map((a) => a[1]).toSorted((a, b) => a - b));
    assert.match(await page.locator("#map-figure .byte-axis").textContent(), /step$/);
    assert.match(await page.locator(".map-key").textContent(), /is no kind.*free.*selected/s);
    const written = () => page.evaluate(() => {
      const names = document.getElementById("band-names");
      return names.getContext("2d").getImageData(0, 0, names.width, names.height).data.some((p) => p > 0);
    });
    for (let i = 0; i < 60 && !(await written()); i++) await page.waitForTimeout(100);
    assert.ok(await written(), "names are written into bands");
    const map = await page.locator("#map").boundingBox();
    await page.mouse.click(map.x + map.width * 0.5, map.y + 12);
    await page.locator("#detail h3").waitFor();
    await page.mouse.move(map.x + map.width * 0.5, map.y + 12);
    await page.waitForFunction(() => document.getElementById("under").textContent.includes("B"));
    // Filters: the sum says what is left.
    await page.getByRole("tab", { name: "What is alive" }).click();
    await page.locator("#when").selectOption({ label: "at any time" });
    await page.locator("#pattern").fill("^dot");
    await page.waitForFunction(() => /^\d+ values on/.test(document.querySelector(".summary")?.textContent ?? ""));
    await page.waitForFunction(() => [...document.querySelectorAll("#values tbody th")].every((c) => /dot/.test(c.parentElement.textContent)));
    // A mistake is told under its box, and the list stays.
    await page.locator("#pattern").fill("(");
    await page.getByRole("alert").filter({ hasText: "no regular expression" }).waitFor();
    assert.equal(await page.locator("#pattern").getAttribute("aria-invalid"), "true");
    assert.match(await page.locator("#values tbody").textContent(), /dot/);
    await screenshot(page, "lab-linked");
    await page.locator("#pattern").fill("");
    for (const tab of ["Allocations", "Decision log", "Ask"]) {
      await page.getByRole("tab", { name: tab }).click();
      await settled(page);
      await expectAccessible(page);
    }
    await page.getByRole("button", { name: "What is copied, why, and what would remove it?" }).click();
    await page.locator("#answer .answer").waitFor(LONG);
    // What removes a copy: each remedy is an item of its own.
    for (const text of await page.locator("#answer .items li").allTextContents()) assert.ok(text.trim().length > 3, text);
    await screenshot(page, "lab-ask");
  }));

test("each question about a module is answered from it: loops, transfers, padding, constants, what is lost, which number is which", () =>
  onLab({ width: 1280 }, async (page) => {
    const asked = async (question) => {
      await page.getByRole("tab", { name: "Ask" }).click();
      await page.getByRole("button", { name: question }).click();
      const answer = page.locator("#answer .answer").filter({ has: page.getByRole("heading", { name: question }) });
      await answer.waitFor(LONG);
      return answer.innerText();
    };
    for (const [file, answers] of [
      ["kv_cache_loop.txt", [["What do loops store, and what do transfers pin?", /loop|stack/], ["Which number is which?", /temp_size_in_bytes\s+[\d,]+ B/]]],
      [
        "tpu_update.txt",
        [
          ["What do loops store, and what do transfers pin?", /pinned from step [\d,]+ to step [\d,]+ \(.*\), in memory space/],
          ["What does padding cost?", /a factor of \d+\.\d\d/],
          ["What is lost between values, and would another packing fit?", /No packing needs fewer/],
          ["Which constants are in the executable, and who reads them?", /constants? takes?/],
        ],
      ],
    ]) {
      await open(page, sample(file));
      await chosen(page);
      for (const [question, says] of answers) assert.match(await asked(question), says, `${file}: ${question}`);
      // What a table names is selected.
      await asked("What do loops store, and what do transfers pin?");
      const named = page.locator("#answer td button").first();
      if (file.startsWith("tpu")) {
        await named.click();
        await page.locator("#detail h3").waitFor(LONG);
        assert.ok((await page.locator("#detail h3").textContent()).startsWith(await named.textContent()));
      }
    }
  }));

test("why two values do not share is said in words", () =>
  onLab({}, async (page) => {
    await open(page, sample("unet_skip.txt"));
    await chosen(page);
    await page.locator("#group").selectOption({ label: "each value" });
    const names = page.locator("#values tbody tr th button");
    await page.getByRole("tab", { name: "What is alive" }).click();
    const [a, b] = [await names.nth(0).textContent(), await names.nth(1).textContent()];
    await page.getByRole("tab", { name: "Ask" }).click();
    await page.locator("#pair-a").fill(a);
    await page.locator("#pair-b").fill(b);
    await page.locator("#pair-b").press("Enter");
    await page.locator("#answer .answer").waitFor();
    const words = await page.locator("#answer").textContent();
    assert.match(words, /They do not share/);
    assert.ok(words.includes(a) && words.includes(b));
  }));

test("by keyboard alone: a sample is opened, a band chosen, the map moved", () =>
  onLab({ width: 1280 }, async (page) => {
    await page.locator("#sample").focus();
    await page.keyboard.press("End");
    await page.locator("#open-sample").focus();
    await page.keyboard.press("Enter");
    await chosen(page);
    await page.locator("#map").focus();
    const picture = () => page.evaluate(() => document.getElementById("map").toDataURL());
    const whole = await picture();
    for (const key of ["+", "+", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
    await settled(page);
    const near = await picture();
    assert.notEqual(near, whole);
    await page.keyboard.press("0");
    await settled(page);
    assert.equal(await picture(), whole);
    await page.keyboard.press("]");
    await page.locator("#detail h3").waitFor();
    const first = await page.locator("#detail h3").textContent();
    await page.keyboard.press("]");
    await page.waitForFunction((was) => document.querySelector("#detail h3")?.textContent !== was, first);
    await page.keyboard.press("Escape");
    await page.locator("#detail h3").waitFor({ state: "detached" });
    await page.locator("#tab-Values").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#owners").waitFor();
    await page.keyboard.press("End");
    await page.locator("#save-png").waitFor();
  }));

test("the map by wheel, by drag, by minimap and by two fingers", () =>
  onLab({ width: 1280, touch: true }, async (page) => {
    await open(page, sample("transformer_train.txt"));
    await chosen(page);
    await page.locator("#map").scrollIntoViewIfNeeded();
    const map = await page.locator("#map").boundingBox();
    const middle = [map.x + map.width / 2, map.y + map.height / 2];
    // The part that is seen, as the minimap has it.
    const seen = () => page.locator(".mini-window").evaluate((w) => ["left", "width", "top", "height"].map((k) => Number.parseFloat(w.style[k])));
    const until = async (holds, what) => {
      for (let i = 0; i < 100 && !holds(await seen()); i++) await page.waitForTimeout(50);
      const now = await seen();
      assert.ok(holds(now), `${what}: ${now}`);
      return now;
    };
    assert.deepEqual(await seen(), [0, 100, 0, 100]);
    // The page scrolls over a map that nobody has taken in hand.
    await page.mouse.move(...middle);
    await page.mouse.wheel(0, 1);
    await settled(page);
    assert.deepEqual(await seen(), [0, 100, 0, 100]);
    await page.locator("#map").focus();
    await page.mouse.wheel(0, -400);
    const near = await until(([, w, , h]) => w < 60 && h < 60, "the wheel zooms both ways");
    await page.mouse.down();
    await page.mouse.move(middle[0] + 100, middle[1] + 20, { steps: 3 });
    await page.mouse.up();
    const moved = await until(([l]) => l < near[0], "a drag moves");
    assert.ok(Math.abs(moved[1] - near[1]) < 0.01, `${moved}`);
    assert.equal(await page.locator("#detail h3").count(), 0, "a drag selects nothing");
    const mini = await page.locator(".mini").boundingBox();
    await page.mouse.move(mini.x + 4, mini.y + 4);
    await page.mouse.down();
    await until(([l, , t]) => l === 0 && t === 0, "the minimap leads there");
    await page.mouse.move(mini.x + mini.width - 4, mini.y + mini.height - 2, { steps: 3 });
    await page.mouse.up();
    await until(([l, w]) => Math.abs(l + w - 100) < 0.01, "and follows");
    await page.locator("#fit").click();
    await until(([, w]) => w === 100, "all");
    const touch = await page.context().newCDPSession(page);
    const points = (d) => [{ x: middle[0] - d, y: middle[1], id: 1 }, { x: middle[0] + d, y: middle[1], id: 2 }];
    await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: points(60) });
    for (let d = 70; d <= 180; d += 10) await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: points(d) });
    await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    const pinched = await until(([, w]) => w < 50, "two fingers zoom");
    assert.ok(pinched[3] > 95, `they went apart in one direction: ${pinched}`);
  }));

test("the worker stops: the page is alive, says so, and begins anew", () =>
  onLab({}, async (page) => {
    await open(page, sample("unet_skip.txt"));
    await chosen(page);
    await page.workers()[0].evaluate(() => setTimeout(() => { throw new Error("out of everything"); }));
    await page.locator("#crashed").waitFor();
    assert.match(await page.locator("#crashed").textContent(), /The page itself is alive.*out of everything/s);
    await screenshot(page, "lab-crashed");
    await page.getByRole("button", { name: "Start again" }).click();
    await page.locator("#crashed").waitFor({ state: "detached" });
    await open(page, sample("donation_swap.txt"));
    await chosen(page);
  }));

/** A scheduled module of `bytes` bytes or more: many layers of three instructions. */
function large(bytes) {
  const lines = ["HloModule big, is_scheduled=true", "", "ENTRY e {", "  p.0 = f32[256,256]{1,0} parameter(0)"];
  let length = 0;
  for (let i = 0; length < bytes; i++) {
    const meta = `metadata={op_name="jit(step)/layer_${i % 97}/block/dot_general" source_file="model.py" source_line=${(i % 400) + 1}}`;
    const before = i === 0 ? "p.0" : `c.${i - 1}`;
    const three = [
      `  a.${i} = f32[256,${64 + (i % 7) * 32}]{1,0} custom-call(${before}), custom_call_target="f", ${meta}`,
      `  b.${i} = f32[256,256]{1,0} custom-call(a.${i}), custom_call_target="g", ${meta}`,
      `  c.${i} = f32[256,256]{1,0} add(b.${i}, ${before}), ${meta}`,
    ];
    lines.push(...three);
    length += three.reduce((sum, line) => sum + line.length + 1, 0);
  }
  const last = lines.at(-1).trim().split(" ")[0];
  lines.push(`  ROOT r = f32[8]{0} custom-call(${last}), custom_call_target="h"`, "}", "");
  return lines.join("\n");
}

test("a module of 11 MB opens with progress, is cancelled, opens again, and its map stays smooth", { timeout: 300_000 }, () =>
  onLab({ width: 1280 }, async (page) => {
    const text = large(11_500_000);
    const file = { name: "big.txt", mimeType: "text/plain", buffer: Buffer.from(text) };
    await open(page, file);
    await page.locator("#cancel").waitFor(LONG);
    // The page answers while the worker works.
    const alive = await page.evaluate(() => new Promise((done) => { const t = performance.now(); setTimeout(() => done(performance.now() - t), 0); }));
    assert.ok(alive < 500, `the page took ${alive} ms to answer`);
    await page.locator("#cancel").click();
    await page.locator("#cancel").waitFor({ state: "detached" });
    assert.equal(await page.locator("#bench").count(), 0);
    const start = Date.now();
    await open(page, file);
    await page.locator("#values tbody tr").first().waitFor({ timeout: 240_000 });
    const seconds = (Date.now() - start) / 1000;
    const lines = text.split("\n").length - 1;
    assert.match(await page.locator(".chips").textContent(), new RegExp(`${new Intl.NumberFormat("en").format(lines - 4)} instructions`));
    // Frames while the window moves.
    await page.locator("#map").focus();
    const frame = await page.evaluate(async () => {
      const map = document.getElementById("map");
      const times = [];
      for (let i = 0; i < 30; i++) {
        const key = i % 6 < 3 ? "+" : "-";
        map.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        const t = performance.now();
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - t);
      }
      return times.sort((a, b) => a - b)[15];
    });
    console.log(`11.5 MB, ${lines} lines: open in ${seconds.toFixed(1)} s, a frame in ${frame.toFixed(0)} ms`);
    assert.ok(frame < 250, `a frame takes ${frame} ms`);
    await screenshot(page, "lab-large");
  }));

test("names that are markup, right-to-left or very long are text", () =>
  onLab({ width: 360 }, async (page) => {
    const long = "n".repeat(200_000);
    const hlo = [
      "HloModule m, is_scheduled=true",
      "",
      "ENTRY e {",
      "  p = f32[4096]{0} parameter(0)",
      `  a = f32[4096]{0} negate(p), metadata={op_name="<img src=x onerror=window.hit=1><script>window.hit=1</script>/\u202eesrever/${long}"}`,
      '  b = f32[4096]{0} custom-call(a), custom_call_target="f"',
      `  ${long} = f32[4096]{0} custom-call(b), custom_call_target="f"`,
      `  ROOT r = f32[4096]{0} negate(${long})`,
      "}",
      "",
    ].join("\n");
    await open(page, { name: "<b>x</b>.txt", mimeType: "text/plain", buffer: Buffer.from(hlo) });
    await page.locator("#bench-title").waitFor(LONG);
    await page.locator("#when").selectOption({ label: "at any time" });
    await page.locator("#group").selectOption({ label: "each value" });
    await page.locator("#values tbody tr").nth(2).waitFor(LONG);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator("main img, main script").count(), 0);
    await expectNoSidewaysScroll(page);
  }));

for (const scheme of ["light", "dark"]) {
  test(`320 px, ${scheme}, by touch: nothing sticks out and all is reachable`, () =>
    onLab({ width: 320, scheme, touch: true }, async (page) => {
      await expectNoSidewaysScroll(page);
      await expectAccessible(page);
      await page.locator("#sample").selectOption("transformer_train.txt");
      await page.locator("#open-sample").tap();
      await chosen(page);
      await expectNoSidewaysScroll(page);
      await page.locator("#map").scrollIntoViewIfNeeded();
      const map = await page.locator("#map").boundingBox();
      await page.touchscreen.tap(map.x + map.width * 0.5, map.y + 20);
      await page.locator("#detail h3").waitFor();
      for (const tab of ["Allocations", "Decision log", "HLO text", "Ask", "Try", "Compare", "Take away", "What is alive"]) {
        await page.getByRole("tab", { name: tab }).tap();
        await settled(page);
        await expectNoSidewaysScroll(page);
      }
      await expectAccessible(page);
      await screenshot(page, `lab-320-${scheme}`);
    }));
}

test("a range is pulled by keys and by a drag, undone and redone; a donation and a packer are tried", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, sample("unet_skip.txt"));
    await chosen(page);
    await page.locator("#group").selectOption({ label: "each value" });
    await page.locator("#when").selectOption({ label: "at any time" });
    await page.locator("#pattern").fill("^conv_general_dilated.7$");
    await page.locator("#values tbody tr th button").getByText("conv_general_dilated.7", { exact: true }).click();
    await page.locator("#detail h3").waitFor();
    const name = await page.locator("#detail h3").textContent();
    const end = page.getByRole("slider", { name: "Last step of the selected value" });
    const value = () => end.getAttribute("aria-valuenow").then(Number);
    const before = await value();
    await end.focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#tried-note").waitFor();
    await page.waitForFunction((n) => document.querySelector("#detail h3")?.textContent === n, name);
    assert.equal(await value(), before + 1);
    assert.notEqual(await page.locator(".peak-mark").evaluate((mark) => mark.style.left), "-10%");
    assert.match(await page.locator("#tried-note").textContent(), /is wanted from step \d+ to step \d+.*All allocations/s);
    // By a drag to the far right: everything that followed at its address has to go elsewhere.
    await end.scrollIntoViewIfNeeded();
    const from = await end.boundingBox();
    const map = await page.locator("#map").boundingBox();
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(map.x + map.width * 0.8, from.y + from.height / 2, { steps: 4 });
    await page.mouse.move(map.x + map.width - 4, from.y + from.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#tried").waitFor();
    const total = async () => (await page.locator("#tried tbody tr").first().locator("td").nth(2).textContent()).trim();
    await page.waitForFunction(() => /\+/.test(document.querySelector("#tried")?.textContent ?? ""));
    const grown = await total();
    assert.match(grown, /^\+/);
    await screenshot(page, "lab-try");
    await page.locator("#undo").click();
    await page.waitForFunction((was) => document.querySelector("#tried tbody td:nth-child(4)")?.textContent.trim() !== was, grown);
    await page.locator("#redo").click();
    await page.waitForFunction((was) => document.querySelector("#tried tbody td:nth-child(4)")?.textContent.trim() === was, grown);
    await page.getByRole("button", { name: "Reset" }).click();
    await page.locator("#tried").waitFor({ state: "detached" });
    await page.locator("#alignment").selectOption("4096");
    await page.locator("#tried").waitFor();
    assert.match(await page.locator("#outcome").textContent(), /aligned to 4,096 B/);
    await page.locator("#algorithm").selectOption("spatial");
    await page.waitForFunction(() => document.getElementById("outcome").textContent.includes("the packer is spatial"));
    await expectAccessible(page);
  }));

test("an instruction is moved by handle, keys and buttons; a read is left out; what is unsound says why", () =>
  onLab({ width: 1280, path: "#sample=unet_skip.txt" }, async (page) => {
    await chosen(page);
    await page.locator("#group").selectOption({ label: "each value" });
    await page.locator("#when").selectOption({ label: "at any time" });
    await page.getByRole("tab", { name: "Try" }).click();
    const mover = page.getByRole("slider", { name: /^Step at which the instruction/ });
    // The first band that has room to move, and is read by several.
    await page.locator("#map").focus();
    let name = "";
    for (let i = 0; i < 80; i++) {
      const was = await page.evaluate(() => document.getElementById("room")?.textContent);
      await page.locator("#map").press("]");
      await page.waitForFunction((w) => (document.getElementById("room")?.textContent ?? w) !== w, was, LONG);
      if ((await page.locator("#move").count()) && (await page.locator("#reads li").count()) > 1) {
        name = await page.locator("#detail h3").textContent();
        break;
      }
    }
    assert.notEqual(name, "");
    await screenshot(page, "lab-move");
    const step = () => mover.getAttribute("aria-valuenow").then(Number);
    const [first, last, now] = await Promise.all(["aria-valuemin", "aria-valuemax", "aria-valuenow"].map((a) => mover.getAttribute(a).then(Number)));
    assert.ok(first < last && first <= now && now <= last);
    const moved = (to) => page.waitForFunction((n) => Number(document.querySelector(".handle.move")?.getAttribute("aria-valuenow")) === n, to, LONG);
    // By keys, to both ends.
    await mover.focus();
    await page.keyboard.press(now === last ? "Home" : "End");
    const end = now === last ? first : last;
    await moved(end);
    await page.locator("#tried").waitFor();
    assert.match(await page.locator("#outcome").textContent(), new RegExp(`runs at step ${end} instead of step ${now}`));
    assert.match(await page.locator("#sound").textContent(), /^(Sound|Unsound): /);
    // It is in the address, and a reload has it again.
    assert.match(page.url(), /#v1\/sample=unet_skip\.txt&try=/);
    // By a drag: as far as the dependencies go, and no further.
    const back = end === last ? first : last;
    await mover.scrollIntoViewIfNeeded();
    const from = await mover.boundingBox();
    const map = await page.locator("#map").boundingBox();
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(back < end ? map.x + 2 : map.x + map.width - 2, from.y + from.height / 2, { steps: 6 });
    await page.mouse.up();
    await moved(back);
    // By number: one that is too far is cut to what can be.
    await page.locator("#move-to").fill("999999");
    await page.locator("#move-to").blur();
    assert.equal(await page.locator("#move-to").inputValue(), String(last));
    await page.locator("#move-to").fill(String(end));
    await page.locator("#move-to").blur();
    await page.locator("#move button[type=submit]").click();
    await moved(end);
    await page.locator("#undo").click();
    await moved(back);
    await page.getByRole("button", { name: "Reset" }).click();
    await moved(now);
    assert.match(page.url(), /#sample=unet_skip\.txt$/);
    // A read less; the checker has run the program without it.
    await page.locator("#reads button").last().click();
    await page.locator("#tried").waitFor();
    assert.match(await page.locator("#outcome").textContent(), /does not read/);
    assert.match(await page.locator("#sound").textContent(), /^Sound/);
    await page.getByRole("button", { name: /^Take back/ }).click();
    await page.locator("#tried").waitFor({ state: "detached" });
    // A range cut short loses what is read later.
    const long = page.locator("form[aria-label=Range]");
    await long.locator("#range-end").fill(await long.locator("#range-start").inputValue());
    await long.locator("#range-end").blur();
    await long.getByRole("button").click();
    await page.locator("#sound").waitFor();
    if ((await page.locator("#sound.problem").count()) > 0) {
      assert.match(await page.locator("#sound").textContent(), /^Unsound: step \d+: .* reads /);
    }
    assert.equal(await step(), now);
    await expectAccessible(page);
    await screenshot(page, "lab-unsound");
  }));

test("a link and a file bring module and changes back; one that is too long says so", () =>
  onLab({ width: 1280, clipboard: true }, async (page) => {
    await open(page, sample("donation_swap.txt"));
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.getByRole("button", { name: "Leave every plain copy out" }).click();
    await page.locator("#sound.problem").waitFor(LONG);
    assert.match(await page.locator("#sound").textContent(), /Unsound: .*copy/i);
    await screenshot(page, "lab-copies");
    await page.getByRole("button", { name: "Run copy insertion" }).click();
    await page.locator("#sound.problem").waitFor({ state: "detached", ...LONG });
    const total = () => page.locator("#tried tbody tr").first().locator("td").nth(1).textContent();
    const was = await total();
    // The reader's own module is in no address unless he asks.
    assert.match(page.url(), /#v1\/try=[\w-]+$/);
    await page.locator("#copy-link").click();
    await page.getByText("It holds the module's text").waitFor(LONG);
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(link, /#v1\/text=[\w-]+&try=[\w-]+$/);
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-trial").click()]);
    assert.match(download.suggestedFilename(), /\.trial\.json$/);
    const kept = readFileSync(await download.path());
    // As an address of a page that is new.
    await page.goto("about:blank");
    await page.goto(link);
    await page.locator("#tried").waitFor(LONG);
    assert.equal(await total(), was);
    assert.equal(await page.locator(".edits").first().locator("li").count(), 2);
    // As a file.
    await page.goto(link.split("#")[0]);
    await page.reload();
    await open(page, { name: download.suggestedFilename(), mimeType: "application/json", buffer: kept });
    await page.locator("#tried").waitFor(LONG);
    assert.equal(await total(), was);
    // Too long, with numbers; and an address of the changes alone asks for its module.
    await open(page, sample("transformer_train.txt"));
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#copy-link").click();
    await page.getByText(/The link would have [\d,]+ characters/).waitFor(LONG);
    await page.locator("#alignment").selectOption("4096");
    await page.locator("#tried").waitFor(LONG);
    const alone = page.url();
    assert.match(alone, /#v1\/try=/);
    await page.goto("about:blank");
    await page.goto(alone);
    await page.getByRole("alert").filter({ hasText: "This address holds changes of the module" }).waitFor(LONG);
    await open(page, sample("transformer_train.txt"));
    await page.locator("#tried").waitFor(LONG);
    assert.match(await page.locator("#outcome").textContent(), /aligned to 4,096 B/);
    await page.goto("about:blank");
    await page.goto(`${alone.split("#")[0]}#v9/x=y`);
    await page.getByRole("alert").filter({ hasText: "damaged, or of another version" }).waitFor(LONG);
  }));

test("files and a folder are dropped by mouse", () =>
  onLab({ width: 1280 }, async (page) => {
    const folder = join(mkdtempSync(join(tmpdir(), "lab-")), "dump");
    mkdirSync(join(folder, "inner"), { recursive: true });
    const put = (name, from) => writeFileSync(join(folder, name), readFileSync(sample(from)));
    put("module_0003.jit_t.cpu_after_optimizations.txt", "mlp_grad.txt");
    put("inner/module_0007.jit_u.cpu_after_optimizations.txt", "unet_skip.txt");
    const session = await page.context().newCDPSession(page);
    const drop = async (files) => {
      const data = { items: [], files, dragOperationsMask: 1 };
      for (const type of ["dragEnter", "dragOver", "drop"]) {
        await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
        if (type === "dragOver") await page.locator(".open.over").waitFor();
      }
    };
    // A folder, walked through.
    await drop([folder]);
    const rows = page.locator(".modules tbody tr");
    await rows.nth(1).waitFor(LONG);
    assert.equal(await rows.count(), 2);
    assert.match(await page.locator(".modules").textContent(), /inner/);
    assert.equal(await page.locator(".open.over").count(), 0);
    // Two files.
    await drop([join(folder, "module_0003.jit_t.cpu_after_optimizations.txt"), sample("donation_swap.txt")]);
    // The folder had two as well.
    await page.waitForFunction(() => !document.querySelector(".modules").textContent.includes("inner"), undefined, LONG);
    await page.getByText(/^2 files with/).waitFor(LONG);
    // As a script would, without entries of a file system.
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      const text = "HloModule made, is_scheduled=true\n\nENTRY e {\n  p = f32[8]{0} parameter(0)\n  ROOT n = f32[8]{0} negate(p)\n}\n";
      transfer.items.add(new File([text], "made.txt"));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await page.waitForFunction(() => document.getElementById("bench-title")?.textContent === "made", undefined, LONG);
  }));

test("a search is stopped and keeps what it found; whatever else is cancelled, what is open stays open", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, sample("transformer_train.txt"));
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#advise").click();
    await page.getByRole("button", { name: "Stop, and keep what was found" }).click();
    await page.locator("#pane .summary").waitFor(LONG);
    const [, tried, , untried] = (await page.locator("#pane .summary").textContent()).match(/^(\d+) changes were tried.*; (\d+) of them.*, (\d+) were left untried/) ?? [];
    assert.ok(Number(tried) < 200 && Number(untried) > 0, `${tried} ${untried}`);
    // The same worker goes on: nothing is read again.
    await page.locator("#alignment").selectOption("4096");
    await page.locator("#tried").waitFor(LONG);
    // Of two modules the large one is being read when that is cancelled: the list stays, and the other one opens.
    await open(page, [
      { name: "module_0001.small.cpu_after_optimizations.txt", mimeType: "text/plain", buffer: readFileSync(sample("mlp_grad.txt")) },
      { name: "module_0002.big.cpu_after_optimizations.txt", mimeType: "text/plain", buffer: Buffer.from(large(16_000_000)) },
    ]);
    const rows = page.locator(".modules tbody tr");
    await rows.nth(1).waitFor(LONG);
    await page.locator("#cancel").waitFor({ state: "detached", ...LONG });
    await rows.filter({ hasText: "big" }).getByRole("button").click();
    await page.locator("#cancel").click();
    await page.locator("#cancel").waitFor({ state: "detached" });
    assert.equal(await rows.count(), 2);
    assert.equal(await page.locator("#bench").count(), 0);
    await rows.filter({ hasNotText: "big" }).getByRole("button").click();
    await chosen(page);
    await list(page);
    // Of the one that is chosen nothing is lost while another one is read, nor when that is cancelled.
    await page.locator("#group").selectOption({ label: "each value" });
    await page.locator("#values tbody tr th button").first().click();
    const name = await page.locator("#detail h3").textContent();
    await rows.filter({ hasText: "big" }).getByRole("button").click();
    await page.locator("#cancel").click();
    await page.locator("#cancel").waitFor({ state: "detached" });
    assert.equal(await page.locator("#detail h3").textContent(), name);
    // Nor while other files are opened.
    await open(page, { name: "other.txt", mimeType: "text/plain", buffer: Buffer.from(large(24_000_000)) });
    await page.locator("#cancel").waitFor(LONG);
    assert.equal(await page.locator("#detail h3").textContent(), name);
    await page.locator("#values tbody tr th button").nth(1).click();
    await page.waitForFunction((was) => document.querySelector("#detail h3")?.textContent !== was, name, LONG);
    await page.locator("#cancel").click();
    await page.locator("#cancel").waitFor({ state: "detached" });
    assert.equal(await rows.count(), 2);
    // The worker is the one that was, or knows what it knew: it answers.
    await page.locator("#values tbody tr th button").first().click();
    await page.waitForFunction((was) => document.querySelector("#detail h3")?.textContent === was, name, LONG);
    await page.locator("#alignment").or(page.getByRole("tab", { name: "Try" })).first().click();
    await page.locator("#alignment").selectOption("4096");
    await page.locator("#tried").waitFor(LONG);
  }));

/** Values of many sizes that live across each other: a proof takes long. */
function tangled(count) {
  let random = 1n;
  const next = (below) => {
    random = (random * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(random >> 33n) % below;
  };
  const lines = ["HloModule tangled, is_scheduled=true", "", "ENTRY e {", "  c.0 = f32[4096]{0} parameter(0)"];
  for (let i = 1; i < count; i++) {
    const b = i - 1 - next(Math.min(i, 40));
    lines.push(`  c.${i} = f32[${1024 + 97 * next(300)}]{0} custom-call(c.${i - 1}, c.${b}), custom_call_target="f"`);
  }
  return [...lines, `  ROOT r = f32[16]{0} custom-call(c.${count - 1}), custom_call_target="g"`, "}"].join("\n");
}

test("the smallest heap: proved where it is small; where that takes long bounds are seen, and stopping keeps them", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, sample("mlp_grad.txt"));
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#smallest").click();
    await page.locator("#smallest-found .answer").waitFor(LONG);
    assert.match(await page.locator("#smallest-found p").first().textContent(), /the packer takes [\d,]+ B.*optimum.*\(proved\): .*lost to packing\.$/);
    assert.equal(await page.locator("#smallest-found tr").nth(1).locator("td").last().textContent(), "yes");
    await open(page, { name: "tangled.txt", mimeType: "text/plain", buffer: Buffer.from(tangled(400)) });
    await page.waitForFunction(() => /tangled/.test(document.getElementById("bench-title")?.textContent ?? ""), undefined, LONG);
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#smallest-time").selectOption("60");
    await page.locator("#smallest").click();
    await page.locator(".busy [role=status]").filter({ hasText: /at least [\d,]+ B.*, at most [\d,]+ B.* between them/ }).waitFor(LONG);
    await page.getByRole("button", { name: "Stop, and keep what was found" }).click();
    await page.locator("#smallest-found .answer").waitFor({ timeout: 20_000 });
    const cells = await page.locator("#smallest-found tr").nth(1).locator("td").allTextContents();
    const [packed, height, bound, gap] = cells.slice(1, 5).map((c) => Number(c.replaceAll(/\D/g, "")));
    assert.ok(packed >= height && height > bound && gap === height - bound, cells.join(" "));
    assert.equal(cells[5], "no");
    await expectAccessible(page);
    // The packing that was found, on the map and back: by keys, and by undo.
    const picture = () => page.evaluate(() => document.getElementById("map").toDataURL());
    const still = async () => {
      let last;
      for (let now = await picture(); now !== last; now = await picture()) {
        last = now;
        await page.waitForTimeout(150);
      }
      return last;
    };
    const before = await still();
    const toggle = page.locator("#on-map").getByRole("button", { name: "The smallest found" });
    await toggle.waitFor(LONG);
    await toggle.focus();
    await page.keyboard.press("Enter");
    await page.locator(".bound").waitFor(LONG);
    assert.match(await page.locator(".bound").textContent(), new RegExp(new Intl.NumberFormat("en").format(bound)));
    assert.match(await page.locator(".saved").textContent(), new RegExp(new Intl.NumberFormat("en").format(packed - height)));
    const moved = await still();
    assert.notEqual(moved, before);
    await page.locator("#map-figure").scrollIntoViewIfNeeded();
    await screenshot(page, "lab-smallest");
    // On a phone, too, both labels are whole and apart.
    const labels = async () => {
      const box = await page.locator(".map-box").boundingBox();
      const all = await Promise.all([".saved span", ".bound span"].map((l) => page.locator(l).boundingBox()));
      for (const b of all) assert.ok(b.x >= box.x && b.x + b.width <= box.x + box.width + 1 && b.y >= box.y && b.y + b.height <= box.y + box.height + 1, JSON.stringify([b, box]));
      const [p, q] = all;
      assert.ok(p.y + p.height <= q.y + 1 || q.y + q.height <= p.y + 1 || p.x + p.width <= q.x || q.x + q.width <= p.x, JSON.stringify(all));
      assert.equal(await page.locator(".saved span, .bound span").evaluateAll((s) => s.filter((e) => e.scrollWidth > e.clientWidth + 1).length), 0);
    };
    await labels();
    const wide = page.viewportSize();
    await page.setViewportSize({ width: 360, height: 800 });
    await settled(page);
    await labels();
    await screenshot(page, "lab-smallest-360");
    await page.setViewportSize(wide);
    await still();
    await expectAccessible(page);
    await page.locator("#undo").click();
    await page.locator(".bound").waitFor({ state: "detached", ...LONG });
    assert.equal(await still(), before);
    await page.locator("#whose").getByRole("button", { name: /^The smallest heap found/ }).click();
    await page.locator(".bound").waitFor(LONG);
    assert.equal(await still(), moved);
    await page.locator("#whose").getByRole("button", { name: /^Ours/ }).click();
    await page.locator(".bound").waitFor({ state: "detached", ...LONG });
    // The same worker goes on, and its time ends it as well.
    await page.locator("#smallest-time").selectOption("2");
    await page.locator("#smallest").click();
    await page.locator("#cancel").waitFor();
    await page.locator("#cancel").waitFor({ state: "detached", timeout: 20_000 });
    assert.match(await page.locator("#smallest-found p").first().textContent(), /at least [\d,]+ B.*, at most .*\(not proved\)/);
  }));

test("donations are tried, and what would help most is found", () =>
  onLab({}, async (page) => {
    await open(page, sample("donation_swap.txt"));
    await chosen(page);
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#donation option").first().waitFor({ state: "attached" });
    assert.match(await page.locator("#donation").textContent(), /Do not donate argument 0/);
    await page.locator("form[aria-label=Donation] button").click();
    await page.locator("#tried").waitFor();
    assert.match(await page.locator("#outcome").textContent(), /argument \d+ is not donated/);
    const [, , more] = await page.locator("#tried tbody tr").first().locator("td").allTextContents();
    assert.match(more, /^[+−]/);
    await page.locator("#advise").click();
    await page.locator("#pane .summary").waitFor(LONG);
    assert.match(await page.locator("#pane").textContent(), /changes were tried/);
  }));

test("files are taken away; another dump is opened beside; scopes unfold as a tree", () =>
  onLab({ width: 1280, clipboard: true }, async (page) => {
    await open(page, sample("mlp_grad.txt"));
    await chosen(page);
    await page.getByText("As a tree of scopes").click();
    await page.locator("#tree li li").first().waitFor();
    await page.getByRole("tab", { name: "Take away" }).click();
    const take = async (button) => {
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      return [download.suggestedFilename(), readFileSync(await download.path())];
    };
    const [csvName, csv] = await take(page.locator("[data-file='values.csv']"));
    assert.match(csvName, /^jit_\w+\.values\.csv$/);
    assert.match(csv.toString(), /^name,opcode,shape,bytes/);
    const [, json] = await take(page.locator("[data-file='assignment.json']"));
    const parsed = JSON.parse(json.toString());
    assert.equal(parsed.allocations.reduce((sum, a) => sum + a.bytes, 0), parsed.total);
    for (const [file, says] of [
      ["buffer-assignment.txt", /^BufferAssignment:/],
      ["values.txt", /HloValue|values/i],
      ["live-range.txt", /HloLiveRange/],
      ["memory-usage-report.txt", /Total bytes/],
      ["peak.md", /\| count \| bytes \|/],
      ["curve.svg", /^<svg[^>]*>\n<title>jit_\w+: Temporaries of memory space/],
    ]) {
      const [name, text] = await take(page.locator(`[data-file='${file}']`));
      assert.ok(name.endsWith(file), name);
      assert.match(text.toString(), says, file);
    }
    const [, png] = await take(page.locator("#save-png"));
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    const [, svg] = await take(page.locator("#save-svg"));
    assert.ok(svg.toString().split("<rect").length > 4);
    // What it is, with axes and the names of its largest bands.
    assert.match(svg.toString(), /<title>jit_\w+: addresses over time<\/title>/);
    assert.match(svg.toString(), />step<\/text>/);
    assert.match(svg.toString(), />address<\/text>/);
    assert.match(svg.toString(), />[\d.,]+ [KM]?i?B<\/text>/);
    const inBands = parsed.values.filter((v) => svg.toString().includes(`>${v.name}</text>`));
    assert.ok(inBands.length > 1, "names of bands");
    await page.getByRole("button", { name: "Copy peak.md" }).click();
    await page.getByText("peak.md is on the clipboard.").waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\| count \| bytes \|/);
    // The other one is opened beside it, and the first one is still what is looked at.
    await page.getByRole("tab", { name: "Compare" }).click();
    const was = await page.locator("#bench-title").textContent();
    await page.locator("#beside-files").setInputFiles(sample("gpu_mlp_grad.txt"));
    const rows = page.locator(".modules tbody tr");
    await rows.nth(1).waitFor({ state: "attached", ...LONG });
    await page.locator("#compare").waitFor(LONG);
    assert.equal(await page.locator("#bench-title").textContent(), was);
    await page.locator("#compare button").click();
    await page.locator("#comparison .answer").first().waitFor(LONG);
    assert.match(await page.locator("#comparison").textContent(), /Values matched.*What makes the difference at the peaks/s);
    await expectAccessible(page);
  }));

/** Opens two files at once, chooses the first and compares it with the other; the figure of both. */
const compareFiles = async (page, files) => {
  await open(page, files);
  const rows = page.locator(".modules tbody tr");
  await rows.nth(1).waitFor(LONG);
  await rows.first().getByRole("button").click();
  await chosen(page);
  await page.getByRole("tab", { name: "Compare" }).click();
  await page.locator("#compare button").click();
  await page.locator("#comparison .answer").first().waitFor(LONG);
  await page.locator(".busy").waitFor({ state: "detached", ...LONG });
  await settled(page);
  return page.locator("#shared");
};

/** The bytes in a text, as numbers. */
const bytesIn = (text) => [...text.matchAll(/([\d,]+) B/g)].map((m) => Number(m[1].replaceAll(",", "")));

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [360, "light"], [360, "dark"]]) {
  test(`two backends on shared axes: ${width}, ${scheme}`, () =>
    onLab({ width, height: 900, scheme, touch: width < 500 }, async (page) => {
      const shared = await compareFiles(page, [sample("mlp_grad.txt"), sample("gpu_mlp_grad.txt")]);
      // Both peaks are marked, with exact bytes; they are those of the tables.
      const here = await shared.locator("text.label.left").first().textContent();
      const there = await shared.locator("text.label.right").first().textContent();
      const row = await page.locator("#comparison tr").filter({ hasText: "temporaries in use at the peak" }).first().locator("td").allTextContents();
      assert.equal(bytesIn(here)[0], bytesIn(row.join(" "))[0]);
      assert.equal(bytesIn(there)[0], bytesIn(row.join(" "))[1]);
      assert.match(here, /here at step \d/);
      // At first both are read at the peak of this one.
      assert.equal(bytesIn(await page.locator("#reading .left").textContent())[0], bytesIn(here)[0]);
      await page.getByRole("button", { name: "Peak there" }).click();
      assert.equal(bytesIn(await page.locator("#reading .right").textContent())[0], bytesIn(there)[0]);
      // Nothing of the drawing is cut.
      const out = await shared.locator("svg text").evaluateAll((all) => {
        const box = document.querySelector("#shared .pinned").getBoundingClientRect();
        return all.map((t) => [t.textContent, t.getBoundingClientRect()]).filter(([, r]) => r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1).map(([t]) => t);
      });
      assert.deepEqual(out, []);
      // More than one number beside 0 on each axis, and no line of the cursor over the peaks' labels.
      const sides = await shared.locator("svg text.label:not(.left, .right)").allTextContents();
      assert.ok(sides.length > 2 && sides[0] === "0", sides.join(" "));
      assert.ok((await shared.locator("svg text.label.left").count()) > 3);
      const [mark, label] = await Promise.all([shared.locator(".drawing > .mark").boundingBox(), shared.locator("text.label.right").first().boundingBox()]);
      assert.ok(mark.y >= label.y + label.height - 2, JSON.stringify([mark, label]));
      // The sums are read without scrolling sideways, each number on one line.
      const sums = page.locator("#comparison .answer").first();
      assert.equal(await sums.locator(".scroll").evaluate((s) => s.scrollWidth > s.clientWidth + 1), false);
      const lines = await sums.locator("td.number").evaluateAll((all) => all.map((c) => c.getBoundingClientRect().height));
      assert.ok(lines.length > 3 && lines.every((h) => h < 34), lines.join(" "));
      await expectNoSidewaysScroll(page);
      await screenshot(page, `lab-shared-${width}-${scheme}`);
      await expectAccessible(page);
    }));
}

test("the shared curves by keys and by pointer; what makes the difference at any place; lines of the tables are lit in both", () =>
  onLab({ width: 1280, height: 1000 }, async (page) => {
    const shared = await compareFiles(page, [sample("mlp_grad.txt"), sample("gpu_mlp_grad.txt")]);
    const curves = page.locator("#shared-curves");
    const reading = page.locator("#reading");
    await curves.focus();
    await page.keyboard.press("Home");
    assert.match(await reading.textContent(), /Here, step 0: .*There, step 0: /);
    assert.equal(await curves.getAttribute("aria-valuenow"), "0");
    await page.keyboard.press("PageUp");
    const jumped = Number(await curves.getAttribute("aria-valuenow"));
    assert.ok(jumped > 0);
    await page.keyboard.press("ArrowRight");
    assert.equal(Number(await curves.getAttribute("aria-valuenow")), jumped + 1);
    await page.keyboard.press("PageDown");
    assert.equal(Number(await curves.getAttribute("aria-valuenow")), jumped);
    await page.keyboard.press("End");
    assert.equal(await curves.getAttribute("aria-valuenow"), await curves.getAttribute("aria-valuemax"));
    // What a screen reader hears is what is read.
    const parts = await reading.locator("> *").allTextContents();
    assert.equal(await curves.getAttribute("aria-valuetext"), parts.join("; "));
    // A pointer reads both at once; a click tells what makes the difference there, and that adds up.
    const box = await curves.boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 100);
    const [a, b] = [await reading.locator(".left").textContent(), await reading.locator(".right").textContent()];
    await page.mouse.click(box.x + box.width * 0.6, box.y + 100);
    const told = page.locator("#at-place .answer");
    await told.waitFor(LONG);
    const step = (text) => text.match(/step ([\d,]+)/)[1];
    assert.match(await told.textContent(), new RegExp(`Here: step ${step(a)}, .*There: step ${step(b)}, `));
    const lines = await told.locator("tbody tr").evaluateAll((all) => all.map((r) => [...r.cells].slice(3, 5).map((c) => Number(c.textContent.replaceAll(/\D/g, "")))));
    const sum = lines.reduce((n, [x, y]) => n + y - x, 0);
    assert.equal(sum, bytesIn(b)[0] - bytesIn(a)[0]);
    // A line of a table under the pointer, and in focus, is lit in both curves and on both maps.
    const maps = () => page.evaluate(() => ["map-here", "map-there"].map((id) => document.getElementById(id).toDataURL()));
    const dark = await maps();
    const changed = page.locator("#comparison section").filter({ hasText: "Values that changed" });
    const line = changed.locator("tbody tr").filter({ hasText: "shape and origin" }).first();
    await line.hover();
    await shared.locator("path.lit.left").waitFor();
    await shared.locator("path.lit.right").waitFor();
    await settled(page);
    assert.notDeepEqual(await maps(), dark);
    assert.match(await shared.locator(".lit-words").textContent(), /: here steps? .*, there steps? /);
    await page.mouse.move(5, 5);
    await shared.locator("path.lit.left").waitFor({ state: "detached" });
    const button = line.getByRole("button");
    await button.focus();
    await shared.locator("path.lit.left").waitFor();
    // The curves stay in sight, and what is in focus is not behind them.
    const [top, bottom] = await shared.locator(".pinned").evaluate((f) => [f.getBoundingClientRect().top, f.getBoundingClientRect().bottom]);
    assert.ok(top >= -1 && bottom < 1000, `${top} ${bottom}`);
    assert.ok((await button.boundingBox()).y >= bottom - 1);
    await page.keyboard.press("Enter");
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    await page.getByRole("button", { name: "Save the curves as SVG" }).focus();
    await shared.locator("path.lit.right").waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
    assert.match(download.suggestedFilename(), /\.compare\.svg$/);
    const svg = readFileSync(await download.path(), "utf8");
    assert.match(svg, /^<svg/);
    assert.match(svg, /here at step/);
    assert.match(svg, /there at step/);
    // The table tells what the curves show.
    await page.locator("#shared-table summary").click();
    const most = await page.locator("#shared-table tbody tr").evaluateAll((all) => all.map((r) => [...r.cells].slice(2, 4).map((c) => Number(c.textContent.replaceAll(/\D/g, "")))));
    const here = bytesIn(await shared.locator("text.label.left").first().textContent())[0];
    const there = bytesIn(await shared.locator("text.label.right").first().textContent())[0];
    assert.equal(Math.max(...most.map((m) => m[0])), here);
    assert.equal(Math.max(...most.map((m) => m[1])), there);
    // Other axes: on the steps' own one the shorter program is over before the other.
    await page.getByRole("button", { name: "Steps", exact: true }).click();
    await curves.focus();
    await page.keyboard.press("End");
    assert.match(await reading.textContent(), /: over/);
    await page.getByRole("button", { name: "Share of the program" }).click();
    await curves.focus();
    await page.keyboard.press("End");
    assert.doesNotMatch(await reading.textContent(), /: over/);
    await expectAccessible(page);
  }));

test("a comparison is in the address of a sample, and comes back with axis and place", () =>
  onLab({ path: "#v1/sample=donated_loop_reads.zip&m=0&with=1&axis=share&at=3", width: 1280 }, async (page) => {
    await page.locator("#shared").waitFor(LONG);
    await page.locator("#at-place .answer").waitFor(LONG);
    assert.equal(await page.getByRole("button", { name: "Share of the program" }).getAttribute("aria-pressed"), "true");
    assert.equal(await page.locator("#shared-curves").getAttribute("aria-valuenow"), "3");
    await page.locator("#shared-curves").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.endsWith("with=1&axis=share&at=4"), undefined, LONG);
    await page.getByRole("button", { name: "Matched steps" }).click();
    await page.waitForFunction(() => location.hash.endsWith("&with=1"), undefined, LONG);
    // Another assignment of the same module is compared with the same.
    const whose = page.locator("#comparison p").filter({ hasText: /^This one is/ });
    assert.match(await whose.textContent(), /This one is XLA's own assignment/);
    await page.locator("#whose").getByRole("button", { name: /^Ours/ }).click();
    await whose.filter({ hasText: "This one is our engine's assignment, the other is XLA's own assignment." }).waitFor(LONG);
    // Nor is it lost when another pane is looked at.
    await page.getByRole("tab", { name: "Allocations" }).click();
    await page.getByRole("tab", { name: "Compare" }).click();
    await page.locator("#shared").waitFor(LONG);
  }));

test("a dump and itself are the same, told apart by more than colours", () =>
  onLab({ width: 1280, forcedColors: true }, async (page) => {
    const file = (name) => ({ name, mimeType: "text/plain", buffer: readFileSync(sample("attention_grad.txt")) });
    const shared = await compareFiles(page, [file("one.txt"), file("two.txt")]);
    assert.match(await page.locator("#comparison p").first().textContent(), /^Nothing differs/);
    await page.locator("#same").waitFor();
    assert.equal(await page.locator("#comparison .answer").count(), 1);
    const dash = (which) => shared.locator(`.drawing path.line.${which}`).evaluate((p) => getComputedStyle(p).strokeDasharray);
    assert.notEqual(await dash("left"), await dash("right"));
    await page.locator("#shared-curves").focus();
    await page.keyboard.press("Enter");
    await page.locator("#at-place").getByText(/^Nothing:/).waitFor(LONG);
    await screenshot(page, "lab-shared-same-forced");
    await expectAccessible(page);
  }));

test("in a comparison names that are markup, right-to-left or very long are text", () =>
  onLab({ width: 360 }, async (page) => {
    const hostile = `<img src=x onerror=window.hit=1><script>window.hit=1</script>/\u202eesrever/${"n".repeat(100_000)}`;
    const hlo = (n) =>
      ["HloModule m, is_scheduled=true", "", "ENTRY e {", "  p = f32[4096]{0} parameter(0)", `  a = f32[${n}]{0} custom-call(p), custom_call_target="f", metadata={op_name="${hostile}${n}"}`, `  ${"x".repeat(50_000)}${n} = f32[${n}]{0} custom-call(a), custom_call_target="f"`, `  ROOT r = f32[64]{0} custom-call(a, ${"x".repeat(50_000)}${n}), custom_call_target="f"`, "}", ""].join("\n");
    const file = (name, n) => ({ name, mimeType: "text/plain", buffer: Buffer.from(hlo(n)) });
    await compareFiles(page, [file("<b>one</b>.txt", 4096), file("<i>two</i>.txt", 8192)]);
    await page.locator("#comparison tbody button").first().click();
    await page.locator("#shared .lit-words").filter({ hasText: /here .*, there / }).waitFor();
    await page.getByRole("button", { name: "What makes the difference at this place?" }).click();
    await page.locator("#at-place .answer").waitFor(LONG);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator("main img, main script, #comparison i").count(), 0);
    assert.match(await page.locator("#comparison").textContent(), /<img src=x/);
    await expectNoSidewaysScroll(page);
  }));

test("a small module is searched for, stopped midway, and the smallest so far is kept", () =>
  onLab({ width: 1280 }, async (page) => {
    await open(page, { name: "large.txt", mimeType: "text/plain", buffer: Buffer.from(large(1_500_000)) });
    await chosen(page);
    await page.locator("#group").selectOption({ label: "each value" });
    const names = page.locator("#values tbody tr th button");
    await names.nth(1).waitFor(LONG);
    const [a, b] = [await names.nth(0).textContent(), await names.nth(1).textContent()];
    await page.getByRole("tab", { name: "Ask" }).click();
    await page.locator("#pair-a").fill(a);
    await page.locator("#pair-b").fill(b);
    await page.locator("#reduce").click();
    // It has begun, and has left something out.
    await page.locator(".busy [role=status]").filter({ hasText: /[\d,]+ instructions left/ }).waitFor(LONG);
    await page.waitForTimeout(400);
    const [download] = await Promise.all([page.waitForEvent("download", LONG), page.getByRole("button", { name: "Stop, and keep what was found" }).click()]);
    assert.match(readFileSync(await download.path(), "utf8"), /^HloModule/);
    assert.equal(download.suggestedFilename(), "big.reduced.txt");
    assert.match(await page.locator("#answer").textContent(), /Stopped early: this is the smallest so far/);
    const [left, before] = (await page.locator("#answer p").first().textContent()).match(/^([\d,]+) of ([\d,]+) instructions are left/).slice(1).map((n) => Number(n.replaceAll(",", "")));
    assert.ok(left < before, `${left} of ${before}`);
    // The same worker goes on.
    await page.getByRole("tab", { name: "Try" }).click();
    await page.locator("#alignment").selectOption("4096");
    await page.locator("#tried").waitFor(LONG);
  }));

test("an address leads to a sample", () =>
  onLab({ path: "#sample=kv_cache_loop.txt" }, async (page) => {
    await chosen(page);
    assert.match(await page.locator("#bench-title").textContent(), /kv_cache/);
    await unfold(page);
    await page.locator("#sample").selectOption("unet_skip.txt");
    await page.locator("#open-sample").click();
    await page.waitForFunction(() => /unet/.test(document.getElementById("bench-title")?.textContent ?? ""), undefined, LONG);
    assert.match(page.url(), /#sample=unet_skip\.txt$/);
  }));

test("both pages lead to each other", () =>
  withPage({}, async (page) => {
    await page.getByRole("link", { name: /the lab/ }).first().click();
    await page.locator("#open-files").waitFor({ state: "attached", ...LONG });
    await page.getByRole("link", { name: "Reading page" }).click();
    await page.waitForURL(/folder\/$/);
  }));
