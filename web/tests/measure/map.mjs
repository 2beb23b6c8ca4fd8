// How long the lab's map takes from a hand's movement to the painted frame, by the number of bands.
//
//   node web/tests/measure/map.mjs [BANDS ...]
//
// Run by hand on the published page (`cargo xtask build`, or the folder in BUFFERSCOPE_DIST). For each number of bands (300,
// 10,000 and 100,000 if none is given) it makes a module of so many values, opens it in the lab, and drags, zooms and pans
// its map by mouse, wheel, keys, minimap, two fingers and a range's handle. For each frame with a movement:
//
//   work    from the event reaching the page until the frame is handed over: picture, style, layout, paint
//   cpu     of the work, what the page's main thread itself took: the same on a machine that has other things to do. A key's
//           frame is a task of its own, so that this is of the event alone there
//   scene   of the work, making pixels of the bands
//   draw    of the work, putting the pixels on the canvas
//
// The engine has no share: moving the window asks it nothing. At rest no frame is drawn, which is counted too.
// Wanted of work, in 95 of 100 frames: 8.3 ms at 300 bands, 16.7 ms at 10,000, 33 ms at 100,000.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { settled, withPage } from "../harness.mjs";

const WANTED = [[300, 8.3], [10_000, 16.7], [100_000, 33]];
const numbers = process.argv.slice(2).map(Number);
const MOVES = 120;

/** A scheduled module of `count` values of many sizes, most of them short, some alive for long. */
function module(count) {
  let state = 1;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % below;
  };
  const lines = ["HloModule many, is_scheduled=true", "", "ENTRY e {", "  v.0 = f32[64]{0} parameter(0)"];
  for (let i = 1; i < count; i++) {
    const reach = random(100) < 3 ? Math.min(i, 2000) : Math.min(i, 40);
    lines.push(`  v.${i} = f32[${256 + 16 * random(240)}]{0} custom-call(v.${i - 1}, v.${i - 1 - random(reach)}), custom_call_target="f"`);
  }
  return [...lines, `  ROOT r = f32[16]{0} custom-call(v.${count - 1}), custom_call_target="g"`, "}", ""].join("\n");
}

/** Runs in the page before its scripts: what frames are made of. */
function watch() {
  const seen = { frames: [], pending: null, put: 0, callbacks: 0 };
  window.seen = seen;
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...all) {
    const t = performance.now();
    put.apply(this, all);
    seen.put += performance.now() - t;
  };
  const frame = window.requestAnimationFrame.bind(window);
  let scripted = 0;
  window.requestAnimationFrame = (f) =>
    frame((at) => {
      const t = performance.now();
      f(at);
      scripted += performance.now() - t;
      seen.callbacks += 1;
    });
  const { port1, port2 } = new MessageChannel();
  // A message sent in an animation frame arrives when style, layout and paint of that frame are done.
  port1.onmessage = () => {
    const now = performance.now();
    const { reached } = seen.pending;
    seen.frames.push({ work: now - reached, draw: seen.put, scene: Math.max(0, scripted - seen.put) });
    seen.pending = null;
  };
  for (const kind of ["pointermove", "wheel", "keydown"]) {
    window.addEventListener(
      kind,
      () => {
        if (seen.pending !== null) return;
        seen.pending = { reached: performance.now() };
        seen.put = 0;
        scripted = 0;
        frame(() => port2.postMessage(null));
      },
      { capture: true },
    );
  }
}

/** The CPU time of each task of the main thread that dispatched a movement; with frames in step, that is the whole frame. */
function cpuTimes(trace, kinds) {
  const spans = trace.traceEvents.filter((event) => event.ph === "X");
  const moves = spans.filter((event) => event.name === "EventDispatch" && kinds.includes(event.args.data?.type));
  const tasks = spans.filter((event) => event.name === "ThreadControllerImpl::RunTask" && moves.some((move) => move.tid === event.tid));
  return moves.map((move) => {
    const around = tasks.filter(({ tid, ts, dur }) => tid === move.tid && ts <= move.ts && ts + dur >= move.ts + move.dur);
    return Math.max(...around.map(({ tdur }) => tdur / 1000));
  });
}

function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] : NaN;
}

const of = (all, share) => percentile(all, share).toFixed(1).padStart(6);

async function measure(page, name, kinds, act) {
  await page.evaluate(() => (window.seen.frames.length = 0));
  const folder = mkdtempSync(join(tmpdir(), "map-"));
  const traced = join(folder, "trace.json");
  const browser = page.context().browser();
  await browser.startTracing(page, { path: traced, categories: ["devtools.timeline", "toplevel"] });
  await act();
  const frames = await page.evaluate(() => window.seen.frames);
  await browser.stopTracing();
  const cpu = cpuTimes(JSON.parse(readFileSync(traced, "utf8")), kinds);
  rmSync(folder, { recursive: true });
  const part = (which) => frames.map((f) => f[which]);
  const words = `  ${name.padEnd(12)} ${of(part("work"), 0.5)} ${of(part("work"), 0.95)} ${of(cpu, 0.5)} ${of(cpu, 0.95)} ${of(part("scene"), 0.5)} ${of(part("scene"), 0.95)} ${of(part("draw"), 0.5)} ${of(part("draw"), 0.95)}  ${String(frames.length).padStart(4)}`;
  assert.ok(frames.length > 10, `${name}: ${frames.length} frames`);
  return { words, work: percentile(part("work"), 0.95), cpu: percentile(cpu, 0.95) };
}

for (const count of numbers.length ? numbers : WANTED.map(([n]) => n)) {
  test(`the map with ${count} bands`, { timeout: 900_000 }, () =>
    withPage({ width: 1280, height: 900, path: "lab.html", before: watch, touch: true }, async (page) => {
      const start = Date.now();
      await page.locator("#open-files").setInputFiles({ name: "many.txt", mimeType: "text/plain", buffer: Buffer.from(module(count)) });
      await page.locator("#values tbody tr").first().waitFor({ timeout: 600_000 });
      await page.locator(".busy").waitFor({ state: "detached", timeout: 600_000 });
      const opened = (Date.now() - start) / 1000;
      await page.locator("#map").scrollIntoViewIfNeeded();
      await settled(page);
      const box = await page.locator("#map").boundingBox();
      const middle = [box.x + box.width / 2, box.y + box.height / 2];
      const lines = [];
      const rows = {};
      const run = async (name, kinds, act) => {
        rows[name] = await measure(page, name, kinds, act);
        lines.push(rows[name].words);
      };
      const across = (n) => Math.sin((n / MOVES) * Math.PI * 4);
      await page.locator("#map").focus();
      await run("keys, far", ["keydown"], async () => {
        for (let n = 0; n < MOVES; n++) await page.keyboard.press(["+", "ArrowRight", "-", "ArrowLeft"][n % 4]);
      });
      await page.locator("#fit").click();
      await page.locator("#map").focus();
      await page.mouse.move(...middle);
      await run("wheel", ["wheel"], async () => {
        for (let n = 0; n < MOVES; n++) await page.mouse.wheel(0, n % 24 < 12 ? -120 : 120);
      });
      await page.locator("#fit").click();
      await page.locator("#map").focus();
      for (let n = 0; n < 2; n++) await page.keyboard.press("+");
      await settled(page);
      await run("drag", ["pointermove"], async () => {
        await page.mouse.move(...middle);
        await page.mouse.down();
        for (let n = 1; n <= MOVES; n++) await page.mouse.move(middle[0] + 200 * across(n), middle[1] + 60 * across(n));
        await page.mouse.up();
      });
      const mini = await page.locator(".mini").boundingBox();
      await run("minimap", ["pointermove"], async () => {
        await page.mouse.move(mini.x + mini.width / 2, mini.y + mini.height / 2);
        await page.mouse.down();
        for (let n = 1; n <= MOVES; n++) await page.mouse.move(mini.x + mini.width * (0.5 + 0.4 * across(n)), mini.y + mini.height / 2);
        await page.mouse.up();
      });
      const touch = await page.context().newCDPSession(page);
      await page.locator("#fit").click();
      await run("pinch", ["pointermove"], async () => {
        const points = (d) => [
          { x: middle[0] - d, y: middle[1], id: 1 },
          { x: middle[0] + d, y: middle[1], id: 2 },
        ];
        await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: points(60) });
        for (let n = 1; n <= MOVES; n++) await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: points(120 + 60 * across(n)) });
        await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
      });
      await page.locator("#fit").click();
      await page.locator("#map").focus();
      await page.keyboard.press("]");
      await page.locator("#detail h3").waitFor();
      await page.getByRole("button", { name: "To the selected" }).click();
      await settled(page);
      const handle = page.locator(".handle.end");
      if ((await handle.count()) > 0 && (await handle.isVisible())) {
        const at = await handle.boundingBox();
        await run("range's end", ["pointermove"], async () => {
          await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
          await page.mouse.down();
          for (let n = 1; n <= MOVES; n++) await page.mouse.move(at.x + at.width / 2 + 150 * Math.abs(across(n)), at.y + at.height / 2);
          // Let go where it was, so that nothing is run again.
          await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
          await page.mouse.up();
        });
      }
      await settled(page);
      // What was asked of the worker is answered by then, also of the largest.
      await page.waitForTimeout(4000);
      const before = await page.evaluate(() => window.seen.callbacks);
      await page.waitForTimeout(2000);
      const idle = (await page.evaluate(() => window.seen.callbacks)) - before;
      console.log(
        [
          `${count} bands, opened in ${opened.toFixed(1)} s; ${idle} frames in two seconds at rest`,
          "               work p50   p95    cpu p50   p95  scene p50  p95  draw p50  p95  frames",
          ...lines,
          `  ${cpus().length} × ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}`,
        ].join("\n"),
      );
      assert.equal(idle, 0, "frames at rest");
      const wanted = WANTED.find(([n]) => n >= count)?.[1] ?? 33;
      const late = Object.entries(rows).filter(([, r]) => r.cpu > wanted).map(([name, r]) => `${name} ${r.cpu.toFixed(1)} ms`);
      console.log(late.length ? `  above ${wanted} ms of cpu: ${late.join(", ")}` : `  all within ${wanted} ms of cpu`);
    }));
}
