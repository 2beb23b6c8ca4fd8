// The parts that the page comes in: what is fetched when, links into what is not there yet, and what happens when it fails.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import test from "node:test";
import { dist, settled, started, withPage } from "./harness.mjs";

// While developing the page is not cut.
const skip = readdirSync(dist).some((name) => name.startsWith("parts-")) ? false : "the page is in one piece";
const isPart = (url) => /\/parts-[0-9a-f]+\/.*\.wasm$/.test(url);

/** Holds back the parts until the function it gives is called. */
const hold = async (page) => {
  let go;
  const gone = new Promise((done) => (go = done));
  await page.route(isPart, async (route) => {
    await gone;
    await route.continue();
  });
  return go;
};

test("the first figure is alive before any other part is there; the others come by themselves", { skip }, async () => {
  let go;
  const asked = [];
  await withPage(
    {
      early: true,
      prepare: async (page) => {
        go = await hold(page);
        page.on("request", (request) => isPart(request.url()) && asked.push(request.url()));
      },
    },
    async (page) => {
      await page.locator("#slabs svg .band").first().waitFor();
      const value = page.locator("#slabs select").first();
      await value.selectOption({ label: "ynn_fusion.5" });
      await settled(page);
      assert.match(await page.locator("#slabs .told-here").innerText(), /ynn_fusion\.5 stands in allocation/);
      assert.equal(await page.locator("#clock").count(), 0, "chapter 3 is not there");
      assert.ok((await page.locator("main > .chapter h2").count()) > 14, "but its heading is");
      go();
      await started(page);
      assert.equal(await page.locator("main .pending").count(), 0);
      assert.ok((await page.locator("main .figure").count()) > 20);
      assert.equal(new Set(asked).size, asked.length, "nothing is fetched twice");
    },
  );
});

test("a link to a figure shows it as soon as its own part is there, and it stays in its place", { skip }, async () => {
  let go;
  await withPage({ path: "#memories", early: true, prepare: async (page) => (go = await hold(page)) }, async (page) => {
    await page.waitForFunction(() => !document.getElementById("startup"));
    assert.equal(await page.locator("#memories").count(), 0);
    go();
    await page.locator("#memories").waitFor();
    const top = () => page.locator("#memories").evaluate((e) => e.getBoundingClientRect().top);
    await page.waitForFunction(() => Math.abs(document.getElementById("memories").getBoundingClientRect().top) < 60);
    await started(page);
    assert.ok(Math.abs(await top()) < 60, `${await top()} px from the top after the chapters before it came`);
    assert.equal(await page.evaluate(() => document.activeElement.id), "memories");
  });
});

test("states of figures that are still to come are not lost from the address", { skip }, async () => {
  let go;
  const path = "#v2/slabs/clock=m=attention_grad;s=3";
  await withPage({ path, early: true, prepare: async (page) => (go = await hold(page)) }, async (page) => {
    await page.locator("#slabs svg .band").first().waitFor();
    await page.locator("#slabs select").first().selectOption({ label: "ynn_fusion.5" });
    await settled(page);
    const now = await page.evaluate(() => location.hash);
    assert.match(now, /clock=m=attention_grad;s=3/);
    assert.match(now, /slabs=/);
    go();
    await started(page);
    await page.locator("#clock").scrollIntoViewIfNeeded();
    await page.locator("#clock .stage:not(.asleep)").waitFor();
    await settled(page);
    assert.match(await page.evaluate(() => location.hash), /clock=m=attention_grad;s=3/);
  });
});

test("a chapter that cannot be fetched says so, and can be asked for again", { skip }, async () => {
  let broken = true;
  const prepare = (page) => page.route(isPart, (route) => (broken ? route.abort("connectionfailed") : route.continue()));
  const expected = /parts-|Failed to fetch|ERR_CONNECTION_FAILED|TypeError/;
  await withPage({ early: true, prepare, expected }, async (page) => {
    const alert = page.locator("#the-clock, #values-that-must-share").locator("[role=alert]").first();
    await alert.waitFor();
    assert.match(await alert.innerText(), /could not be fetched/);
    assert.ok((await page.locator("#slabs svg .band").count()) > 10, "the rest of the page works");
    broken = false;
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.locator("#share").waitFor();
  });
});

test("what is on the page once it has loaded works without a network", { skip }, () =>
  // Modules are fetched when their figures wake.
  withPage({ expected: /\/modules\/|ERR_INTERNET_DISCONNECTED/ }, async (page) => {
    await page.context().setOffline(true);
    for (const id of ["share", "placement", "copies", "memories"]) {
      await page.locator(`#${id}`).scrollIntoViewIfNeeded();
      await page.locator(`#${id} .stage:not(.asleep)`).waitFor();
    }
    await settled(page);
    await page.context().setOffline(false);
  }));

test("the parts stand beside the page that they belong to", { skip }, () => {
  const folders = readdirSync(dist).filter((name) => name.startsWith("parts-"));
  assert.equal(folders.length, 1);
  assert.ok(existsSync(`${dist}/${folders[0]}/link.js`));
});
