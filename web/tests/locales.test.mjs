// The tables of other languages: that they have a text for every English one, and what reads them.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Translator } from "../locale.js";
import { SCRIPTS, lessonFiles, lessonTexts, root, rustFiles, rustStrings, rustTexts, scriptTexts, texts } from "./texts.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");
const table = JSON.parse(read("assets/locales/zh-Hans.json"));
const notShown = JSON.parse(read("assets/locales/not-shown.json"));
const shown = (key) => JSON.stringify(key).slice(0, 300);

test("every text has a translation, or is named as one that no reader of a page sees", () => {
  const all = texts();
  const files = new Set(notShown.files);
  const others = new Set(notShown.texts);
  const seen = (places) => places.some((place) => !files.has(place.split(":")[0]));
  const missing = [...all].filter(([key, places]) => !(key in table) && !others.has(key) && seen(places));
  assert.deepEqual(
    missing.map(([key, places]) => `${shown(key)}   ${places[0]}`),
    [],
    "new texts: add each as a key to assets/locales/zh-Hans.json with its translation, or, if no page shows it (a class, a key, text of a file), to assets/locales/not-shown.json",
  );
  const needless = notShown.texts.filter((key) => !all.has(key) || key in table);
  assert.deepEqual(needless, [], "in assets/locales/not-shown.json, but not in the sources, or translated: take them out");
});

test("every key of a table is still said somewhere", () => {
  const words = (text) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  const sources = rustFiles().flatMap((f) => rustStrings(read(f)));
  for (const f of lessonFiles()) sources.push(...lessonTexts(read(f)).map(([text]) => text));
  for (const f of ["index.html", "lab.html", "web/boot.js", "web/language.js", "lab/lab-boot.js", "web/boot-single.js", ...SCRIPTS]) sources.push(read(f));
  for (const f of readdirSync(join(root, "crates/assigner/tests/rules"))) sources.push(read(`crates/assigner/tests/rules/${f}`));
  const said = ` ${sources.map(words).join(" | ")} `;
  // A key may join pieces that the sources have apart, but no more than a few to a stretch between two slots.
  const covered = (piece) => {
    let rest = words(piece);
    for (let cuts = 0; rest && cuts < 4; cuts += 1) {
      let end = rest.length;
      while (end > 0 && !said.includes(rest.slice(0, end))) end = rest.lastIndexOf(" ", end - 1);
      if (end <= 0) return false;
      rest = rest.slice(end).trim();
    }
    return rest === "";
  };
  const left = Object.keys(table).filter((key) => !key.split(/\{\d+\}|<\/?\w+>/).every((piece) => covered(piece)));
  assert.deepEqual(left.map(shown), [], "nothing in the sources says this any more: take it out of assets/locales/zh-Hans.json, or change it with its text");
});

test("a translation has the slots and marks of its text, and the table is in order", () => {
  const slots = (text) => [...new Set([...text.matchAll(/\{(\d+)(?::[^}]*)?\}/g)].map((m) => m[1]))].sort();
  const marks = (text) => [...text.matchAll(/<(\w+)>(.*?)<\/\1>/g)].map((m) => (m[1] === "code" ? m[0] : m[1]));
  const wrong = [];
  for (const [key, value] of Object.entries(table)) {
    const few = slots(value).filter((s) => !slots(key).includes(s));
    if (few.length) wrong.push(`${shown(key)}: has no slot ${few}`);
    if (marks(key).join() !== marks(value).join()) wrong.push(`${shown(key)}: other marks, or in another order`);
    if (!value.trim()) wrong.push(`${shown(key)}: empty`);
  }
  assert.deepEqual(wrong, []);
  const sorted = Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
  assert.ok(read("assets/locales/zh-Hans.json") === `${JSON.stringify(sorted, null, 1)}\n`, "the table is sorted by key, each key once, one a line");
});

test("texts are found in Rust as a reader sees them", () => {
  const of = (source) => rustTexts(source).map(([key]) => key);
  assert.deepEqual(of('view! { <p class="quiet big">"One " <dfn>"word"</dfn> " of " {name} ". " <Rule section="1" /></p> }'), ["One <dfn>word</dfn> of {0}. {1}"]);
  assert.deepEqual(of('format!("{name} goes into {}: {{x}}", at)'), ["{0} goes into {1}: {x}"]);
  assert.deepEqual(of('x.expect("never seen here"); // "a comment"\nlet a = "Told \\\n   to all";'), ["Told to all"]);
  assert.deepEqual(of('let a = \'"\'; let b = r#"HLO of a module"#; self.expect("a shape")'), ["a shape"]);
  assert.deepEqual(of('let a = "Before tests"; #[cfg(test)] mod tests { let b = "In tests"; }'), ["Before tests"]);
});

test("texts are found in a script", () => {
  const of = (source) => scriptTexts(source).map(([key]) => key);
  assert.deepEqual(of('make("p", { className: "Not this one", title: "But this one" }, `and ${f(`of ${x}`)} this`); // "a comment"'), ["But this one", "and {0} this"]);
  assert.deepEqual(of('if (e.key === "Escape") throw new Error(`There is no ${name}.`);'), ["There is no {0}."]);
});

const small = new Translator({
  "{0} ends at step {1}.": "{0} 到第 {1} 步结束。",
  "{0} is wanted until step {1}": "{0} 用到第 {1} 步",
  " {0} moves from {1} to {2}": "{0} 从 {1} 移到 {2}",
  ", and {0} other values move too.": "，另外还有 {0} 个值移动。",
  "{0} memory": "{0:fast=快速,slow=慢速}内存",
  "fast": "快",
  "Nothing moved.": "什么也没动。",
  "No: {0}. The heap takes {1}.": "不行：{0}。堆占 {1}。",
  "{0} does not read {1}": "{0} 不读 {1}",
  "{0} values": "{0} 个值",
  "Peak{0}": "峰值{0}",
  " at step {0}": "（第 {0} 步）",
  "a number": "一个数",
  "Most of it: {0}.": "主要是：{0:*}。",
  "use `x.y` here": "这里用 `x.y`",
});

test("a text is put together from the keys that it was made of", () => {
  const say = (text) => small.text(text);
  assert.equal(say("dot.1 ends at step 3."), "dot.1 到第 3 步结束。");
  assert.equal(say("Nothing moved. dot.1 ends at step 3."), "什么也没动。dot.1 到第 3 步结束。");
  assert.equal(say("No: a reverse does not read sort.6. The heap takes 4,096 B."), "不行：reverse 不读 sort.6。堆占 4,096 B。");
  assert.equal(say("a.1, b.2 and c.3 is wanted until step 4"), "a.1、b.2 和 c.3 用到第 4 步");
  assert.equal(say("a and 12 more is wanted until step 4"), "a 等，另有 12 个 用到第 4 步");
  assert.equal(say("dot.1 moves from 0 to 64, and 3 other values move too."), "dot.1 从 0 移到 64，另外还有 3 个值移动。");
  assert.equal(say("Peak at step 9"), "峰值（第 9 步）");
  assert.equal(say("Nothing moved. Nobody knows."), undefined, "half a text is none");
  assert.equal(say("12 values · fast"), "12 个值 · 快");
  assert.equal(say("use x.y here"), "这里用 x.y");
  assert.equal(say("Most of it: 2 × f32[2]{0} copy-start, 1.0 KiB (67 %)."), "主要是：2 × f32[2]{0} copy-start, 1.0 KiB (67 %)。");
});

test("names stay, whatever they look like", () => {
  const say = (text) => small.text(text);
  assert.equal(say("fast is wanted until step 4"), "fast 用到第 4 步", "a value may be called as one of our words");
  assert.equal(say("fast memory"), "快速内存", "unless the translation says which words may stand there");
  assert.equal(say("Nothing.moved ends at step 3."), "Nothing.moved 到第 3 步结束。");
  for (const name of ["<img/src=x>", "{0}", "{0:fast=x}", "$&", "$1", "__proto__", "constructor", "\\", "步", "a{0}b"]) {
    assert.equal(say(`${name} ends at step 3.`), `${name} 到第 3 步结束。`);
  }
  for (const text of ["constructor", "toString", "", " ", "(", "{0} ends at step {1}.", "a ".repeat(1500), "ends at step. ".repeat(200), "\ue000 \ue001"]) {
    const started = performance.now();
    const is = say(text);
    assert.ok(is === undefined || typeof is === "string");
    assert.ok(performance.now() - started < 8000, `${text.slice(0, 30)} takes too long`);
  }
});

test("the sentences of a drag are found at once", () => {
  const all = new Translator(table);
  const sentence = (n) => `sort.${n} no longer shares with concatenate.10: sort.${n} and concatenate.10 are both alive from step ${n} to step ${n + 1}. concatenate.10 moves from 4,928 to 8,960, and ${n} other values move too.`;
  assert.match(all.text(sentence(1)), /sort\.1 不再与 concatenate\.10 共用/);
  const started = performance.now();
  for (let n = 2; n < 102; n += 1) assert.ok(all.text(sentence(n)));
  assert.ok(performance.now() - started < 4000, "a hundred take much less than four seconds, even on a busy machine");
});
