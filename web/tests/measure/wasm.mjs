// What the engines take as WebAssembly in Chromium, beside the same command natively.
//
//   cargo build --release -p bufferscope
//   cargo build --profile wasi -p bufferscope --target wasm32-wasip1
//   node web/tests/measure/wasm.mjs MODULE.txt [RUNS]
//
// Run by hand. Both run `bufferscope assign - --timings` on the module, in turn; the browser keeps one compiled program and
// makes a new instance for each run. Its first run is told apart: until the browser has compiled hot code a second time, it
// runs what it made in a hurry. Wanted: later runs at most 1.7 times the native time.
//
// `CARGO_TARGET_DIR` is looked up as Cargo does. The program has no files: the module comes on standard input.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("../../../target", import.meta.url));
const [path, runs = "7"] = process.argv.slice(2);
if (!path) throw new Error("which module? give the path of its text");
const text = readFileSync(path);
const program = readFileSync(join(target, "wasm32-wasip1/wasi/bufferscope.wasm"));

/** Runs in a worker: the least of a system that the command needs. */
async function worker() {
  const module = await WebAssembly.compileStreaming(fetch("/bufferscope.wasm"));
  const text = new Uint8Array(await (await fetch("/module.txt")).arrayBuffer());
  onmessage = async () => {
    let memory = null;
    let at = 0;
    let told = "";
    const args = ["bufferscope", "assign", "-", "--timings"].map((arg) => new TextEncoder().encode(`${arg}\0`));
    const view = () => new DataView(memory.buffer);
    const pieces = (list, count) =>
      Array.from({ length: count }, (_, i) => new Uint8Array(memory.buffer, view().getUint32(list + 8 * i, true), view().getUint32(list + 8 * i + 4, true)));
    const calls = {
      args_sizes_get: (count, bytes) => (view().setUint32(count, args.length, true), view().setUint32(bytes, args.reduce((sum, arg) => sum + arg.length, 0), true), 0),
      args_get(list, buffer) {
        for (const [i, arg] of args.entries()) {
          view().setUint32(list + 4 * i, buffer, true);
          new Uint8Array(memory.buffer, buffer).set(arg);
          buffer += arg.length;
        }
        return 0;
      },
      environ_sizes_get: (count, bytes) => (view().setUint32(count, 0, true), view().setUint32(bytes, 0, true), 0),
      environ_get: () => 0,
      clock_time_get: (_clock, _precision, out) => (view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true), 0),
      random_get: (buffer, length) => (crypto.getRandomValues(new Uint8Array(memory.buffer, buffer, length)), 0),
      fd_read(fd, list, count, out) {
        let read = 0;
        for (const piece of pieces(list, count)) {
          const part = text.subarray(at, at + piece.length);
          piece.set(part);
          at += part.length;
          read += part.length;
        }
        view().setUint32(out, read, true);
        return fd === 0 ? 0 : 8;
      },
      fd_write(fd, list, count, out) {
        let written = 0;
        for (const piece of pieces(list, count)) {
          if (fd === 2) told += new TextDecoder().decode(piece.slice());
          written += piece.length;
        }
        view().setUint32(out, written, true);
        return 0;
      },
      proc_exit(status) {
        throw new Error(`exit ${status}: ${told}`);
      },
    };
    // No such file, no such call.
    const wasi = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, calls[name] ?? (() => 8)]));
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi });
    memory = instance.exports.memory;
    try {
      instance.exports._start();
    } catch (error) {
      if (!/^exit 0/.test(error.message)) told = `${error}`;
    }
    postMessage(told);
  };
  postMessage("");
}

/** Milliseconds by stage. */
function stages(told) {
  const lines = [...told.matchAll(/^(\w+) +([\d.]+) (µs|ms|s)\b/gm)];
  if (lines.length < 5) throw new Error(`no timings: ${told.slice(0, 500)}`);
  return Object.fromEntries(lines.map(([, stage, time, unit]) => [stage, time * { µs: 0.001, ms: 1, s: 1000 }[unit]]));
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

const server = createServer((request, response) => {
  const files = { "/": ["text/html", "<!doctype html><title>.</title>"], "/worker.js": ["text/javascript", `(${worker})();`], "/bufferscope.wasm": ["application/wasm", program], "/module.txt": ["text/plain", text] };
  const [type, body] = files[request.url] ?? ["text/plain", ""];
  response.writeHead(200, { "Content-Type": type }).end(body);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const inBrowser = () =>
    page.evaluate(async () => {
      const next = () => new Promise((done) => (self.running.onmessage = ({ data }) => done(data)));
      if (!self.running) {
        self.running = new Worker("/worker.js");
        await next();
      }
      const answer = next();
      self.running.postMessage(null);
      return answer;
    });
  const natively = () => {
    const { stderr, status } = spawnSync(join(target, "release/bufferscope"), ["assign", "-", "--timings"], { input: text, stdio: ["pipe", "ignore", "pipe"] });
    if (status !== 0) throw new Error(`${stderr}`);
    return stages(`${stderr}`);
  };
  const first = stages(await inBrowser());
  // Hot code is compiled meanwhile.
  for (let i = 0; i < 4; i += 1) await inBrowser();
  const [wasm, native] = [[], []];
  for (let i = 0; i < +runs; i += 1) {
    wasm.push(stages(await inBrowser()));
    native.push(natively());
  }
  console.log(`${(text.length / 1e6).toFixed(1)} MB, medians of ${runs}, in ms\n${"".padEnd(12)}  native    wasm   ratio   first run`);
  for (const stage of Object.keys(first)) {
    const [a, b] = [median(native.map((n) => n[stage])), median(wasm.map((w) => w[stage]))];
    console.log(`${stage.padEnd(12)}${a.toFixed(2).padStart(8)}${b.toFixed(2).padStart(8)}${(b / a).toFixed(2).padStart(8)}${first[stage].toFixed(2).padStart(12)}`);
  }
  console.log(`${(await browser.version()).replace(/\..*/, "")}, ${cpus().length} × ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}`);
} finally {
  await browser.close();
  server.close();
}
