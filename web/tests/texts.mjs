// The English texts of the sources, as keys of a locale's table (see web/locale.js). What is a text:
//
// - the words directly within an element of `view!`, as one paragraph: other elements and code are slots, a mark ("dfn", "em",
//   ...) that holds nothing but words stands by name;
// - every other string with words: arguments of `format!` and its like become slots, in their order;
// - the strings of the scripts that start the pages, and the texts of the HTML files;
// - the strings of the element for other people's pages.
//
// What stands behind `#[cfg(test)]`, in `expect`, `panic!`, `assert!`, in attributes that nobody reads, and in raw strings
// (modules) is none. This is a reader of strings and tags, not of Rust.
import { readFileSync, readdirSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Crates whose words no page shows: the command, tools, and bytes for fuzzing. */
const NOT_SHOWN = /^crates\/(cli|xtask|fuzzing|wasm-bindgen-tool)\/|\/(fuzzing|tests|examples|bin)(\/|\.rs$)|\/tests?\.rs$/;
const MARKS = new Set(["dfn", "em", "strong", "b", "i", "code", "kbd", "sub", "sup", "small"]);
/** What stands before a string that nobody reads. */
const NO_TEXT =
  /(?:\b(?:class|id|viewBox|d|transform|href|style|type|role|key|name|data-[\w-]+|prop:value|autocomplete|target|rel|for|scope|slug|min|max|step|xmlns|lang|figure|exhibit|fill|stroke|points|aria-controls|aria-live|aria-labelledby|inputmode|spellcheck|translate|layer|anchor|accept)\s*=\s*|\b(?:class|id|slug|key|figure|anchor)\s*:\s*|(?<!self)\.(?:expect|expect_err)\(\s*|\b(?:panic|unreachable|todo|debug_assert\w*|assert\w*|include_str|include_bytes|concat|env|cfg|matches)!\(\s*[^"]{0,80}|#\[[^\]]{0,200})$/;
const FORMAT = /\b\w+!\(\s*(?:&?mut\s+)?(?:[\w.&*]+,\s*)?&?$/;

/** The end of a string, a character or a comment that begins at `i`; 0 when none does. */
function past(text, i) {
  const c = text[i];
  if (c === '"') {
    for (i += 1; text[i] !== '"'; i += 1) if (text[i] === "\\") i += 1;
    return i + 1;
  }
  if (c === "/" && text[i + 1] === "/") {
    const end = text.indexOf("\n", i);
    return end < 0 ? text.length : end;
  }
  if (c === "'") return i + (/^'(?:\\u\{\w+\}|\\.|[^'\\])'/u.exec(text.slice(i, i + 14))?.[0].length ?? -i);
  if (c === "r" && /^r#*"/.test(text.slice(i, i + 6)) && !/\w/.test(text[i - 1] ?? "")) {
    const hashes = /^r(#*)"/.exec(text.slice(i, i + 6))[1];
    return text.indexOf(`"${hashes}`, i + hashes.length + 2) + hashes.length + 1;
  }
  return 0;
}

/** Behind the bracket that closes the one at `i`. */
function balanced(text, i) {
  let depth = 0;
  while (i < text.length) {
    const next = past(text, i);
    if (next > i) {
      i = next;
      continue;
    }
    if ("([{".includes(text[i])) depth += 1;
    if (")]}".includes(text[i])) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
    i += 1;
  }
  throw new Error("a bracket is not closed");
}

const ESCAPES = { n: "\n", t: "\t", r: "\r", 0: "\0" };
const unquoted = (literal) =>
  literal.slice(1, -1).replace(/\\(?:\r?\n\s*|u\{(\w+)\}|x(\w\w)|([^]))/g, (_, u, x, c) => (u ?? x ? String.fromCodePoint(parseInt(u ?? x, 16)) : c ? (ESCAPES[c] ?? c) : ""));

function openTag(text, i) {
  const name = /^<([A-Za-z][\w:.-]*)(?=[\s>/])/.exec(text.slice(i, i + 60))?.[1];
  if (!name) return undefined;
  let j = i + 1 + name.length;
  const from = j;
  for (;;) {
    if (j >= text.length) throw new Error("a tag is not closed");
    const next = past(text, j);
    if (next > j) j = next;
    else if ("([{".includes(text[j])) j = balanced(text, j);
    else if (text.startsWith("/>", j)) return { name, attributes: text.slice(from, j).trim(), empty: true, end: j + 2 };
    else if (text[j] === ">" && text[j - 1] !== "=" && text[j - 1] !== "-") return { name, attributes: text.slice(from, j).trim(), empty: false, end: j + 1 };
    else if (text[j] === ";" || text[j] === "<") throw new Error("no tag");
    else j += 1;
  }
}

/** What is within an element, from behind its tag: words, code and elements, and where it ends. */
function children(text, i, name) {
  const out = [];
  for (;;) {
    while (/\s/.test(text[i]) || text.startsWith("//", i)) i = text[i] === "/" ? past(text, i) : i + 1;
    if (text.startsWith("</", i)) {
      if (!text.startsWith(`</${name}>`, i)) throw new Error("another element ends");
      return { out, end: text.indexOf(">", i) + 1 };
    }
    if (text[i] === '"') {
      const end = past(text, i);
      out.push({ words: unquoted(text.slice(i, end)), at: i });
      i = end;
    } else if (text[i] === "{") i = out[out.push({ end: balanced(text, i) }) - 1].end;
    else if (text[i] === "<") {
      const tag = openTag(text, i);
      if (!tag) throw new Error("no tag");
      const inner = tag.empty ? { out: [], end: tag.end } : children(text, tag.end, tag.name);
      const only = inner.out.length > 0 && inner.out.every((c) => c.words !== undefined);
      const mark = MARKS.has(tag.name) && !tag.attributes ? tag.name : tag.name === "span" && tag.attributes === 'class="code"' ? "code" : undefined;
      out.push(only && mark ? { mark, words: undefined, inner: inner.out } : { end: inner.end });
      i = inner.end;
    } else {
      const code = /^[A-Za-z_][\w.()]*/.exec(text.slice(i, i + 80))?.[0];
      if (!code) throw new Error("no child");
      out.push({ end: i + code.length });
      i += code.length;
    }
  }
}

const HAS_WORDS = /\p{L}{2}/u;

/** The texts of a Rust source: [key, position]. */
export function rustTexts(source) {
  const tests = /#\[cfg\((?:all\()?test/.exec(source);
  const text = tests ? source.slice(0, tests.index) : source;
  const found = [];
  const taken = new Set(); // where strings begin that are part of a paragraph
  let done = 0;
  for (const { index } of text.matchAll(/<[a-zA-Z]/g)) {
    if (index < done) continue;
    let inner;
    try {
      const tag = openTag(text, index);
      if (!tag || tag.empty) continue;
      inner = children(text, tag.end, tag.name);
      if (MARKS.has(tag.name) && tag.name !== "small" && !inner.out.some((c) => c.end)) continue;
      if (/\bclass="[^"]*\bcode\b/.test(tag.attributes) || /translate="no"/.test(tag.attributes)) {
        for (const c of inner.out) if (c.at) taken.add(c.at);
        continue;
      }
    } catch {
      continue;
    }
    if (!inner.out.some((c) => c.words !== undefined && HAS_WORDS.test(c.words))) continue;
    let key = "";
    let slots = 0;
    for (const c of inner.out) {
      if (c.words !== undefined) {
        key += c.words;
        taken.add(c.at);
      } else if (c.mark) {
        key += `<${c.mark}>${c.inner.map((w) => w.words).join("")}</${c.mark}>`;
        for (const w of c.inner) taken.add(w.at);
      } else key += `{${slots++}}`;
    }
    found.push([key, index]);
  }
  for (let i = 0; i < text.length; ) {
    const end = past(text, i);
    if (text[i] === '"' && !taken.has(i)) {
      const before = text.slice(Math.max(0, i - 300), i);
      let key = unquoted(text.slice(i, end));
      if (FORMAT.test(before)) {
        let slots = 0;
        key = key.replace(/\{\{\d+\}\}|\{\{|\}\}|\{[^{}]*\}/g, (m) => (m === "{{" ? "{" : m === "}}" ? "}" : `{${slots++}}`));
      }
      if (isText(key) && !NO_TEXT.test(before)) found.push([key, i]);
    }
    i = end > i ? end : i + 1;
  }
  return found;
}

/** All strings of a Rust source, those of one paragraph as one. */
export function rustStrings(source) {
  const found = [];
  let last = -1;
  for (let i = 0; i < source.length; ) {
    const end = past(source, i);
    if (source[i] === '"') {
      const text = unquoted(source.slice(i, end));
      if (last >= 0 && /^\s*$/.test(source.slice(last, i))) found[found.length - 1] += text;
      else found.push(text);
      last = end;
    }
    i = end > i ? end : i + 1;
  }
  return found;
}

/** Words that might be read: not a name, a class, a path, markup, or a line of a module. */
function isText(key) {
  if (!/[A-Za-z]{2}/.test(key)) return false;
  if (/<\/?\w+[ >/]|^[\w./:#@*-]*[_/:#@*=.-][\w./:#@*=-]*$|^\W*[%^]|:\/\//.test(key)) return false;
  const said = key.replace(/\{\d+\}/g, "");
  return /[A-Za-z]{3}/.test(said) && (/[^\s] [^\s]/.test(key) || /^[A-Z][a-z]/.test(key)|| /^ [a-z]|[a-z] $/.test(key));
}

function files(folder, ending) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((f) => join(folder, String(f)))
    .filter((f) => f.endsWith(ending))
    .sort();
}

export const rustFiles = () =>
  ["web/src", "lab/src", "embed/src", ...readdirSync(join(root, "crates")).map((c) => `crates/${c}/src`)].flatMap((f) => files(f, ".rs")).filter((f) => !NOT_SHOWN.test(f));

/** Scripts that write texts. */
export const SCRIPTS = ["embed/buffer-scope.js"];
/** What stands before a string of a script that nobody reads. */
const NO_TEXT_OF_SCRIPTS = /(?:[!=]==\s*|\b(?:className|type|part|role|allow|accept|import|from|querySelector(?:All)?\(|closest\(|(?:set|get|remove)Attribute\(|\w+EventListener\(|save\(|console\.\w+\()[:\s]*|aria-live"?: )$/;

/** The texts of a script: [key, position]. What stands between braces in a template is a slot. */
export function scriptTexts(source) {
  const found = [];
  const literal = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*`/g;
  for (const { 0: text, index } of source.matchAll(literal)) {
    if (text[0] === "/") continue;
    let slots = 0;
    const key = text.slice(1, -1).replace(/\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}/g, () => `{${slots++}}`).replace(/\\(?:x(\w\w)|n|(.))/g, (_, code, c) => (code ? String.fromCodePoint(parseInt(code, 16)) : (c ?? "\n")));
    if (isText(key) && !NO_TEXT_OF_SCRIPTS.test(source.slice(Math.max(0, index - 60), index))) found.push([key, index]);
  }
  return found;
}

export const lessonFiles = () => files("assets/lessons", ".txt");

/** The texts of a lesson: [key, line]. Code with braces is a slot: in a key it would be taken for one. */
export function lessonTexts(source) {
  const found = [];
  source.split("\n").forEach((line, n) => {
    const [, key, value] = /^(title|about|step|say|predict|ask|choice|right|goal|hint): (.*)$/.exec(line) ?? [];
    let slots = 0;
    if (key) found.push([value.replaceAll(/`[^`]*\{[^`]*`/g, () => `{${slots++}}`).trim(), n + 1]);
  });
  return found;
}

/** Every text with the places where it stands. */
export function texts() {
  const all = new Map();
  const add = (key, place) => {
    if (!all.has(key)) all.set(key, []);
    all.get(key).push(place);
  };
  for (const file of lessonFiles()) {
    for (const [key, line] of lessonTexts(readFileSync(join(root, file), "utf8"))) add(key, `${file}:${line}`);
  }
  for (const file of SCRIPTS) {
    const source = readFileSync(join(root, file), "utf8");
    for (const [key, at] of scriptTexts(source)) add(key, `${file}:${source.slice(0, at).split("\n").length}`);
  }
  for (const file of rustFiles()) {
    const source = readFileSync(join(root, file), "utf8");
    for (const [key, at] of rustTexts(source)) {
      add(key, `${file}:${source.slice(0, at).split("\n").length}`);
    }
  }
  return all;
}
