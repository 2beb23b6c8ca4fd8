// Shows a page in another language. English is the language of the sources: all the page writes is English, the engine's
// sentences included. A locale is a table from English to its own language (assets/locales/LANGUAGE.json); this script
// reads what the page has written, looks it up, and writes what the table has, before anything is painted. A reader of
// English fetches neither this script nor a table.
//
// A key of the table is a text with slots: "{0} ends at step {1}." What stands in a slot is a name, a number, or an element
// of the page (a link, a control), and stays; `{0:temporary=…,parameter=…}` in a translation names words that are
// translated there. "<dfn>…</dfn>" is an element that marks its text. A text that is made of several keys, one after the
// other, is translated piece by piece. Names and code are never looked up: an element that holds only such says
// translate="no", or is of a kind in VERBATIM.

/** Elements whose text is code or names. */
const VERBATIM = "code, pre, script, noscript, style, textarea, .code, .dump-line .text, [translate='no']";
/** Elements that mark a piece of text and may stand in a key by name. */
const MARKS = new Set(["DFN", "EM", "B", "STRONG", "I", "KBD", "SUB", "SUP", "SMALL", "CODE"]);
const ATTRIBUTES = ["aria-label", "aria-valuetext", "aria-description", "aria-roledescription", "title", "placeholder", "alt", "label", "data-label"];
/** Elements of a block are numbered in this range of characters, which nobody writes. */
const FIRST = 0xe000;
const LAST = 0xf8ff;
/** A text longer than this is no sentence of ours. */
const LONGEST = 4000;
const KEPT = 4000;
/** Phrases within phrases, in several attempts; ways to cut one text for one key, and keys tried for a text: more than any text of ours needs. */
const SHALLOW = [1, 2, 3];
const DEEP = [1, 2, 3, 4, 6, 10];
const TRIES = 200;
const WORK = 800;
const ALL_WORK = 6000;
const SENTENCES_OF_A_KEY = 12;

const PERIODS = /(?<=[.!?…][)"'”]?)\s+(?=\S)/gu;
const COLONS = /(?<=[.!?…:][)"'”]?)\s+(?=\S)/gu;
const SENTENCES = /[.!?]\s+[A-Z\ue000-\uf8ff]/u;
const isWord = /\p{L}{2}/u;
const WORDS = /[\p{L}\p{N}'’-]+/gu;
const SIZE = "[+−±-]?<?[\\d.,]+ ?(?:[KMGTPE]i?B|B|%|µs|us|ms|s)?(?: \\([^()]*\\d[^()]*\\))?";
/** An operation of MLIR, whole or as a graph has it. */
const OPERATION = '(?:%\\S+ = )?(?:"[\\w.]+"\\([^]*|[\\w.]+(?: [%^]\\S+(?:, [%^]\\S+)*)?)';
/** A name, also with an index, a size, or a signature behind it, a number, a size, an operation; elements count as names. */
const ATOM = new RegExp(`^(?:${SIZE}|\\S+(?: \\{[\\d,]*\\})?(?: \\((?:${SIZE}|[^()\\s]+)\\))?|\\S+ \\([^]*\\w\\[[^]*|${OPERATION})$`, "u");
/** Words of ours that are names in most modules. */
const OPCODES = new Set("add after all and broadcast call compare constant copy convert custom divide domain dot early fusion gather infeed iota later map maximum minimum multiply not outfeed pad parameter partition reduce replica reverse rng scatter select sign slice sort subtract tan transpose tuple while bitcast cosine sine conditional concatenate".split(" "));
/** What stands between phrases, and what stands there in Chinese. */
const SEPARATORS = [
  [" · ", " · "],
  [": ", "："],
  ["; ", "；"],
  [", ", "，"],
];
/** What a piece within a sentence begins with, and as much of it as tells whether there is one. */
const BREAKS = new Set(" ,;:.(·");
const START = 3;
/** What a sentence or a heading ends with, where code puts it behind a phrase. */
const ENDS = { ".": "。", ":": "：", ";": "；", "?": "？" };
const hasWords = (element) => element !== null && [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && isWord.test(n.data));
const isElement = (c) => c >= FIRST && c <= LAST;
const small = (text) => text.charAt(0).toLowerCase() + text.slice(1);

/** Turns texts of one language into another. A table is an object of templates. */
export class Translator {
  #exact = new Map();
  #byWord = new Map(); // templates with slots, by the rarest word of each
  #starts = new Set(); // how pieces within a sentence begin
  #memo = new Map();
  #pieces = new Map(); // what has been tried for the text at hand
  #depth = 0;
  #deepest = 0;
  #left = 0; // of the work for one attempt, and for one text
  #total = 0;
  #busy = false;
  #strict = false;
  #ours = new Set(); // words of the keys

  constructor(table) {
    const templates = [];
    const uses = new Map();
    for (const [key, value] of variants(table)) {
      const template = compile(key, value);
      if (template.parts.every((p) => typeof p === "string")) this.#exact.set(key, value);
      else {
        templates.push(template);
        for (const word of template.words) uses.set(word, (uses.get(word) ?? 0) + 1);
      }
      for (const word of template.words) if (/^[a-z]{3,}$/.test(word) && !OPCODES.has(word)) this.#ours.add(word);
      if (BREAKS.has(key[0])) this.#starts.add(key.slice(0, START));
    }
    for (const template of templates) {
      const rarest = template.words.reduce((a, b) => ((uses.get(a) ?? 0) <= (uses.get(b) ?? 0) ? a : b), template.words[0] ?? "");
      if (!this.#byWord.has(rarest)) this.#byWord.set(rarest, []);
      this.#byWord.get(rarest).push(template);
    }
  }

  /** The translation of a text, or undefined. `marks` gives the name and the text of each element in it. */
  text(text, marks = []) {
    if (text.length > LONGEST) return undefined;
    // A word beside an element is one with it; a name has more than letters.
    if (ATOM.test(text) && !(marks.length && /^[\ue000-\uf8ff]*\p{L}{2,}[\ue000-\uf8ff]*$/u.test(text))) return this.#exact.get(text) ?? text;
    const key = marks.length ? `${text}\u0000${marks.map((m) => (m.text === undefined ? "" : `${m.tag}:${m.text}`)).join("\u0000")}` : text;
    if (this.#memo.has(key)) return this.#memo.get(key);
    const outermost = !this.#busy;
    if (outermost) {
      this.#busy = true;
      this.#total = ALL_WORK / 3;
      this.#left = WORK;
    }
    // What could be a word of ours is taken for a name only where nothing else fits.
    if (outermost) this.#strict = true;
    let found = this.#found(text, marks);
    if (found === undefined && outermost) {
      this.#strict = false;
      this.#total = ALL_WORK;
      found = this.#found(text, marks);
    }
    if (outermost) this.#busy = false;
    // What was given up within another text may yet be found alone.
    if (!outermost && (found === undefined || !this.#strict)) return found;
    if (this.#memo.size >= KEPT) this.#memo.clear();
    this.#memo.set(key, found);
    return found;
  }

  #found(text, marks) {
    return (
      this.#search([0], () => this.#piece(text, marks)) ??
      this.#trimmed(text, marks) ??
      this.#sentences(text, marks, SHALLOW, PERIODS) ??
      this.#search(SHALLOW, () => this.#piece(text, marks)) ??
      this.#sentences(text, marks, DEEP, COLONS) ??
      this.#search(DEEP, () => this.#phrase(text, marks)) ??
      this.#search(DEEP, () => this.#joined(text, marks))
    );
  }

  #isName(text) {
    return ATOM.test(text) && !(this.#strict && this.#ours.has(text));
  }

  /** What is simple is found with little nesting, and most ways that lead nowhere are given up early by it. */
  #search(nesting, look) {
    for (const deepest of nesting) {
      if (this.#total < 0) return undefined;
      this.#pieces.clear();
      this.#total -= WORK / 2 - this.#left / 2;
      this.#left = WORK;
      this.#deepest = deepest;
      const found = look();
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A phrase, within others up to the depth at hand. */
  #phrase(text, marks) {
    if (this.#depth >= this.#deepest || this.#left < 0) return undefined;
    this.#left -= 1;
    this.#depth += 1;
    const found = this.#piece(text, marks) ?? this.#numbered(text, marks) ?? this.#parts(text, marks);
    this.#depth -= 1;
    return found;
  }

  /** One key, as a whole: the one with the most words whose slots hold what may stand in them. A sentence of ours may begin with a
   * capital where the key does not. */
  #piece(text, marks) {
    // What is deeper in is given up earlier.
    const key = `${this.#depth} ${text}`;
    if (!this.#pieces.has(key)) this.#pieces.set(key, this.#looked(text, marks));
    return this.#pieces.get(key);
  }

  #looked(text, marks) {
    const exact = this.#said(text);
    if (exact !== undefined) return exact;
    // Code may have put the end of a sentence behind a phrase.
    const end = ENDS[text.at(-1)];
    const phrase = end && text.slice(0, -1);
    const whole = end && this.#said(phrase);
    if (whole !== undefined) return whole + end;
    this.#left -= 1;
    if (this.#left < 0) return undefined;
    const words = new Set(text.match(WORDS) ?? []);
    const [first] = words;
    if (first) words.add(small(first));
    words.add("");
    const found = [];
    for (const word of words) {
      for (const template of this.#byWord.get(word) ?? []) if (template.words.every((w) => words.has(w)) && mayFit(template, text)) found.push(template);
    }
    found.sort((a, b) => b.weight - a.weight);
    for (const template of found) {
      if (this.#left < 0) return undefined;
      this.#left -= 1;
      const ended = end && this.#filled(template, phrase, marks);
      if (ended) return ended + end;
      const filled = this.#filled(template, text, marks);
      if (filled !== undefined) return filled;
    }
    return undefined;
  }

  #said(text) {
    const said = this.#exact.get(text) ?? this.#exact.get(small(text));
    if (said !== undefined || !text.endsWith("…") || text.length < 8) return said;
    // A label that was cut to its room. Chinese takes less.
    const start = text.slice(0, -1);
    for (const [key, value] of this.#exact) if (key.startsWith(start)) return value;
    return undefined;
  }

  /** A template's translation for a text, if there is a way to cut the text into what it has and what may stand in its slots. */
  #filled({ parts, out }, text, marks) {
    const slots = new Map();
    const found = [];
    let tries = TRIES;
    const from = (i, at) => {
      if (i === parts.length) return at === text.length;
      const part = parts[i];
      if (typeof part === "string") {
        if (text.startsWith(part, at) || (i === 0 && small(text.slice(0, part.length)) === part)) return from(i + 1, at + part.length);
        return false;
      }
      if (part.mark) {
        const mark = marks[text.charCodeAt(at) - FIRST];
        if (mark?.tag !== part.mark || mark.text !== part.text) return false;
        found.push(text[at]);
        if (from(i + 1, at + 1)) return true;
        found.pop();
        return false;
      }
      const known = slots.get(part.slot);
      if (known !== undefined) return text.startsWith(known, at) && from(i + 1, at + known.length);
      for (const end of ends(parts, i, text, at)) {
        tries -= 1;
        if (tries < 0 || this.#left < 0) return false;
        const content = text.slice(at, end);
        // A slot is at most a part of a sentence.
        if (SENTENCES.test(content)) continue;
        slots.set(part.slot, content);
        if (this.#slot(part, content, out, marks) !== undefined && from(i + 1, end)) return true;
        slots.delete(part.slot);
      }
      return false;
    };
    if (!from(0, 0)) return undefined;
    // Marks come in the order of the key: a table whose marks are in another order is refused by the tests.
    let next = 0;
    const said = join(out.map((p) => (typeof p === "string" ? p : p.mark ? `${found[next++]}\u0001${p.text}\u0001` : this.#slot(p, slots.get(p.slot) ?? "", out, marks))));
    return inOrder(said) ? said : undefined;
  }

  /** What stands in a slot stays if it is a name, a number, a size, or a list of such; a phrase of ours is translated; for
   * anything else the key does not fit. */
  #slot({ slot }, text, out, marks) {
    const words = out.find((p) => p.slot === slot)?.words;
    if (words?.has(text)) return words.get(text);
    if (words?.has("*")) return text;
    if (text === "") return text;
    if (ATOM.test(text)) return this.#isName(text) ? text : undefined;
    return this.#slotted(text, marks);
  }

  #slotted(text, marks) {
    if (ATOM.test(text)) return this.#exact.get(text) ?? (this.#isName(text) ? text : undefined);
    // An opcode with its article.
    return this.#listed(text, marks) ?? this.#phrase(text, marks) ?? /^an? (\S+)$/.exec(text)?.[1];
  }

  /** A list of names, or of phrases of ours. */
  #listed(text, marks) {
    const [, all, more] = /^(.*?)(?:,? and ([\d,]+) more)?$/s.exec(text);
    const pieces = all.split(/(?:, and |, | and )(?![^()]*\))/);
    if (pieces.length < 2 && !more) return undefined;
    const said = pieces.map((p) => (this.#isName(p) ? p : this.#phrase(p, marks)));
    if (said.includes(undefined)) return undefined;
    if (more) return `${said.join("、")} 等，另有 ${more} 个`;
    return `${said.slice(0, -1).join("、")} 和 ${said.at(-1)}`;
  }

  /** Without the space and the elements around it. */
  #trimmed(text, marks) {
    const [, before, inner, after] = /^([\s\ue000-\uf8ff]*)([^]*?)([\s\ue000-\uf8ff]*)$/u.exec(text);
    if (inner === text || !inner) return undefined;
    const found = this.text(inner, marks);
    return found === undefined ? undefined : join([before, found, after]);
  }

  /** Several sentences: those that one key has, then the rest. */
  #sentences(text, marks, nesting, ends) {
    for (const end of [...text.matchAll(ends)].slice(0, SENTENCES_OF_A_KEY)) {
      const head = text.slice(0, end.index);
      const first = this.#search([0], () => this.#piece(head, marks)) ?? this.#search(nesting, () => this.#phrase(head, marks) ?? this.#joined(head, marks));
      const tail = first === undefined ? undefined : this.text(text.slice(end.index + end[0].length), marks);
      if (tail !== undefined) return join([first, " ", tail]);
    }
    return undefined;
  }

  /** A number before a phrase of ours, or behind one. */
  #numbered(text, marks) {
    const [, number, counted] = /^([\d,]+\.?|[+−±][\d.,]+ (?:[KMGT]i)?B(?: \([^()]*\))?) (\D.*)$/.exec(text) ?? [];
    const found = counted && this.#piece(counted, marks);
    if (found) return `${number} ${found}`;
    const [, phrase, size] = /^(.*): ([^:]*)$/.exec(text) ?? [];
    const said = phrase && ATOM.test(size) ? this.#piece(phrase, marks) : undefined;
    return said && `${said}：${size}`;
  }

  /** Names, numbers and phrases of ours with a mark between them. */
  #parts(text, marks) {
    for (const [mark, ours] of SEPARATORS) {
      for (let at = text.indexOf(mark, 1); at > 0 && this.#left >= 0; at = text.indexOf(mark, at + 1)) {
        const head = text.slice(0, at);
        const first = ATOM.test(head) ? (this.#exact.get(head) ?? head) : this.#piece(head, marks);
        const rest = text.slice(at + mark.length);
        const tail = first === undefined ? undefined : this.#slotted(rest, marks);
        if (tail !== undefined) return first + ours + tail;
        if (first !== undefined && text.endsWith("…") && !text.includes(mark, at + 1)) return `${first}${ours}…`;
      }
    }
    return this.#listed(text, marks);
  }

  /** Several keys within one sentence: cut where one of them may begin or end. */
  #joined(text, marks) {
    const key = `${this.#depth}\u0000${text}`;
    if (this.#pieces.has(key)) return this.#pieces.get(key);
    this.#pieces.set(key, undefined);
    const cuts = [];
    for (let at = text.length - 1; at > 0; at -= 1) {
      if (BREAKS.has(text[at]) && this.#starts.has(text.slice(at, at + START))) cuts.push(at);
      else if (text[at - 1] === " " && text[at] !== " " && BREAKS.has(text[at - 2])) cuts.push(at);
    }
    for (const cut of cuts) {
      if (this.#left < 0) break;
      const head = this.#piece(text.slice(0, cut), marks);
      if (head === undefined) continue;
      const rest = text.slice(cut);
      const tail = this.#piece(rest, marks) ?? this.#phrase(rest.trim(), marks) ?? this.#joined(rest, marks);
      if (tail === undefined) continue;
      this.#pieces.set(key, join([head, tail]));
      break;
    }
    return this.#pieces.get(key);
  }
}

/** The table, with its keys as a page may have them, too: a piece of a text without the space that joins it to the others, code
 * without its backquotes, and as an element. */
function* variants(table) {
  const given = new Set(Object.keys(table));
  for (const [key, value] of Object.entries(table)) {
    yield [key, value];
    // Sentences before and behind others that stand in a slot.
    const [, before, slot, after = ""] = /^(.*[.!?:]) (\{\d+\})(?: ([^{][^]*))?$/s.exec(key) ?? [];
    const said = slot && value.split(slot);
    if (said?.length === 2) {
      for (const [k, v] of [[before, said[0]], [after, said[1]]]) {
        if (k && v && !given.has(k) && !/^[{\W\d}]*$/.test(k)) {
          given.add(k);
          yield [k, v];
        }
      }
    }
    const more = [(text) => text.trim()];
    if (key.includes("`")) more.push((text) => text.replace(/`([^`]*)`/g, "$1"), (text) => text.replace(/`([^`]*)`/g, (_, code) => (code.includes("{") ? code : `<code>${code}</code>`)));
    for (const change of more) {
      const other = change(key);
      if (given.has(other)) continue;
      given.add(other);
      yield [other, change(value)];
    }
  }
}

/** Whether what a template has of its own is there at all. */
function mayFit({ parts }, text) {
  const [first, last] = [parts[0], parts.at(-1)];
  if (typeof first === "string" && !text.startsWith(first) && small(text.slice(0, first.length)) !== first) return false;
  if (typeof last === "string" && !text.endsWith(last) && !text.slice(0, -1).endsWith(last)) return false;
  return parts.every((p, i) => typeof p !== "string" || i === 0 || text.includes(p));
}

/** Where a slot that begins at a place may end: before what comes next in the key, or, where another slot follows, behind a word. */
function* ends(parts, i, text, at) {
  const next = parts[i + 1];
  if (next === undefined) yield text.length;
  else if (typeof next === "string") {
    // A slot beside another one may be empty.
    for (let end = text.indexOf(next, parts[i - 1]?.slot ? at : at + 1); end >= 0; end = text.indexOf(next, end + 1)) yield end;
  } else if (next.mark) {
    for (let end = at + 1; end < text.length; end += 1) if (isElement(text.charCodeAt(end))) yield end;
  } else {
    const places = [...text.slice(at).matchAll(/(?<=[^\s,;:(])(?=[\s,;:.()]|$)|(?<=\s)(?=\S)|[\ue000-\uf8ff]/gu)].map((m) => at + m.index + m[0].length);
    yield* places.reverse();
    yield at;
  }
}

/** Elements are the page's and stay where it put them. */
function inOrder(text) {
  let last = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (!isElement(code)) continue;
    if (code < last) return false;
    last = code;
  }
  return true;
}

/** Full-width punctuation brings its own space with it. */
function join(pieces) {
  let out = "";
  for (const piece of pieces) {
    if (/^\s+$/.test(piece) && /[，。；：！？、”）]$/.test(out)) continue;
    out += /[，。；：！？、”）]$/.test(out) ? piece.replace(/^ /, "") : piece;
  }
  return out.replace(/ (?=[，。；：！？、”）])/g, "");
}

const TOKEN = /\{(\d+)(?::([^}]*))?\}|<(\w+)>(.*?)<\/\3>/g;

/** A key or a translation: text, slots and marks, in their order. */
function parts(text) {
  const found = [];
  let at = 0;
  for (const token of text.matchAll(TOKEN)) {
    if (token.index > at) found.push(text.slice(at, token.index));
    at = token.index + token[0].length;
    if (token[1] === undefined) found.push({ mark: token[3].toUpperCase(), text: token[4] });
    else found.push({ slot: token[1], words: new Map((token[2] ?? "").split(",").filter(Boolean).map((pair) => pair.split("="))) });
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

function compile(key, value) {
  const cut = parts(key);
  // A word that touches a slot may be a part of one in the text.
  const whole = cut.map((p, i) => (typeof p === "string" ? p.replace(i > 0 ? /^[\p{L}\p{N}'’-]+/u : "", "").replace(i < cut.length - 1 ? /[\p{L}\p{N}'’-]+$/u : "", "") : " "));
  const weight = cut.filter((p) => typeof p === "string").join("").replace(/\s/g, "").length;
  return { parts: cut, out: parts(value), words: whole.join(" ").match(WORDS) ?? [], weight };
}

/** What is translated now, for the tests. */
export const pages = new Set();

/** Keeps a document, or a shadow tree, in the language of a translator. */
export class Page {
  #translator;
  #root;
  #watch;
  /** What the page wrote, and what stands there instead: by text node, and by element and attribute. */
  #texts = new Map();
  #attributes = new Map();
  #made = new Set(); // text nodes of our own
  /** Texts with words for which the table has nothing, for the tests. */
  missing = new Set();

  constructor(translator, root) {
    this.#translator = translator;
    this.#root = root;
    this.#watch = new MutationObserver((list) => this.#changed(list));
    this.#all(root);
    this.#watch.takeRecords();
    pages.add(this);
    this.#watch.observe(this.#root, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ATTRIBUTES });
  }

  /** Back to English. */
  end() {
    this.#watch.disconnect();
    pages.delete(this);
    for (const [node, { was, is }] of this.#texts) if (node.data === is) node.data = was;
    for (const [element, names] of this.#attributes) {
      for (const [name, { was, is }] of names) if (element.getAttribute(name) === is) element.setAttribute(name, was);
    }
    for (const node of this.#made) node.remove();
  }

  #changed(list) {
    const blocks = new Set();
    for (const change of list) {
      if (change.type === "attributes") this.#attribute(change.target, change.attributeName);
      else if (change.type === "characterData") {
        if (change.target.parentElement ?? change.target.parentNode) blocks.add(change.target.parentNode);
      } else {
        blocks.add(change.target);
        for (const node of change.addedNodes) if (node.nodeType === Node.ELEMENT_NODE) this.#all(node);
      }
    }
    for (const block of blocks) {
      if (!block.isConnected) continue;
      this.#block(block);
      // A mark's text is part of the block around it.
      if (MARKS.has(block.tagName) && block.parentNode) this.#block(block.parentNode);
    }
    this.#watch.takeRecords();
    if (this.#texts.size > 20_000) this.#forget();
  }

  #forget() {
    for (const node of this.#texts.keys()) if (!node.isConnected) this.#texts.delete(node);
    for (const element of this.#attributes.keys()) if (!element.isConnected) this.#attributes.delete(element);
    for (const node of this.#made) if (!node.isConnected) this.#made.delete(node);
  }

  #all(root) {
    const elements = root.nodeType === Node.ELEMENT_NODE ? [root, ...root.querySelectorAll("*")] : [...root.querySelectorAll("*")];
    for (const element of elements) {
      for (const name of ATTRIBUTES) if (element.hasAttribute(name)) this.#attribute(element, name);
      this.#block(element);
    }
  }

  #attribute(element, name) {
    const text = element.getAttribute(name);
    let names = this.#attributes.get(element);
    if (text === null || !isWord.test(text) || names?.get(name)?.is === text || element.closest?.("[translate='no']")) return;
    const is = this.#translator.text(text);
    if (is === undefined) {
      this.#miss(text, element);
      return;
    }
    if (!names) this.#attributes.set(element, (names = new Map()));
    names.set(name, { was: text, is });
    if (is !== text) element.setAttribute(name, is);
  }

  /** What the page wrote into a text node. */
  #was(node) {
    const known = this.#texts.get(node);
    return known && known.is === node.data ? known.was : node.data;
  }

  #put(node, was, is) {
    this.#texts.set(node, { was, is });
    if (node.data !== is) node.data = is;
  }

  #block(element, alone = false) {
    if (element.nodeType !== Node.ELEMENT_NODE || element.closest(VERBATIM)) return;
    // Of a mark within a text the block around it takes care.
    if (!alone && MARKS.has(element.tagName) && hasWords(element.parentElement)) return;
    const nodes = [...element.childNodes].filter((n) => !this.#made.has(n));
    const texts = nodes.filter((n) => n.nodeType === Node.TEXT_NODE);
    if (texts.length === 0) return;
    let text = "";
    const elements = [];
    const marks = [];
    for (const node of nodes) {
      if (node.nodeType === Node.TEXT_NODE) text += this.#was(node);
      else if (node.nodeType === Node.ELEMENT_NODE) {
        text += String.fromCodePoint(FIRST + elements.length);
        const isMark = MARKS.has(node.tagName) || node.matches(".code");
        const inner = isMark && node.childElementCount === 0 ? [...node.childNodes].map((n) => (n.nodeType === Node.TEXT_NODE ? this.#was(n) : "")).join("") : undefined;
        elements.push(node);
        marks.push({ tag: node.matches(".code") ? "CODE" : node.tagName, text: inner });
      }
    }
    if (!isWord.test(text)) return;
    const found = this.#translator.text(text, marks);
    if (found === undefined) {
      this.#miss(text, element);
      for (const node of texts) if (this.#was(node) !== node.data) node.data = this.#was(node);
      return;
    }
    this.#write(element, nodes, elements, found);
  }

  /** Puts a translation into a block: the text between two elements into the first text node there is between them. */
  #write(element, nodes, elements, found) {
    const gaps = [""];
    const order = [];
    for (let i = 0; i < found.length; i += 1) {
      const code = found.charCodeAt(i);
      if (!isElement(code)) {
        gaps[gaps.length - 1] += found[i];
        continue;
      }
      order.push(code - FIRST);
      gaps.push("");
      if (found[i + 1] !== "\u0001") {
        if (MARKS.has(elements[code - FIRST]?.tagName)) this.#block(elements[code - FIRST], true);
        continue;
      }
      const end = found.indexOf("\u0001", i + 2);
      const mark = elements[code - FIRST];
      const inner = [...mark.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE);
      inner.forEach((n, k) => this.#put(n, this.#was(n), k ? "" : found.slice(i + 2, end)));
      i = end;
    }
    // Elements are the page's and stay where it put them.
    if (order.some((n, i) => n !== i) || order.length !== elements.length) return this.#miss(found, element);
    let gap = 0;
    let written = false;
    for (const node of nodes) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (!written && gaps[gap]) this.#between(element, node, gaps[gap]);
        gap += 1;
        written = false;
      } else if (node.nodeType === Node.TEXT_NODE) {
        this.#put(node, this.#was(node), written ? "" : gaps[gap]);
        written = true;
      }
    }
    if (!written && gaps[gap]) this.#between(element, null, gaps[gap]);
    return undefined;
  }

  /** Text where the page has none. */
  #between(element, before, text) {
    const last = before ? before.previousSibling : element.lastChild;
    if (last && this.#made.has(last)) {
      last.data = text;
      return;
    }
    const node = document.createTextNode(text);
    this.#made.add(node);
    element.insertBefore(node, before);
  }

  #miss(text, element) {
    const place = (e) => e && `${e.tagName.toLowerCase()}.${e.getAttribute("class") ?? ""}`;
    const at = [element.parentElement?.parentElement, element.parentElement, element].map(place).filter(Boolean).join(" > ");
    if (this.missing.size < 2000) this.missing.add(`${text.replace(/[\ue000-\uf8ff]/g, "□")}   <${at}>`);
  }
}
