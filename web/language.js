// The language of a page: which it is, the link to the other one, and the address, which keeps it. English is what the sources are
// written in and needs nothing; for another one, `load` brings what translates (locale.js and a table).

// `?lang=` in the address, else what the page was made for, else the first of the browser's that there is.
const LANGUAGES = [
  { tag: "en", name: "English", matches: /^en\b/i },
  { tag: "zh-Hans", name: "中文", matches: /^zh(?!-(?:Hant|TW|HK|MO)\b)/i },
];
const query = () => new URLSearchParams(location.search).get("lang");

/** The same address in another language: what is shown is in its hash and stays. */
const addressIn = (tag, from = location.href) => {
  const url = new URL(from);
  url.searchParams.set("lang", tag);
  return url.href;
};

/** Puts the language into the address, where the page has one: a page in a frame's `srcdoc` has none. */
const keep = (tag) => {
  if (location.protocol !== "about:") history.replaceState(history.state, "", addressIn(tag));
};

/** `load(tag)` gives `{ Page, Translator, table }`. */
export class Language {
  #load;
  #now = LANGUAGES[0];
  #shown; // what translates the page, unless it is English

  constructor(load) {
    this.#load = load;
  }

  /** Shows the page in the reader's language; one that cannot be translated stays English. */
  async start() {
    const wishes = [query() ?? "", document.documentElement.dataset.lang ?? "", ...navigator.languages];
    const found = wishes.map((wish) => LANGUAGES.find(({ matches }) => matches.test(wish))).find(Boolean);
    await this.#speak(found ?? LANGUAGES[0]).catch((error) => console.warn(`English, because the table did not come: ${error}`));
  }

  async #speak(next) {
    const made = next.tag === "en" ? undefined : await this.#load(next.tag);
    this.#shown?.end();
    document.documentElement.lang = next.tag;
    this.#now = next;
    this.#shown = made && new made.Page(new made.Translator(made.table), document.documentElement);
  }

  /** Puts the link to the other language into the masthead. It keeps all that is open and done: nothing is loaded anew. */
  offer() {
    const link = document.createElement("a");
    link.className = "other-page language";
    link.translate = false;
    const name = () => {
      const other = LANGUAGES[(LANGUAGES.indexOf(this.#now) + 1) % LANGUAGES.length];
      Object.assign(link, { textContent: other.name, lang: other.tag, hreflang: other.tag, href: addressIn(other.tag) });
      return other;
    };
    name();
    // Where the link leads when it is opened elsewhere: to what is shown by now.
    for (const event of ["pointerenter", "focus"]) link.addEventListener(event, name);
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const next = name();
      await this.#speak(next);
      keep(next.tag);
      name();
    });
    document.querySelector(".masthead .theme")?.before(link);
    // A language that was asked for stays: at older entries of the history, and on the other page.
    addEventListener("popstate", () => {
      if (query() !== this.#now.tag && (query() || this.#shown)) keep(this.#now.tag);
    });
    for (const event of ["click", "auxclick"]) {
      document.addEventListener(event, (e) => {
        const to = query() && e.target.closest?.("a[href]:not([href^='#'])");
        if (to && to !== link && to.origin === location.origin && !to.hasAttribute("download")) to.href = addressIn(this.#now.tag, to.href);
      }, true);
    }
  }
}
