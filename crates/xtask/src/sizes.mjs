// Prints what the first load of the page costs: raw, and as a host compresses it.
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = process.argv[2];
const number = new Intl.NumberFormat("en");
const line = (name, sizes) =>
  console.log(name.padEnd(44), ...sizes.map((size) => (typeof size === "number" ? number.format(size) : size).padStart(11)));

// Folders hold what is fetched on demand; the first load is what lies beside the page.
const files = readdirSync(dist, { withFileTypes: true })
  .filter((entry) => entry.isFile() && [".html", ".css", ".js", ".wasm", ".svg"].includes(extname(entry.name)))
  .map((entry) => entry.name)
  .sort();

const total = [0, 0, 0];
line("", ["raw", "gzip", "brotli"]);
for (const file of files) {
  const bytes = readFileSync(join(dist, file));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  const sizes = [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes, { params }).length];
  sizes.forEach((size, column) => (total[column] += size));
  line(file, sizes);
}
line("first load, in bytes", total);
