// The reading page: contents, addresses of many figures, sleeping, what a figure's shell offers, no JavaScript, rules.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { chromium } from "playwright-core";
import { dist, expectAccessible, expectNoSidewaysScroll, screenshot, serve, settled, withPage } from "./harness.mjs";

const hash = (page) => page.evaluate(() => location.hash);
const wake = async (page, id) => {
  const figure = page.locator(`#${id}`);
  await figure.scrollIntoViewIfNeeded();
  await figure.locator(".stage:not(.asleep)").waitFor();
  await settled(page);
  return figure;
};

test("the first figure is alive at first paint, and the others sleep", () =>
  withPage({}, async (page) => {
    assert.ok((await page.locator("#slabs svg .band").count()) > 10);
    assert.match(await page.locator("#slabs .told-here").innerText(), / stands in allocation \d+ /);
    assert.ok((await page.locator(".stage.asleep").count()) > 3, "figures far below are not computed");
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await wake(page, "drag");
    await page.locator("#drag svg .band").first().waitFor();
    assert.ok(requests.some((url) => url.endsWith("modules/varied_temp_sizes.txt")), "a module is fetched when its figure wakes");
  }));

test("contents lead to chapters and say where the reader is", () =>
  withPage({ height: 900 }, async (page) => {
    const rail = page.getByRole("navigation", { name: "Chapters", exact: true });
    const chapters = await page.locator("main > .chapter h2").allInnerTexts();
    assert.equal(await rail.getByRole("link").count(), chapters.length);
    await rail.getByRole("link", { name: "Live ranges" }).click();
    await settled(page);
    assert.equal(await hash(page), "#live-ranges");
    assert.equal(await page.evaluate(() => document.activeElement.id), "live-ranges", "the keyboard goes along");
    await page.waitForFunction(() => document.querySelector(".rail a[aria-current]")?.textContent.includes("Live ranges"));
    await page.goBack();
    await settled(page);
    assert.equal(await hash(page), "");
  }));

test("how the page was made is told at its end", () =>
  withPage({}, async (page) => {
    await page.locator("footer").getByRole("link", { name: "How this was made" }).click();
    await settled(page);
    assert.equal(await hash(page), "#how-this-was-made");
    assert.equal(await page.evaluate(() => document.activeElement.id), "how-this-was-made");
    const made = await page.locator("#how-this-was-made").innerText();
    for (const part of ["jaxlib 0.10.2", "libtpu 0.0.52", "--xla_dump_to", "not compared"]) assert.ok(made.includes(part), part);
  }));

test("on a narrow screen the contents open above the text", () =>
  withPage({ width: 360 }, async (page) => {
    assert.ok(await page.locator(".rail-title").isHidden());
    await page.locator(".contents summary").click();
    await page.locator(".contents").getByRole("link", { name: "Live ranges" }).click();
    await settled(page);
    const top = await page.locator("#live-ranges").evaluate((e) => e.getBoundingClientRect().top);
    assert.ok(Math.abs(top) < 60, `${top}`);
  }));

test("the address holds the state of every figure; reload, Back and chapter links keep it", () =>
  withPage({ path: "#clock" }, async (page) => {
    const clock = await wake(page, "clock");
    await clock.getByRole("button", { name: "Later" }).click();
    await settled(page);
    const pair = await wake(page, "pair");
    await pair.getByLabel("Second").selectOption({ label: "dot" });
    await settled(page);
    const both = await hash(page);
    assert.match(both, /^#v2\/pair\/clock=m=attention_grad;o=[\d.~]+&pair=/);
    await page.locator(".rail a", { hasText: "What gets decided" }).click();
    await settled(page);
    assert.match(await hash(page), /^#v2\/what-gets-decided\/clock=.*&pair=/);
    await page.goBack();
    await settled(page);
    assert.equal(await hash(page), both);
    await page.reload();
    await page.waitForFunction(() => !document.getElementById("startup"));
    const again = await wake(page, "clock");
    assert.match(await again.locator(".told-here").first().innerText(), /dot runs at step 15/);
    await page.goBack();
    await settled(page);
    const earlier = await wake(page, "pair");
    assert.equal(await earlier.getByLabel("Second").evaluate((e) => e.selectedOptions[0].label), "ynn_fusion.5");
  }));

test("copy link gives the figure and its state; a hash that is damaged changes nothing", () =>
  withPage({ path: "#clock", clipboard: true }, async (page, server) => {
    const clock = await wake(page, "clock");
    await clock.getByRole("button", { name: "Copy link" }).click();
    await clock.getByRole("button", { name: "Copied" }).waitFor();
    const read = () => page.evaluate(() => navigator.clipboard.readText());
    assert.equal(await read(), `${server.url}#clock`);
    await clock.getByRole("button", { name: "Later" }).click();
    await clock.getByRole("button", { name: "Copy link" }).click();
    await clock.getByRole("button", { name: "Copied" }).waitFor();
    const link = await read();
    assert.match(link, /#v2\/clock\/clock=m=attention_grad;o=/);
    await page.goto("about:blank");
    await page.goto(link.replace(";o=", ";o=x"));
    await page.waitForFunction(() => !document.getElementById("startup"));
    await wake(page, "clock");
    assert.match(await page.locator("#clock .told-here").first().innerText(), /dot runs at step 14/);
  }));

test("a picture can be saved, with its own colours and words", () =>
  withPage({ path: "#clock" }, async (page) => {
    const clock = await wake(page, "clock");
    await clock.locator(".share > summary").click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      clock.getByRole("button", { name: "Save SVG" }).click(),
    ]);
    assert.equal(file.suggestedFilename(), "bufferscope-clock.svg");
    const text = readFileSync(await file.path(), "utf8");
    assert.match(text, /^<svg xmlns=.*--hue-0: #[0-9a-f]{6}/s);
    assert.match(text, /ynn_fusion\.5/);
  }));

test("figures keep their place when they wake, and at rest nothing is done", () =>
  withPage({}, async (page) => {
    await page.evaluate(() => {
      window.shifts = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    const height = () => page.evaluate(() => document.documentElement.scrollHeight);
    for (let y = 0; y < (await height()); y += 400) {
      await page.evaluate((to) => scrollTo(0, to), y);
      await page.waitForTimeout(150);
    }
    await page.waitForTimeout(500);
    assert.equal(await page.locator(".stage.asleep").count(), 0, "all figures are awake");
    const shifts = await page.evaluate(() => window.shifts);
    assert.ok(shifts < 0.05, `layout shifts add up to ${shifts}`);
    const work = await page.evaluate(
      () =>
        new Promise((done) => {
          const wait = window.setTimeout;
          // What follows the scroll bar is at rest when that is.
          const moving = document.getAnimations().filter((animation) => animation.timeline instanceof DocumentTimeline);
          const seen = { written: 0, frames: 0, timers: 0, animations: moving.length };
          const watch = new MutationObserver((list) => (seen.written += list.length));
          watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
          const count = (name, what) => {
            const real = window[name];
            window[name] = (...rest) => ((seen[what] += 1), real.apply(window, rest));
          };
          count("requestAnimationFrame", "frames");
          count("setTimeout", "timers");
          count("setInterval", "timers");
          wait(() => done(seen), 1500);
        }),
    );
    assert.deepEqual(work, { written: 0, frames: 0, timers: 0, animations: 0 });
  }));

test("is narrow enough at 320 px, and prints", async () => {
  await withPage({ width: 320, height: 640 }, async (page) => {
    for (const id of ["slabs", "clock", "pair", "chain"]) await wake(page, id);
    await expectNoSidewaysScroll(page);
    await screenshot(page, "book-320");
  });
  await withPage({ scheme: "dark" }, async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.ok(await page.locator("#slabs .actions").isHidden());
  });
});

test("without JavaScript each chapter has its question and a picture of its figure", async () => {
  const server = await serve();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu"],
  });
  try {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1000, height: 800 } });
    const page = await context.newPage();
    await page.goto(server.url);
    await page.waitForURL(/\/figures\.html$/);
    assert.match(await page.locator(".intro").innerText(), /needs JavaScript/);
    const chapters = await page.locator("main .chapter").count();
    assert.ok(chapters >= 4, `${chapters} chapters`);
    assert.ok((await page.locator("main .poster svg .band").count()) > 40);
    assert.match(await page.locator("main #what-gets-decided").innerText(), /ynn_fusion\.3 stands in allocation/);
    await page.setViewportSize({ width: 320, height: 640 });
    await page.screenshot({ path: join(process.env.BUFFERSCOPE_SCREENSHOTS ?? "target/screenshots", "no-js-320.png") });
  } finally {
    await browser.close();
    server.close();
  }
});

test("each rule that a chapter names has its anchor", () =>
  withPage({}, async (page, server) => {
    const links = await page.locator(".rule a").evaluateAll((all) => [...new Set(all.map((a) => a.getAttribute("href")))]);
    assert.ok(links.length > 3);
    const rules = readFileSync(join(dist, "rules.html"), "utf8");
    for (const link of links) {
      const [file, section] = link.split("#");
      assert.equal(file, "rules.html");
      assert.ok(rules.includes(`id="${section}"`), section);
    }
    await page.goto(`${server.url}${links[0]}`);
    await expectAccessible(page);
    await screenshot(page, "rules-1280");
  }));
