// Links as older versions wrote them. A link that was ever copied opens, and shows the state that it was copied from; what is
// saved of a state is what was in the link. Add a line when the form of a link changes, and take none away.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { inflateRawSync } from "node:zlib";
import { settled, withPage } from "./harness.mjs";

const links = JSON.parse(readFileSync(new URL("golden-links.json", import.meta.url), "utf8"));

async function saved(page, id) {
  const figure = page.locator(`#${id}`);
  await figure.scrollIntoViewIfNeeded();
  await figure.locator(".stage:not(.asleep)").waitFor();
  await settled(page);
  await figure.locator(".share > summary").click();
  const [file] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "Save state" }).click()]);
  assert.equal(file.suggestedFilename(), `bufferscope-${id}.txt`);
  return readFileSync(await file.path(), "utf8");
}

for (const { since, hash, states } of links) {
  test(`since ${since}: ${hash.slice(0, 60)}`, () =>
    withPage({ path: hash }, async (page) => {
      for (const [id, state] of Object.entries(states)) assert.equal(await saved(page, id), state);
    }));
}

/** A module of one's own, packed as version 0.1 does it. */
const OWN = "x=XcqxCsIwFEbh_T7FP6bQoVR06yi4aKF0ERG5Ta5aiElJUxRK312yZj3fOVl_9maxAv91Jcb5Meu3pGCaGBYhOl767grBSgCjwXNX3-r94b5WGyYO_JEoQVUFAUPGTl4cRXEynZn8Ju_ExZGtGtLQtW0Pk11sjNIldEEb_QE";

test("a text of one's own, packed into a link, opens with its edits", () =>
  withPage({ path: `#v2/drag/drag=${OWN};e=1.2.3` }, async (page) => {
    await page.waitForFunction(() => document.querySelector("#drag .card")?.dataset.total === "3072");
    const [text, ...edits] = (await saved(page, "drag")).split(";");
    assert.deepEqual(edits, ["e=1.2.3"]);
    const unpacked = (packed) => inflateRawSync(Buffer.from(packed.slice(2), "base64url")).toString();
    assert.equal(unpacked(text), unpacked(OWN), "another version may pack it more tightly");
  }));

test("everything that is copied and saved of a figure: lines that work, pictures, a file that is opened again", () =>
  withPage({ path: "#clock", clipboard: true }, async (page, server) => {
    const clock = page.locator("#clock");
    await clock.locator(".stage:not(.asleep)").waitFor();
    await clock.getByRole("button", { name: "Later" }).click();
    await clock.locator(".share > summary").click();
    const copied = async (name) => {
      await page.evaluate(() => navigator.clipboard.writeText(""));
      await clock.getByRole("button", { name }).click();
      await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const link = await copied("Copy link");
    const state = /#v2\/clock\/clock=(m=attention_grad;o=.*)$/.exec(link)[1];
    const lines = [await copied("Copy element"), await copied("Copy frame"), await copied("Copy Markdown")];
    assert.equal(lines[0], `<script type="module" src="${server.url}embed/buffer-scope.js"></script>\n<buffer-scope exhibit="clock" state="${state}"></buffer-scope>`);
    assert.match(lines[1], new RegExp(`^<iframe class="bufferscope" src="${server.url}embed/embed.html\\?exhibit=clock#${state.replace(/[.*+?^$()|[\]\\]/g, "\\$&")}" title=".+" width="100%" height="\\d{3,4}" loading="lazy"></iframe>\\n<script`));
    assert.match(lines[2], /^\[[^\]]+\]\(http/);
    assert.ok(lines[2].endsWith(`](${link})`));
    const download = async (name) => {
      const [file] = await Promise.all([page.waitForEvent("download"), clock.getByRole("button", { name }).click()]);
      return readFileSync(await file.path());
    };
    assert.match((await download("Save SVG")).toString(), /^<svg xmlns=/);
    const png = await download("Save PNG");
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    assert.ok(png.readUInt32BE(16) > 800, `${png.readUInt32BE(16)} px wide`);
    const file = await download("Save state");
    assert.equal(file.toString(), state);
    await clock.getByRole("button", { name: "Reset" }).click();
    const open = async (buffer) => {
      await clock.locator(".state-file").setInputFiles({ name: "state.txt", mimeType: "text/plain", buffer });
      await settled(page);
    };
    await open(file);
    assert.ok((await page.evaluate(() => location.hash)).endsWith(state));
    await open(Buffer.from("HloModule m"));
    await clock.getByText("That file holds no state of a figure.").waitFor();
    await page.keyboard.press("Escape");
    // What is pasted works.
    await page.goto(`${server.url}embed/embed.html?exhibit=clock#${state}`);
    await page.locator("#clock .stage:not(.asleep)").waitFor();
    assert.match(await page.locator("#clock .told-here").first().innerText(), /dot runs at step 15/);
  }));

test("a state that is too long for a link says so, and is saved", () =>
  withPage({ path: "#v1;m=varied_temp_sizes;text", clipboard: true }, async (page) => {
    const drag = page.locator("#drag");
    const names = Array.from({ length: 1500 }, () => `v${Math.random().toString(36).slice(2)}`);
    const text = `HloModule m, is_scheduled=true\n\nENTRY e {\n  a = f32[256]{0} parameter(0)\n${names.map((n) => `  ${n} = f32[256]{0} negate(a)\n`).join("")}  ROOT c = f32[256]{0} negate(a)\n}\n`;
    await drag.getByLabel("HLO text of the module").fill(text);
    await page.waitForFunction(() => location.hash.length > 8000);
    await drag.getByRole("button", { name: "Copy link" }).click();
    await drag.getByText("Too long for a link: save the state as a file.").waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), drag.getByRole("button", { name: "Save state" }).click()]);
    assert.match(readFileSync(await file.path(), "utf8"), /^x=.{8000}/);
  }));
