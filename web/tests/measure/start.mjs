// How long the page takes from a cold cache to the first figure that answers.
//
//   node web/tests/measure/start.mjs [RUNS]
//
// Run by hand on the published page (`cargo xtask build`, or the folder in BUFFERSCOPE_DIST). Files are served as a good host
// serves them, compressed with brotli. The browser starts with an empty cache, its processor slowed down four times. Each run
// notes, in milliseconds after the navigation began:
//
//   text    the first paint of something to read
//   alive   the first figure is drawn, and choosing another value has changed what it says
//   all     every chapter is on the page
//   longest the longest task of the main thread after the first figure is alive: how long a key may have to wait
//
// once over a connection that costs nothing, and once over one of 10 Mbit/s with 40 ms to the host and back.
import { createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { chromium } from "playwright-core";

const dist = process.env.BUFFERSCOPE_DIST ?? fileURLToPath(new URL("../../../dist", import.meta.url));
const runs = Number(process.argv[2] ?? 5);
const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain", ".wasm": "application/wasm", ".woff2": "font/woff2" };

// Compressed beforehand, because that takes longer than everything that is measured.
const kept = new Map();
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !TYPES[extname(file)] || /\blab\b/.test(entry.name)) continue;
  const raw = readFileSync(file);
  const packed = extname(file) === ".woff2" ? raw : brotliCompressSync(raw, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: raw.length } });
  kept.set(file, { packed, isPacked: packed !== raw });
}
let sent = 0;
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  const file = join(dist, pathname === "/" ? "index.html" : decodeURIComponent(pathname));
  if (!kept.has(file)) return void response.writeHead(404).end();
  const { packed, isPacked } = kept.get(file);
  sent += packed.length;
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", ...(isPacked && { "Content-Encoding": "br" }) });
  response.end(packed);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${server.address().port}/`;

/** Runs in the page before anything else: notes when the first figure answers. */
function watch() {
  const times = { alive: null, all: null, longest: 0 };
  window.startTimes = times;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (times.alive !== null && entry.startTime > times.alive) times.longest = Math.max(times.longest, entry.duration);
  }).observe({ type: "longtask", buffered: true });
  const said = () => document.querySelector("#slabs .told-here")?.textContent;
  let before = null;
  const look = () => {
    if (times.alive === null) {
      if (before === null) {
        const choice = document.querySelector("#slabs select");
        const other = [...(choice?.options ?? [])].find((option) => option.value && option.value !== choice.value);
        if (other && said() && document.querySelector("#slabs svg .band")) {
          before = said();
          choice.value = other.value;
          choice.dispatchEvent(new Event("change", { bubbles: true }));
        }
      } else if (said() !== before) times.alive = performance.now();
    }
    if (times.all === null && document.querySelector("main") && !document.querySelector("main[aria-busy=true]")) times.all = performance.now();
    if (times.alive === null || times.all === null) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

async function run(network) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu"] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  if (network) await session.send("Network.emulateNetworkConditions", { offline: false, latency: 40, downloadThroughput: 10e6 / 8, uploadThroughput: 5e6 / 8 });
  await page.addInitScript(watch);
  sent = 0;
  page.on("pageerror", (error) => console.log(`thrown: ${error}`));
  await page.goto(url, { waitUntil: "commit" });
  const aliveBytes = page.waitForFunction(() => window.startTimes.alive !== null, undefined, { timeout: 120_000 }).then(() => sent);
  await page.waitForFunction(() => window.startTimes.alive !== null && window.startTimes.all !== null, undefined, { timeout: 120_000 });
  await page.waitForTimeout(1500);
  const times = await page.evaluate(() => ({ ...window.startTimes, text: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN }));
  const bytes = await aliveBytes;
  await browser.close();
  return { ...times, bytes };
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
console.log(`${dist}\n${cpus().length} x ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}, ${runs} runs each, medians; CPU slowed down 4 times`);
await run(false); // Warms the machine.
for (const network of [false, true]) {
  const all = [];
  for (let n = 0; n < runs; n += 1) all.push(await run(network));
  const of = (name) => Math.round(median(all.map((one) => one[name])));
  console.log(
    `${network ? "10 Mbit/s, 40 ms" : "no limit        "}  text ${of("text")} ms, alive ${of("alive")} ms (at most ${of("bytes")} bytes sent by then), all ${of("all")} ms, longest task after that ${of("longest")} ms`,
  );
}
server.close();
