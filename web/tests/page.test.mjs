// The page as a whole: it starts, alone, on every size of window and in both colour schemes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { dist, expectAccessible, expectNoSidewaysScroll, screenshot, withPage } from "./harness.mjs";

for (const width of [1280, 360]) {
  for (const scheme of ["light", "dark"]) {
    test(`starts and is accessible at ${width} px, ${scheme}`, () =>
      withPage({ width, scheme }, async (page) => {
        assert.match(await page.title(), /Bufferscope/);
        assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1, "one main heading");
        await expectAccessible(page, { whole: true });
        await expectNoSidewaysScroll(page);
        await screenshot(page, `page-${width}-${scheme}`);
      }));
  }
}

test("lets nothing out that the reader drops on it", () =>
  withPage({ expected: /example\.org|Content Security Policy/ }, async (page) => {
    const reached = await page.evaluate(() => fetch("https://example.org/").then(() => true, () => false));
    assert.equal(reached, false);
    const policy = await page.locator("meta[http-equiv='Content-Security-Policy']").getAttribute("content");
    assert.match(policy, /default-src 'none'.*connect-src 'self'/);
  }));

test("says what it needs when JavaScript is off", () => {
  assert.match(readFileSync(join(dist, "index.html"), "utf8"), /<noscript>[\s\S]+JavaScript/);
});
