// How long it takes from pulling an end of a live range to the new packing on the screen.
//
//   node web/tests/measure/drag.mjs [MODULE] [MOVES]
//
// Run by hand on the published page (`cargo xtask build`, or the folder in BUFFERSCOPE_DIST). It drags the end of the
// selected range of chapter 5's exhibit to and fro. For each frame in which the pointer moved it takes two times:
//
//   work     from the pointer's event reaching the page until the frame is handed over: packing, picture, style, layout,
//            paint. At most 16.7 ms of it keep 60 frames a second.
//   cpu      of the work, what the page's main thread itself took: the same on a machine that has other things to do.
//   latency  from the time the browser stamped on the event until then, so with the wait for the next frame: even a page
//            that did nothing would have up to 16.7 ms of it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { settled, withPage } from "../harness.mjs";

const [module = "transformer_train", moves = "240"] = process.argv.slice(2);

/** Runs in the page: notes a pair of times for each frame with a move. */
function watch() {
  const times = [];
  let pending = null;
  const { port1, port2 } = new MessageChannel();
  // A message sent in an animation frame arrives when style, layout and paint of that frame are done.
  port1.onmessage = () => {
    const now = performance.now();
    times.push({ work: now - pending.reached, latency: now - pending.stamped });
    pending = null;
  };
  window.addEventListener(
    "pointermove",
    (event) => {
      if (pending !== null) return;
      pending = { stamped: event.timeStamp, reached: performance.now() };
      requestAnimationFrame(() => port2.postMessage(null));
    },
    { capture: true },
  );
  window.dragTimes = times;
}

/** The CPU time of each task of the main thread that dispatched a move; with frames in step, that is the whole frame. */
function cpuTimes(trace) {
  const spans = trace.traceEvents.filter((event) => event.ph === "X");
  const moves = spans.filter((event) => event.name === "EventDispatch" && event.args.data?.type === "pointermove");
  const tasks = spans.filter((event) => event.name === "ThreadControllerImpl::RunTask" && moves.some((move) => move.tid === event.tid));
  return moves.map((move) => {
    const around = tasks.filter(({ tid, ts, dur }) => tid === move.tid && ts <= move.ts && ts + dur >= move.ts + move.dur);
    return Math.max(...around.map(({ tdur }) => tdur / 1000));
  });
}

function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
}

test(`drag to painted, ${module}`, () =>
  withPage({ width: 1280, height: 900, path: `#v2/drag/drag=m=${module}` }, async (page) => {
    const figure = page.locator("#drag");
    await figure.locator(".stage:not(.asleep)").waitFor();
    await figure.locator(".timeline .layer-band rect").first().waitFor();
    await settled(page);
    await figure.getByLabel("parameters and results too").check();
    await settled(page);
    const handle = figure.locator(".handle.end");
    await handle.scrollIntoViewIfNeeded();
    await settled(page);
    const [box, plot] = [await handle.boundingBox(), await figure.locator(".timeline .plot").boundingBox()];
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.evaluate(watch);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.evaluate(() => (window.dragTimes.length = 0));
    const reach = plot.x + plot.width - x - 4;
    const heaps = new Set();
    const folder = mkdtempSync(join(tmpdir(), "drag-"));
    const traced = join(folder, "trace.json");
    const browser = page.context().browser();
    await browser.startTracing(page, { path: traced, categories: ["devtools.timeline", "toplevel"] });
    for (let n = 1; n <= +moves; n += 1) {
      // There and back, twice.
      const across = Math.abs(((n / +moves) * 4) % 2 - 1);
      await page.mouse.move(x + reach * (1 - across), y);
      if (n % 20 === 0) heaps.add(await figure.locator(".card").getAttribute("data-heap"));
    }
    const times = await page.evaluate(() => window.dragTimes);
    await browser.stopTracing();
    const cpu = cpuTimes(JSON.parse(readFileSync(traced, "utf8")));
    rmSync(folder, { recursive: true });
    await page.mouse.up();
    await settled(page);
    const count = await page.evaluate(() => ({
      rows: document.querySelectorAll("#drag .timeline .layer-band rect").length,
      temporaries: document.querySelectorAll("#drag figure.heap .layer-band rect").length,
      agent: navigator.userAgent.replace(/.*?(Chrome\/\S+).*/, "$1"),
    }));
    const of = (all) => {
      return [0.5, 0.95, 1].map((share) => percentile(all, share).toFixed(1).padStart(6)).join("  ");
    };
    const words = [
      `${module}: ${count.rows} buffers, ${count.temporaries} on the heap, ${times.length} frames of ${moves} moves, ${heaps.size} sizes of the heap seen`,
      `               p50     p95     max   (ms)`,
      `  work     ${of(times.map((time) => time.work))}`,
      `  cpu      ${of(cpu)}`,
      `  latency  ${of(times.map((time) => time.latency))}`,
      `  ${count.agent}, ${cpus().length} × ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}`,
    ];
    console.log(words.join("\n"));
    assert.ok(times.length > +moves / 4, "frames were drawn");
    assert.ok(heaps.size > 1, "the pull did something to the heap");
  }));
