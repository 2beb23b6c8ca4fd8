// Prints what the first load of each page costs: raw, and as a host compresses it; and what each part that is fetched later
// costs. Compares it with what is written in web/size.json, so that nobody makes the page heavier without seeing it, and with
// what web/budget.json allows at most: `sizes.mjs DIST FILE BUDGET [--record] [--agree]`.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** More than this share of the recorded size, up or down, is to be recorded. */
const SLACK = 0.02;

const [dist, record, budget, ...flags] = process.argv.slice(2);
const number = new Intl.NumberFormat("en");
const line = (name, sizes) =>
  console.log(name.padEnd(44), ...sizes.map((size) => (typeof size === "number" ? number.format(size) : size).padStart(11)));

// Folders hold what is fetched on demand, but for the fonts; the first load is what lies beside the page.
// Rules, the shell of reports and what translates are fetched by those who want them.
const beside = readdirSync(dist, { withFileTypes: true })
  .filter((entry) => entry.isFile() && [".html", ".css", ".js", ".wasm", ".svg"].includes(extname(entry.name)))
  .map((entry) => entry.name)
  .filter((name) => !["rules.html", "figures.html", "report-shell.html", "locale.js"].includes(name))
  .sort();
// The lab is a page of its own, whose files keep their names.
const SHARED = ["report.css", "fonts.css", "icon.svg", "style.css", "tokens.css"];
const isLab = (name) => /^lab[._-]/.test(name) || SHARED.includes(name);
const fonts = existsSync(join(dist, "fonts"))
  ? readdirSync(join(dist, "fonts")).filter((name) => name.endsWith(".woff2")).sort().map((name) => `fonts/${name}`)
  : [];

const measured = {};
function sizesOf(file) {
  const bytes = readFileSync(join(dist, file));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  // Fonts are compressed already; hosts send them as they are.
  return file.endsWith(".woff2")
    ? [bytes.length, bytes.length, bytes.length]
    : [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes, { params }).length];
}
function load(title, files, wasm, whole) {
  const total = [0, 0, 0];
  line("", ["raw", "gzip", "brotli"]);
  for (const file of files) {
    const sizes = sizesOf(file);
    sizes.forEach((size, column) => (total[column] += size));
    line(file, sizes);
    if (file.endsWith(".wasm")) measured[wasm] = sizes[2];
  }
  line(`${title}, in bytes`, total);
  measured[whole] = total[2];
}
// The program begins with its first part and the script that fetches the others.
const folder = readdirSync(dist).find((name) => name.startsWith("parts-"));
const later = folder ? readdirSync(join(dist, folder)).sort().map((name) => `${folder}/${name}`) : [];
const links = later.filter((name) => name.endsWith(".js"));
load("first load", [...beside.filter((name) => !isLab(name)), ...links, ...fonts], "wasm_brotli", "first_load_brotli");
// A part is its own file and those that it shares, as the comments and the lists of link.js say.
const parts = {};
if (links.length) {
  const script = readFileSync(join(dist, links[0]), "utf8");
  const file = (text) => `${folder}/${/"\.\/([\w-]+\.wasm)"/.exec(text)?.[1]}`;
  const chunks = new Map();
  for (const [, name, body] of script.matchAll(/const (__chunk_\d+) = (makeLoad\([\s\S]*?\n, \[\]\));/g)) chunks.set(name, file(body));
  for (const [, name, body, shared] of script.matchAll(/export const __wasm_split_load_(\w+) = (wrapAsyncCb\(makeLoad\([\s\S]*?\n?, \[([^\]]*)\]\)\));/g)) {
    const files = shared.split(", ").filter(Boolean).map((chunk) => chunks.get(chunk));
    parts[name] = [...files, file(body)];
  }
}
const wholes = Object.keys(parts).length === 0 ? {} : Object.fromEntries(
  Object.entries(parts).map(([name, files]) => {
    const sizes = files.map(sizesOf).reduce((sum, one) => sum.map((n, column) => n + one[column]), [0, 0, 0]);
    line(`part ${name}, ${files.length} files`, sizes);
    return [name, sizes[2]];
  }),
);
const all = later.map(sizesOf).reduce((sum, one) => sum.map((n, column) => n + one[column]), [0, 0, 0]);
line("what is fetched later", all);
measured.later_brotli = all[2];
// The element is for other people's pages: what one of them fetches for it, without language and posters.
const element = ["buffer-scope.js", "embed.js", "embed_bg.wasm"].map((name) => `embed/${name}`);
if (existsSync(join(dist, element[0]))) load("the element", element, "element_wasm_brotli", "element_brotli");
load("the lab", [...beside.filter((name) => isLab(name) || ["boot.js", "language.js", "trusted.js"].includes(name)), ...fonts], "lab_wasm_brotli", "lab_brotli");

const shell = join(dist, "report-shell.html");
if (existsSync(shell)) line("report-shell.html, in every report", [readFileSync(shell).length, gzipSync(readFileSync(shell), { level: 9 }).length]);
const most = JSON.parse(readFileSync(budget, "utf8"));
const over = [
  ["first load", measured.first_load_brotli, most.first_load_brotli],
  ["the element", measured.element_brotli, most.element_brotli],
  ...Object.entries(wholes).map(([name, size]) => [`part ${name}`, size, most.part_brotli]),
].filter(([, size, allowed]) => size > allowed);
for (const [name, size, allowed] of over) {
  console.log(`${name}: ${number.format(size)} bytes, but ${budget} allows ${number.format(allowed)}`);
}
if (over.length && flags.includes("--agree")) process.exitCode = 1;

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
