// Prints what the first load of each page costs: raw, and as a host compresses it. Compares it with what is written in
// web/size.json, so that nobody makes the page heavier without seeing it: `sizes.mjs DIST FILE [--record] [--agree]`.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** More than this share of the recorded size, up or down, is to be recorded. */
const SLACK = 0.02;

const [dist, record, ...flags] = process.argv.slice(2);
const number = new Intl.NumberFormat("en");
const line = (name, sizes) =>
  console.log(name.padEnd(44), ...sizes.map((size) => (typeof size === "number" ? number.format(size) : size).padStart(11)));

// Folders hold what is fetched on demand, but for the fonts; the first load is what lies beside the page.
const beside = readdirSync(dist, { withFileTypes: true })
  .filter((entry) => entry.isFile() && [".html", ".css", ".js", ".wasm", ".svg"].includes(extname(entry.name)))
  .map((entry) => entry.name)
  .filter((name) => name !== "rules.html" && name !== "report-shell.html")
  .sort();
// The lab is a page of its own, whose files keep their names.
const SHARED = ["report.css", "fonts.css", "icon.svg", "style.css", "tokens.css"];
const isLab = (name) => /^lab[._-]/.test(name) || SHARED.includes(name);
const fonts = existsSync(join(dist, "fonts"))
  ? readdirSync(join(dist, "fonts")).filter((name) => name.endsWith(".woff2")).sort().map((name) => `fonts/${name}`)
  : [];

const measured = {};
function load(title, files, wasm, whole) {
  const total = [0, 0, 0];
  line("", ["raw", "gzip", "brotli"]);
  for (const file of files) {
    const bytes = readFileSync(join(dist, file));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    // Fonts are compressed already; hosts send them as they are.
    const sizes = file.endsWith(".woff2")
      ? [bytes.length, bytes.length, bytes.length]
      : [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes, { params }).length];
    sizes.forEach((size, column) => (total[column] += size));
    line(file, sizes);
    if (file.endsWith(".wasm")) measured[wasm] = sizes[2];
  }
  line(`${title}, in bytes`, total);
  measured[whole] = total[2];
}
load("first load", [...beside.filter((name) => !isLab(name)), ...fonts], "wasm_brotli", "first_load_brotli");
load("the lab", [...beside.filter((name) => isLab(name) || name === "boot.js"), ...fonts], "lab_wasm_brotli", "lab_brotli");

const shell = join(dist, "report-shell.html");
if (existsSync(shell)) line("report-shell.html, in every report", [readFileSync(shell).length, gzipSync(readFileSync(shell), { level: 9 }).length]);

if (flags.includes("--record")) {
  writeFileSync(record, `${JSON.stringify(measured, null, 2)}\n`);
  console.log(`recorded in ${record}`);
} else {
  const kept = existsSync(record) ? JSON.parse(readFileSync(record, "utf8")) : {};
  const differing = Object.entries(measured).filter(([name, size]) => !(Math.abs(size - (kept[name] ?? 0)) <= SLACK * kept[name]));
  for (const [name, size] of differing) {
    console.log(`${name}: ${number.format(size)} bytes, but ${record} says ${number.format(kept[name] ?? 0)}`);
  }
  if (differing.length) {
    console.log("If that is meant, `cargo xtask build --record-size` writes it down.");
    if (flags.includes("--agree")) process.exit(1);
  }
}
