// <buffer-scope exhibit="drag" module="mlp_grad" theme="auto">: an exhibit of XLA's buffer assignment in any page.
//
// One script, its program beside it, no global style. Elements share the program; none is fetched before an element comes
// near the screen or is clicked. docs/EMBEDDING.md has the attributes, properties and events.
import start, { Exhibit } from "./embed.js";

const ADDRESS = import.meta.url;
/** Where the other files are. A file on a disk is named in no other page. */
const IS_PUBLISHED = /^https?:/.test(ADDRESS);
const HERE = new URL(".", IS_PUBLISHED ? ADDRESS : "https://localhost/");
const VERSION = "@VERSION@";
const STYLE = "@STYLE@";
const FIRST = { module: "varied_temp_sizes", exhibit: "drag" };
/** What there is, the pictures each consists of, and its title. Any other name is that of a figure of the reading page. */
const EXHIBITS = {
  drag: { title: "Live ranges and the heap", timeline: true, heap: true },
  ranges: { title: "Live ranges", timeline: true },
  heap: { title: "The heap", heap: true },
  memory: { title: "All memory of one program", plan: true },
};
const HEADINGS = ["Value", "Opcode", "Start", "End", "Bytes", "Allocation", "Offset", "Same address, another time"];
/** A link longer than this is refused by some of the places where links are pasted. */
const LONGEST_LINK = 8000;
/** A figure of the reading page that says nothing for so long, in milliseconds, is not there. */
const PATIENCE = 20_000;
const SPOKEN = 1;

/** Files that a page brings with it in place of having them fetched: names and their contents. */
const INLINE = globalThis.bufferScopeFiles;

let program;
/** The program, fetched once for all elements; tried again by the next one if it could not be fetched. */
function load() {
  program ??= start({ module_or_path: INLINE?.["embed_bg.wasm"] ?? new URL("./embed_bg.wasm", HERE) }).catch((error) => {
    program = undefined;
    throw error;
  });
  return program;
}

async function moduleText(id) {
  const name = `modules/${id}.txt`;
  if (INLINE) {
    if (!Object.hasOwn(INLINE, name)) throw new Error(`This file does not bring the module "${id}" with it.`);
    return INLINE[name];
  }
  const answer = await fetch(new URL(`./${name}`, HERE));
  if (!answer.ok) throw new Error(`${name} could not be fetched (${answer.status}).`);
  return answer.text();
}

const tables = new Map();
/** What turns English into a language, once for all elements. */
function translator(language) {
  if (!tables.has(language)) {
    tables.set(language, (async () => {
      const name = `locales/${language}.json`;
      const [{ Page, Translator }, table] = await Promise.all([
        INLINE ? INLINE["locale.js"] : import(new URL("./locale.js", HERE)),
        INLINE ? INLINE[name] : fetch(new URL(`./${name}`, HERE)).then((answer) => answer.json()),
      ]);
      const known = new Translator(table);
      return (root) => new Page(known, root);
    })());
  }
  return tables.get(language);
}

/** Is it an exhibit of the element itself? */
export const isOwn = (name) => Object.hasOwn(EXHIBITS, name);

/** The address of another one: a figure of the reading page, which lies beside this folder, and shows it alone. */
export function addressOf(name, state, more) {
  const url = new URL("../index.html", HERE);
  url.search = new URLSearchParams({ exhibit: name, ...more });
  url.hash = state ? `v2/${name}/${name}=${state}` : name;
  return url.href;
}

let sheet;
function style() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
  }
  return sheet;
}

const SVG = "http://www.w3.org/2000/svg";
/** An element with properties, attributes (in `attr`), listeners (in `on`) and children. All text is text. */
function make(name, { attr = {}, on = {}, ...properties } = {}, ...children) {
  const element = name === "svg" || name === "pattern" || name === "rect" || name === "line" || name === "defs"
    ? document.createElementNS(SVG, name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attr)) element.setAttribute(key, value);
  for (const [key, listener] of Object.entries(on)) element.addEventListener(key, listener);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
/** Where a pointer is within an element, in the element's own pixels: slides, for one, may be drawn smaller than they are. */
function within(element, e) {
  const box = element.getBoundingClientRect();
  const scale = element.offsetWidth / box.width || 1;
  return [(e.clientX - box.left) * scale, (e.clientY - box.top) * scale, box.left, scale];
}
const say = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

export class BufferScope extends HTMLElement {
  static observedAttributes = ["exhibit", "module", "lang", "theme", "state", "heading"];

  #root = this.attachShadow({ mode: "open" });
  #exhibit; // the program's part
  #parts; // what was made in the shadow tree
  #text; // the host's own module text
  #near;
  #resize;
  #language; // what keeps the shadow tree in another language than English
  #tongue = "en"; // which language that is
  #isAwake = false; // was it started?
  #turn = 0; // which opening is the newest
  #wanted; // a state that waits for its module
  #inner; // the frame of an exhibit of the reading page, and what it told
  #frame = 0;

  constructor() {
    super();
    this.#root.adoptedStyleSheets = [style()];
  }

  /** The version of this element. */
  static version = VERSION;
  /** The ids of the modules that come with the element; the program has to be there. */
  static async modules() {
    await load();
    return Exhibit.modules();
  }

  get exhibit() {
    return this.getAttribute("exhibit") ?? FIRST.exhibit;
  }
  set exhibit(name) {
    this.setAttribute("exhibit", name);
  }
  get module() {
    return this.getAttribute("module") ?? FIRST.module;
  }
  set module(id) {
    this.setAttribute("module", id);
  }
  /** HLO text in place of a module that comes with the element. */
  get moduleText() {
    return this.#text;
  }
  set moduleText(text) {
    this.#text = text === null || text === undefined ? undefined : String(text);
    // What was done was done to another module.
    if (this.#exhibit) this.#wanted = "";
    if (this.#isAwake) this.#open();
    else if (this.isConnected) this.#showPoster();
  }
  /** What the reader did, as it stands in a link; "" while all is as it first was. */
  get state() {
    return this.#exhibit?.state() ?? this.#inner?.state ?? this.#wanted ?? this.getAttribute("state") ?? "";
  }
  set state(state) {
    this.#go(String(state ?? ""));
  }
  /** Is the exhibit alive? */
  get isReady() {
    return this.#exhibit !== undefined || this.#inner?.state !== undefined;
  }

  connectedCallback() {
    // Set before the element was defined.
    for (const name of ["moduleText", "state"]) {
      if (Object.hasOwn(this, name)) {
        const value = this[name];
        delete this[name];
        this[name] = value;
      }
    }
    this.#showPoster();
    this.#speak();
    this.#near = new IntersectionObserver(
      (entries) => {
        if (entries.some((e) => e.isIntersecting)) this.wake();
      },
      { rootMargin: "400px 0px" },
    );
    if (this.getAttribute("start") !== "click") this.#near.observe(this);
  }

  disconnectedCallback() {
    this.#language?.end();
    this.#language = undefined;
    this.#near?.disconnect();
    this.#tongue = "en";
    this.#wanted = this.isReady ? this.state : this.#wanted;
    this.#close();
    this.#isAwake = false;
    this.#turn += 1;
  }

  #close() {
    this.#resize?.disconnect();
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#inner?.end();
    this.#inner = undefined;
    this.#exhibit?.free();
    this.#exhibit = undefined;
    this.#parts = undefined;
  }

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.isConnected) return;
    if (name === "state") this.#go(now ?? "");
    else if (name === "lang") this.#speak();
    // Colours of our own follow by themselves.
    if (name === "module" || name === "exhibit" || name === "heading" || (this.#inner && (name === "lang" || name === "theme"))) {
      const isOther = name === "module" || name === "exhibit";
      if (this.isReady) this.#wanted = isOther ? "" : this.state;
      if (this.#isAwake) this.#open();
      else this.#showPoster();
    }
  }

  /** Puts this into the shadow tree, in place of what is there. */
  #show(part) {
    part.lang = this.#tongue;
    this.#root.replaceChildren(part);
  }

  #showPoster() {
    const name = isOwn(this.exhibit) ? `${this.exhibit}-${this.module}` : this.exhibit;
    const title = this.getAttribute("heading") ?? EXHIBITS[this.exhibit]?.title ?? this.exhibit;
    const button = make("button", { type: "button", className: "wake", on: { click: () => this.wake() } }, "Start the exhibit");
    const poster = make("div", { className: "poster", attr: { part: "poster" } }, button);
    if (!INLINE && this.#text === undefined && /^[a-z0-9_-]+$/.test(name)) {
      const image = make("img", { alt: `${title}: a picture until the exhibit starts` });
      image.addEventListener("error", () => image.remove());
      image.src = new URL(`./posters/${name}.svg`, HERE).href;
      poster.prepend(image);
    }
    this.#show(poster);
  }

  /** Starts the exhibit now, near the screen or not. */
  async wake() {
    this.#near?.disconnect();
    if (!this.#isAwake) await this.#open();
  }

  async #open() {
    if (!this.isConnected) return;
    this.#isAwake = true;
    const turn = ++this.#turn;
    const state = this.#wanted ?? this.getAttribute("state") ?? "";
    this.#root.firstElementChild?.setAttribute("aria-busy", "true");
    try {
      if (!isOwn(this.exhibit)) {
        this.#openPage(state);
        return;
      }
      await load();
      let [id, text] = this.#text === undefined ? [this.module, undefined] : [undefined, this.#text];
      // A state says what it is a state of; a text of the host's own goes first.
      if (state && this.#text === undefined) {
        text = Exhibit.text_of(state);
        id = text === undefined ? (Exhibit.module_of(state) ?? id) : undefined;
      }
      if (text === undefined) {
        if (!Exhibit.modules().includes(id)) {
          throw new Error(`There is no module "${id}"; there are ${Exhibit.modules().join(", ")}.`);
        }
        text = await moduleText(id);
      }
      if (turn !== this.#turn) return;
      const exhibit = new Exhibit(text, id);
      const isKnown = !state || exhibit.set_state(state);
      this.#close();
      this.#exhibit = exhibit;
      this.#wanted = undefined;
      this.#told = exhibit.state();
      this.#build();
      if (!isKnown) this.#fail(new Error("The state is not one of this module; the exhibit starts from the beginning."), true);
      this.#say("ready", { state: exhibit.state(), version: VERSION });
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#fail(error instanceof Error ? error : new Error(String(error)), false);
    }
  }

  /** A figure of the reading page, in a frame that speaks as embed.html does. */
  #openPage(state) {
    const { exhibit } = this;
    const title = this.getAttribute("heading") ?? exhibit;
    if (INLINE || !/^[a-z][a-z0-9-]*$/.test(exhibit)) {
      throw new Error(`There is no exhibit "${exhibit}" here; there are ${Object.keys(EXHIBITS).join(", ")}.`);
    }
    if (this.#text !== undefined) throw new Error("A module text is for drag, ranges, heap and memory: other exhibits bring their programs with them.");
    this.#close();
    const src = addressOf(exhibit, state, { lang: this.#tongue, theme: this.getAttribute("theme") ?? "auto", origin: location.origin });
    const frame = make("iframe", { src, title, allow: "clipboard-write" });
    const inner = { state: undefined };
    const tell = (message) => frame.contentWindow?.postMessage({ bufferscope: SPOKEN, ...message }, HERE.origin);
    const patience = setTimeout(() => failed(`The exhibit "${exhibit}" does not answer: it needs the whole published page, with this folder in it.`), PATIENCE);
    const failed = (message) => {
      if (this.#inner === inner) this.#fail(new Error(message), false);
    };
    const hear = ({ data, source, origin }) => {
      if (source !== frame.contentWindow || origin !== HERE.origin || data?.bufferscope !== SPOKEN) return;
      if (data.type === "resized" && Number.isFinite(data.height)) frame.style.height = `${Math.min(Math.max(data.height, 0), 20_000)}px`;
      else if (data.type === "error") failed(String(data.message));
      else if (data.type === "ready" || data.type === "stateChanged") {
        const isReady = inner.state !== undefined;
        clearTimeout(patience);
        inner.state = String(data.state);
        this.#told = inner.state;
        this.#root.firstElementChild.removeAttribute("aria-busy");
        if (data.type === "stateChanged") this.#say("statechange", { state: inner.state });
        else if (!isReady) this.#say("ready", { state: inner.state, version: VERSION });
      }
    };
    window.addEventListener("message", hear);
    inner.go = (to) => tell({ type: "setState", state: to });
    inner.end = () => {
      clearTimeout(patience);
      window.removeEventListener("message", hear);
    };
    this.#inner = inner;
    this.#wanted = undefined;
    this.#show(make("div", { className: "page", attr: { part: "exhibit", "aria-busy": "true" } }, frame));
  }

  #say(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: type !== "error", composed: type !== "error" }));
  }

  #fail(error, isAlive) {
    const note = make("p", { className: "error", attr: { role: "alert" } }, error.message);
    if (isAlive) this.#parts.card.append(note);
    else {
      this.#wanted = this.#wanted ?? (this.state || undefined);
      this.#close();
      const again = make("button", { type: "button", on: { click: () => this.#open() } }, "Try again");
      this.#show(make("div", { className: "poster failed" }, note, again));
    }
    this.#say("error", { message: error.message });
  }

  /** The language of the attribute `lang`, of the element or around it; English where there is no table. */
  async #speak() {
    const wanted = this.closest("[lang]")?.getAttribute("lang") ?? "";
    const language = /^zh(?!-(?:Hant|TW|HK|MO)\b)/i.test(wanted) ? "zh-Hans" : "en";
    if (language === this.#tongue) return;
    this.#language?.end();
    this.#language = undefined;
    this.#tongue = language;
    if (this.#root.firstElementChild) this.#root.firstElementChild.lang = language;
    if (language === "en") return;
    try {
      const translate = await translator(language);
      if (this.isConnected && !this.#language && this.#tongue === language) this.#language = translate(this.#root);
    } catch {
      // The exhibit works on in English.
      tables.delete(language);
      this.#tongue = "en";
      if (this.#root.firstElementChild) this.#root.firstElementChild.lang = "en";
    }
  }

  #go(state) {
    if (this.#inner?.state !== undefined) {
      if (state !== this.#inner.state) this.#inner.go(state);
      return;
    }
    if (!this.#exhibit) {
      this.#wanted = state;
      // What is on its way is of another state.
      if (this.#isAwake) this.#open();
      return;
    }
    if (state === this.#exhibit.state()) return;
    if (this.#exhibit.set_state(state)) {
      this.#update(true);
    } else {
      this.#wanted = state;
      this.#open();
    }
  }

  #build() {
    const has = EXHIBITS[this.exhibit];
    const title = this.getAttribute("heading") ?? has.title;
    const p = {};
    const button = (label, click, extra = {}) => make("button", { type: "button", on: { click }, ...extra }, label);
    const act = (change) => () => {
      change(this.#exhibit);
      this.#update(true);
    };
    p.undo = button("Undo", act((e) => e.undo()));
    p.redo = button("Redo", act((e) => e.redo()));
    p.reset = button("Reset", act((e) => e.reset()));
    p.share = this.#share(title);
    const head = make("div", { className: "head" },
      make("h2", { className: "title" }, title),
      make("div", { className: "actions", attr: { role: "group", "aria-label": "Changes" } }, p.undo, p.redo, p.reset, p.share));
    p.task = make("p", { className: "task" });
    p.deed = make("strong");
    p.delta = make("span", { className: "delta" });
    p.rest = make("p");
    p.peak = make("p", { className: "quiet" });
    p.card = make("div", { className: "card" }, make("p", { className: "deed" }, p.deed, " ", p.delta), p.rest, p.peak);
    p.live = make("p", { className: "hidden", attr: { role: "status", "aria-live": "polite" } });
    const figures = make("div", { className: "figures" });
    if (has.timeline) figures.append(this.#timeline(p));
    if (has.heap) figures.append(this.#heap(p));
    if (has.plan) figures.append(this.#plan(p));
    p.readout = make("p", { className: "readout" });
    p.controls = make("div", { className: "controls" });
    if (has.timeline || has.heap) this.#controls(p);
    p.table = make("details", { className: "table", on: { toggle: () => this.#table() } }, make("summary", {}, "Table"), make("div", { className: "scroll", tabIndex: 0, attr: { role: "group", "aria-label": "Table of values" } }));
    p.open = make("a", { hidden: !IS_PUBLISHED, attr: { target: "_blank", rel: "noopener" } }, "Open in Bufferscope");
    const defs = make("svg", { attr: { class: "defs", "aria-hidden": "true", width: "0", height: "0" } },
      make("defs", {}, make("pattern", { attr: { id: "hatch", width: "6", height: "6", patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" } },
        make("rect", { attr: { class: "hatch-ground", width: "6", height: "6" } }),
        make("line", { attr: { class: "hatch-line", x1: "0", y1: "0", x2: "0", y2: "6" } }))));
    const frame = make("section", { className: "exhibit", attr: { part: "exhibit", "aria-label": title }, on: { keydown: (e) => this.#keys(e) } },
      defs, head, p.task, p.card, figures, p.readout, p.controls, p.table, p.live, make("p", { className: "foot" }, p.open));
    this.#parts = p;
    this.#show(frame);
    this.#exhibit.mount(p.timeline?.svg, p.heap?.svg, p.plan?.svg);
    this.#resize = new ResizeObserver(() => this.#draw());
    for (const pane of [p.timeline, p.heap, p.plan]) if (pane) this.#resize.observe(pane.plot);
    this.#update(false);
  }

  #pane(name, heading, said) {
    const svg = make("svg", { attr: { role: "img", "aria-label": said } });
    const plot = make("div", { className: "plot" }, svg);
    const figure = make("figure", { className: name }, make("figcaption", {}, make("b", {}, heading), " ", make("span", { className: "quiet" }, said)), plot);
    return { svg, plot, figure };
  }

  #timeline(p) {
    const pane = this.#pane("timeline", "Live ranges", "a row a buffer, steps across, closed at both ends");
    p.timeline = pane;
    const scroll = make("div", { className: "scroll", tabIndex: 0, attr: { role: "group", "aria-label": "Timeline" } }, pane.plot);
    pane.figure.append(scroll);
    p.all = make("input", { type: "checkbox", on: { change: () => { this.#exhibit.show_all(p.all.checked); this.#update(true); } } });
    pane.figure.querySelector("figcaption").append(make("label", { className: "switch" }, p.all, "parameters and results too"));
    p.handles = ["start", "end"].map((end) => this.#handle(p, end));
    pane.plot.append(...p.handles);
    let held;
    pane.plot.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      const [x, y, left, scale] = within(pane.plot, e);
      const end = this.#exhibit.grip(x, y);
      if (end) {
        // Where the plot begins is asked once: at each move it would make the browser lay out the page.
        held = { left, scale };
        pane.plot.setPointerCapture(e.pointerId);
        pane.plot.classList.add("dragging");
        p.handles[end === "start" ? 0 : 1].focus({ preventScroll: true });
        e.preventDefault();
      }
      this.#update(false);
      this.#tell();
    });
    pane.plot.addEventListener("pointermove", (e) => {
      if (held !== undefined) {
        if (this.#exhibit.pull((e.clientX - held.left) * held.scale)) this.#soon();
        return;
      }
      const [x, y] = within(pane.plot, e);
      this.#exhibit.over_timeline(x, y);
      say(p.readout, this.#exhibit.readout());
    });
    const up = () => {
      if (held === undefined) return;
      held = undefined;
      pane.plot.classList.remove("dragging");
      const changed = this.#exhibit.release();
      this.#update(changed);
    };
    pane.plot.addEventListener("pointerup", up);
    pane.plot.addEventListener("pointercancel", up);
    pane.plot.addEventListener("pointerleave", () => this.#leave(p));
    return pane.figure;
  }

  #handle(p, end) {
    const step = (e) => {
      const [start, stop, last] = this.#exhibit.range() ?? [0, 0, 0];
      const now = end === "start" ? start : stop;
      const to = {
        ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageDown: now - 10, PageUp: now + 10,
        Home: end === "start" ? 0 : start, End: end === "start" ? stop : last,
      }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      if (this.#exhibit.move_end(end, to)) this.#update(false);
    };
    const settle = () => {
      if (this.#exhibit?.settle()) this.#update(true);
    };
    return make("div", { className: `handle ${end}`, tabIndex: 0, attr: { role: "slider", "aria-orientation": "horizontal" }, on: { keydown: step, keyup: settle, blur: settle } });
  }

  #heap(p) {
    const pane = this.#pane("heap", "Heap", "addresses upwards, the same steps across");
    p.heap = pane;
    const at = (e) => {
      const [x, y] = within(pane.plot, e);
      return this.#exhibit.over_heap(x, y);
    };
    pane.plot.addEventListener("pointermove", (e) => {
      at(e);
      say(p.readout, this.#exhibit.readout());
    });
    pane.plot.addEventListener("pointerdown", (e) => {
      const value = at(e);
      if (value !== undefined) {
        this.#exhibit.select(value);
        this.#update(true);
      }
    });
    pane.plot.addEventListener("pointerleave", () => this.#leave(p));
    return pane.figure;
  }

  #plan(p) {
    p.plan = this.#pane("plan", "All slabs", "each frame is an allocation, and its length is its size");
    return p.plan.figure;
  }

  #leave(p) {
    this.#exhibit?.leave();
    if (this.#exhibit) say(p.readout, this.#exhibit.readout());
  }

  #controls(p) {
    p.value = make("select", { on: { change: () => {
      this.#exhibit.select(p.value.value === "" ? undefined : Number(p.value.value));
      this.#update(true);
    } } });
    const stepper = (end, name) => {
      const move = (to) => {
        this.#exhibit.move_end(end, to);
        this.#exhibit.settle();
        this.#update(true);
      };
      const now = () => (this.#exhibit.range() ?? [0, 0])[end === "start" ? 0 : 1];
      const input = make("input", { type: "number", min: "0", inputMode: "numeric", on: { change: () => {
        const to = Number.parseInt(input.value, 10);
        if (Number.isNaN(to)) this.#update(false);
        else move(to);
      } } });
      const less = make("button", { type: "button", attr: { "aria-label": `${name} one step earlier` }, on: { click: () => move(now() - 1) } }, "−");
      const more = make("button", { type: "button", attr: { "aria-label": `${name} one step later` }, on: { click: () => move(now() + 1) } }, "+");
      return { input, less, more, field: make("div", { className: "field" }, make("label", {}, name, input), less, more) };
    };
    p.start = stepper("start", "Start");
    p.end = stepper("end", "End");
    p.breaks = make("ul", { className: "breaks", attr: { "aria-label": "A sharing breaks at" } });
    p.controls.append(make("label", { className: "field" }, "Value", p.value), p.start.field, p.end.field, p.breaks);
  }

  /** Copying and saving, folded. */
  #share(title) {
    const status = make("span", { className: "copied", attr: { role: "status" } });
    const copy = (text) => async () => {
      const value = text();
      if (value === undefined) {
        say(status, "Too long for a link: save the state as a file.");
        return;
      }
      try {
        await navigator.clipboard.writeText(value);
        say(status, "Copied");
      } catch {
        // No clipboard in this frame: the reader can copy it by hand.
        const area = make("textarea", { readOnly: true, value, rows: 3, attr: { "aria-label": "What is to be copied" } });
        list.querySelector("textarea")?.remove();
        list.append(area);
        area.select();
        say(status, "This page may not copy by itself; the text stands below.");
      }
    };
    const save = (name, content) => {
      const url = URL.createObjectURL(content);
      make("a", { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    };
    const link = () => {
      const url = this.#link();
      return url.length > LONGEST_LINK ? undefined : url;
    };
    const tag = () => {
      const state = this.#text === undefined ? this.#exhibit.state() : this.#exhibit.whole_state();
      const attributes = [["exhibit", this.exhibit], ...(this.#text === undefined && !state ? [["module", this.module]] : []), ...(state ? [["state", state]] : [])];
      return `\x3cscript type="module" src="${escaped(new URL("./buffer-scope.js", HERE).href)}">\x3c/script>\n<buffer-scope ${attributes.map(([k, v]) => `${k}="${escaped(v)}"`).join(" ")}></buffer-scope>`;
    };
    const frame = () => {
      const url = new URL("./embed.html", HERE);
      url.search = new URLSearchParams({ exhibit: this.exhibit });
      url.hash = this.#exhibit.whole_state();
      return `<iframe class="bufferscope" src="${escaped(url.href)}" title="${escaped(title)}" width="100%" height="${Math.ceil(this.offsetHeight)}" loading="lazy"></iframe>\n\x3cscript type="module" src="${escaped(new URL("./host.js", HERE).href)}">\x3c/script>`;
    };
    const file = make("input", { type: "file", accept: ".txt,text/plain", hidden: true, attr: { "aria-label": "File with a state" }, on: { change: async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      const state = (await chosen.text()).trim();
      file.value = "";
      this.#go(state);
    } } });
    const entry = (label, click) => make("button", { type: "button", on: { click } }, label);
    const published = [
      entry("Copy link", copy(link)),
      entry("Copy element", copy(tag)),
      entry("Copy frame", copy(frame)),
      entry("Copy Markdown", copy(() => {
        const url = link();
        return url === undefined ? undefined : `[${title.replace(/[[\]\\]/g, "\\$&")}](${url.replace(/\)/g, "%29")})`;
      })),
    ];
    const list = make("div", { className: "menu" },
      ...(IS_PUBLISHED ? published : []),
      entry("Save SVG", () => save(`bufferscope-${this.exhibit}.svg`, new Blob([this.#exhibit.svg(title)], { type: "image/svg+xml" }))),
      entry("Save PNG", async () => {
        try {
          save(`bufferscope-${this.exhibit}.png`, await png(this.#exhibit.svg(title)));
        } catch {
          say(status, "This browser cannot make a PNG of the picture; the SVG can be saved.");
        }
      }),
      entry("Save state", () => save("bufferscope-state.txt", new Blob([this.#exhibit.whole_state()], { type: "text/plain" }))),
      entry("Open state", () => file.click()),
      file,
      status);
    const details = make("details", { className: "share" }, make("summary", {}, "Embed or save"), list);
    details.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || !details.open) return;
      details.open = false;
      details.firstElementChild.focus();
      e.stopPropagation();
    });
    return details;
  }

  #link() {
    return new URL(`../index.html#v2/drag/drag=${this.#exhibit.whole_state()}`, HERE).href;
  }

  #keys(e) {
    if (["INPUT", "SELECT", "TEXTAREA"].includes(e.target.tagName)) return;
    const command = e.ctrlKey || e.metaKey;
    const key = e.key.toLowerCase();
    if (command && key === "z") e.shiftKey ? this.#exhibit.redo() : this.#exhibit.undo();
    else if (command && key === "y") this.#exhibit.redo();
    else if (e.key === "Escape") this.#exhibit.select(undefined);
    else return;
    e.preventDefault();
    this.#update(true);
  }

  /** Draws once before the next picture of the screen. */
  #soon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#update(false);
    });
  }

  #draw() {
    const p = this.#parts;
    if (!this.#exhibit || !p) return;
    const width = (pane) => (pane ? pane.plot.clientWidth : 0);
    const heap = width(p.heap);
    this.#exhibit.draw(width(p.timeline), heap, heap < 420 ? 260 : 340, width(p.plan));
    if (!p.handles) return;
    const at = this.#exhibit.handles();
    p.handles.forEach((handle, i) => {
      handle.hidden = !at;
      if (at) {
        handle.style.left = `${at[i].toFixed(1)}px`;
        handle.style.top = `${at[2].toFixed(1)}px`;
      }
    });
  }

  /** Brings all that is seen up to the state; `settled` also tells those who hear and those who listen. */
  #update(settled) {
    const [e, p] = [this.#exhibit, this.#parts];
    if (!e || !p) return;
    this.#draw();
    const words = e.words();
    p.task.replaceChildren(words.before, ...(words.name ? [make("code", {}, words.name), words.after] : []));
    say(p.deed, words.deed);
    say(p.delta, words.difference);
    p.deed.parentElement.hidden = !words.deed;
    p.delta.classList.toggle("up", words.direction > 0);
    p.delta.classList.toggle("down", words.direction < 0);
    say(p.rest, words.rest);
    say(p.peak, words.peak);
    this.dataset.heap = String(words.heap);
    const [undo, redo, reset] = e.can();
    p.undo.disabled = !undo;
    p.redo.disabled = !redo;
    p.reset.disabled = !reset;
    say(p.readout, e.readout());
    const range = e.range();
    for (const [i, end] of ["start", "end"].entries()) {
      const handle = p.handles?.[i];
      if (handle && range) {
        handle.setAttribute("aria-label", `${end === "start" ? "Start" : "End"} of ${words.name}`);
        handle.setAttribute("aria-valuemin", String(i ? range[0] : 0));
        handle.setAttribute("aria-valuenow", String(range[i]));
        handle.setAttribute("aria-valuemax", String(i ? range[2] : range[1]));
        handle.setAttribute("aria-valuetext", e.end_words(end));
      }
      const stepper = p[end];
      if (stepper) {
        stepper.input.value = range ? String(range[i]) : "";
        for (const part of [stepper.input, stepper.less, stepper.more]) part.disabled = !range;
      }
    }
    if (p.all) p.all.checked = e.shows_all();
    if (p.value) {
      const rows = e.rows();
      const key = rows.map((r) => r.value).join();
      if (p.value.dataset.key !== key) {
        p.value.dataset.key = key;
        p.value.replaceChildren(make("option", { value: "" }, "none"), ...rows.map((r) => make("option", { value: String(r.value) }, r.name)));
      }
      const selected = e.selected();
      p.value.value = selected === undefined ? "" : String(selected);
      p.breaks.replaceChildren(...e.breaks().map((b) => make("li", {}, make("button", { type: "button", title: b.words, on: { click: () => {
        e.move_end(b.end, b.step);
        e.settle();
        this.#update(true);
      } } }, b.label))));
    }
    this.#table();
    p.open.href = this.#link();
    if (settled) {
      say(p.live, [words.deed, words.difference, words.rest].filter(Boolean).join(" "));
      this.#tell();
    }
  }

  #told;
  #tell() {
    const state = this.#exhibit.state();
    if (state === this.#told) return;
    this.#told = state;
    this.#say("statechange", { state });
  }

  #table() {
    const { table } = this.#parts ?? {};
    if (!table?.open) return;
    const selected = this.#exhibit.selected();
    const head = make("thead", {}, make("tr", {}, ...HEADINGS.map((h) => make("th", { scope: "col" }, h))));
    const row = (r) => make("tr", { className: r.value === selected ? "selected" : "" },
      make("th", { scope: "row" }, r.name), ...r.cells.map((cell) => make("td", {}, cell)));
    table.lastElementChild.replaceChildren(make("table", {}, head, make("tbody", {}, ...this.#exhibit.rows().map(row))));
  }
}

/** A PNG of an SVG's text, at two pixels for one. */
async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = make("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error())), "image/png"));
}

if (!customElements.get("buffer-scope")) customElements.define("buffer-scope", BufferScope);
