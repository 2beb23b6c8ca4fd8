// The pages in another language: chosen, complete, and given back.
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, screenshot, settled, withPage } from "./harness.mjs";
import { root } from "./texts.mjs";

/** What the table had nothing for. */
const missing = (page) => page.evaluate(async () => [...(await import("./locale.js")).pages].flatMap((p) => [...p.missing]));
const wake = async (page, id) => {
  const figure = page.locator(`#${id}`);
  await figure.scrollIntoViewIfNeeded();
  await figure.locator(".stage:not(.asleep)").waitFor();
  await settled(page);
  return figure;
};
/** Chooses, opens and presses what there is in a part of a page. */
const work = (page, within, presses = 24) =>
  page.evaluate(async ([selector, most]) => {
    const wait = () => new Promise((done) => setTimeout(done, 15));
    const part = document.querySelector(selector);
    for (const summary of part.querySelectorAll("details:not([open]) > summary")) summary.click();
    await wait();
    for (const select of part.querySelectorAll("select")) {
      for (const option of [...select.options].slice(0, 3)) {
        if (!select.isConnected) break;
        select.value = option.value;
        select.dispatchEvent(new Event("input", { bubbles: true }));
        select.dispatchEvent(new Event("change", { bubbles: true }));
        await wait();
      }
    }
    for (const button of [...part.querySelectorAll("button")].slice(0, most)) {
      if (!button.isConnected || button.disabled || /SVG|PNG|链接|保存|嵌入|演示/.test(button.textContent)) continue;
      button.click();
      await wait();
    }
  }, [within, presses]);

test("readers of Chinese have the reading page in Chinese, all of it", () =>
  withPage({ locale: "zh-CN" }, async (page) => {
    assert.equal(await page.getAttribute("html", "lang"), "zh-Hans");
    assert.match(await page.title(), /每个值的地址/);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    for (let y = 0; y < height; y += 1400) {
      await page.evaluate((to) => scrollTo(0, to), y);
      await page.waitForTimeout(60);
    }
    for (const id of ["drag", "plan", "values-that-must-share"]) {
      if (!(await page.locator(`#${id}`).count())) continue;
      await page.locator(`#${id}`).scrollIntoViewIfNeeded();
      await settled(page);
      await work(page, `#${id}`);
    }
    await settled(page);
    assert.deepEqual(await missing(page), [], "texts that nothing in assets/locales/zh-Hans.json is for");
  }));

test("at 360 px nothing is too wide, and axe finds nothing", () =>
  withPage({ path: "?lang=zh-Hans#drag", width: 360, height: 760, scheme: "dark" }, async (page) => {
    await wake(page, "drag");
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
    await screenshot(page, "chinese-360", { fullPage: false });
    assert.deepEqual(await missing(page), []);
  }));

test("the language is switched in place: what is shown and done stays, and English comes back as it was", () =>
  withPage({ path: "#drag" }, async (page) => {
    const figure = await wake(page, "drag");
    const handle = figure.locator(".handle.end").first();
    await handle.focus();
    for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => location.hash.includes("="));
    await settled(page);
    const said = () => page.evaluate(() => [document.querySelector("#drag").innerText, ...[...document.querySelectorAll("#drag [aria-label]")].map((e) => e.getAttribute("aria-label"))].join("\n"));
    const [before, hash] = [await said(), await page.evaluate(() => location.hash)];
    const link = page.locator("a.language");
    assert.equal(await link.innerText(), "中文");
    await link.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.documentElement.lang === "zh-Hans");
    await settled(page);
    assert.match(await figure.innerText(), /拖动|区间/);
    assert.equal(new URL(page.url()).searchParams.get("lang"), "zh-Hans");
    assert.equal(await page.evaluate(() => location.hash), hash);
    assert.equal(await link.innerText(), "English");
    // What happens meanwhile is in Chinese, too, and is undone by the page's own history.
    await handle.focus();
    await page.keyboard.press("ArrowRight");
    await settled(page);
    await page.keyboard.press("ArrowLeft");
    await settled(page);
    assert.deepEqual(await missing(page), []);
    await link.click();
    await page.waitForFunction(() => document.documentElement.lang === "en");
    await settled(page);
    assert.equal(await said(), before);
    assert.equal(await page.evaluate(() => location.hash), hash);
    assert.equal(await page.title(), "Bufferscope: how every value gets an address");
  }));

test("the address has the last word, and English costs nothing", async () => {
  for (const options of [{ path: "?lang=en", locale: "zh-CN" }, { locale: "en-GB" }, { locale: "de-DE" }, { path: "?lang=nonsense" }, { locale: "zh-TW" }]) {
    await withPage({ ...options, path: options.path ?? "" }, async (page) => {
      assert.equal(await page.getAttribute("html", "lang"), "en");
      const asked = await page.evaluate(() => performance.getEntriesByType("resource").map((r) => r.name).filter((n) => /locale/.test(n)));
      assert.deepEqual(asked, [], "neither script nor table");
    });
  }
  await withPage({ path: "lab.html?lang=zh-Hans" }, async (page) => {
    assert.equal(await page.getAttribute("html", "lang"), "zh-Hans");
    await page.locator(".masthead a.other-page").first().click();
    await page.waitForURL(/lang=zh-Hans/);
  });
});

test("the lab is in Chinese, and what is open stays when the language changes", () =>
  withPage({ path: "lab.html", locale: "zh-CN" }, async (page) => {
    assert.match(await page.title(), /实验室/);
    await page.locator("#open-files").setInputFiles([join(root, "assets/modules/mlp_grad.txt")]);
    await page.locator(".busy").waitFor({ state: "detached", timeout: 30_000 });
    await page.locator("#values tbody tr").first().click({ timeout: 30_000 });
    await settled(page);
    await work(page, "main", 0);
    await settled(page);
    assert.deepEqual(await missing(page), []);
    const open = await page.locator("main canvas, main svg").count();
    await page.locator("a.language").click();
    await page.waitForFunction(() => document.documentElement.lang === "en");
    await settled(page);
    assert.equal(await page.locator("main canvas, main svg").count(), open, "nothing was loaded anew");
    assert.doesNotMatch(await page.locator("main").innerText(), /[\u4e00-\u9fff]/, "nothing Chinese is left");
  }));

test("a comparison in the lab is in Chinese", () =>
  withPage({ path: "lab.html", locale: "zh-CN" }, async (page) => {
    await page.locator("#open-files").setInputFiles(["mlp_grad.txt", "gpu_mlp_grad.txt"].map((n) => join(root, "assets/modules", n)));
    const rows = page.locator(".modules tbody tr");
    await rows.nth(1).waitFor({ timeout: 30_000 });
    await rows.first().getByRole("button").click();
    await page.locator("#values tbody tr").first().waitFor({ timeout: 30_000 });
    await page.locator("#tab-Compare").click();
    await page.locator("#compare button").click();
    await page.locator("#shared").waitFor({ timeout: 30_000 });
    for (const scale of [0, 1, 2]) await page.locator(".scales button").nth(scale).click();
    await page.locator("#shared-curves").focus();
    await page.keyboard.press("End");
    await settled(page);
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.locator("#at-place .answer").waitFor({ timeout: 30_000 });
    await page.locator("#shared-table summary").click();
    for (const section of await page.locator("#comparison section").all()) {
      const button = section.locator("tbody button").first();
      if (await button.count()) await button.click();
    }
    await settled(page);
    assert.deepEqual(await missing(page), []);
    assert.match(await page.locator("#shared text.label.left").first().textContent(), /这里/);
    await screenshot(page, "lab-shared-chinese");
    await expectNoSidewaysScroll(page);
  }));
