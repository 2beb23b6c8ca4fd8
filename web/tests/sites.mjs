// The small sites of web/examples, as their generators build them: the exhibit in each is alive. `cargo xtask sites` builds
// them and runs this.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { inBrowser, screenshot, serve } from "./harness.mjs";

const folder = process.env.BUFFERSCOPE_SITES;
assert.ok(folder, "BUFFERSCOPE_SITES names the folder of built sites");
const site = await serve(folder, "/");
after(() => site.close());

/** Where the exhibit is, in each site. */
const PAGES = {
  html: "index.html",
  mdbook: "live-ranges.html",
  sphinx: "index.html",
  mkdocs: "index.html",
  docusaurus: "index.html",
  reveal: "index.html#/1",
};

test("every site is built", () => {
  assert.deepEqual(readdirSync(folder).sort(), Object.keys(PAGES).sort());
  for (const [name, page] of Object.entries(PAGES)) assert.ok(existsSync(join(folder, name, page.split("#")[0])), name);
});

for (const [name, path] of Object.entries(PAGES)) {
  for (const scheme of ["light", "dark"]) {
    test(`${name}, ${scheme}: the exhibit is alive; a pulled end is packed again`, () =>
      inBrowser(async (browser) => {
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: scheme });
        const wrong = [];
        page.on("pageerror", (e) => wrong.push(`thrown: ${e.message}`));
        // A generator's own theme may ask for what is not there; of the element's files all must be there.
        page.on("response", (r) => r.status() >= 400 && r.url().includes("/embed/") && wrong.push(`${r.status()}: ${r.url()}`));
        page.on("request", (r) => !r.url().startsWith(site.url) && !/^(data|blob):/.test(r.url()) && wrong.push(`asked for ${r.url()}`));
        try {
          await page.goto(`${site.url}${name}/${path}`);
          // Docusaurus makes the page's elements anew once its scripts run, and says when it has.
          await page.waitForFunction(() => document.documentElement.dataset.hasHydrated !== "false");
          const element = page.locator("buffer-scope");
          if ((await element.getAttribute("start")) === "click") await element.getByRole("button", { name: "Start the exhibit" }).click();
          await element.scrollIntoViewIfNeeded();
          await page.waitForFunction(() => document.querySelector("buffer-scope").isReady);
          const heap = () => element.evaluate((e) => Number(e.dataset.heap));
          const before = await heap();
          assert.ok(before > 0);
          const handle = element.getByRole("slider", { name: /^End of/ });
          await handle.scrollIntoViewIfNeeded();
          const [from, pane] = [await handle.boundingBox(), await element.getByRole("group", { name: "Timeline" }).boundingBox()];
          const [x, y] = [from.x + from.width / 2, from.y + from.height / 2];
          await page.mouse.move(x, y);
          await page.mouse.down();
          await page.mouse.move(pane.x + pane.width - 4, y, { steps: 8 });
          await page.mouse.up();
          assert.notEqual(await heap(), before, "the packing ran again");
          // The end is where the pointer let it go, whatever the theme does to the page's size.
          const [now, last] = await Promise.all(["aria-valuenow", "aria-valuemax"].map((a) => handle.getAttribute(a)));
          assert.equal(now, last);
          assert.match(await element.evaluate((e) => e.state), /^m=mlp_grad;e=/);
          await screenshot(page, `site-${name}-${scheme}`, { fullPage: false });
          assert.deepEqual(wrong, []);
        } finally {
          await page.close();
        }
      }));
  }
}
