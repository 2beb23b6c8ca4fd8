// Starts the page, in the reader's language. The names of the two files are hashed, so Trunk writes them on the script element
// (Trunkfile.toml).

// The language: `?lang=` in the address, else the first of the browser's that there is. English is what the sources are written in
// and needs nothing; for another one, a script and a table are fetched that translate what the page writes (locale.js).
const LANGUAGES = [
  { tag: "en", name: "English", matches: /^en\b/i },
  { tag: "zh-Hans", name: "中文", matches: /^zh(?!-(?:Hant|TW|HK|MO)\b)/i },
];
const query = () => new URLSearchParams(location.search).get("lang");
const chosen = () => {
  for (const wanted of [query() ?? "", ...navigator.languages]) {
    const language = LANGUAGES.find(({ matches }) => matches.test(wanted));
    if (language) return language;
  }
  return LANGUAGES[0];
};
let language = LANGUAGES[0];
let shown; // what translates the page, unless it is English

async function speak(next) {
  const made = next.tag === "en" ? undefined : await translator(next.tag);
  shown?.end();
  document.documentElement.lang = next.tag;
  language = next;
  shown = made && new made.Page(made.translator, document.documentElement);
}

async function translator(tag) {
  const [{ Page, Translator }, table] = await Promise.all([
    import(new URL("locale.js", document.baseURI)),
    fetch(new URL(`locales/${tag}.json`, document.baseURI)).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`${answer.status}`)))),
  ]);
  return { Page, translator: new Translator(table) };
}

/** The same address in another language: what is shown is in its hash and stays. */
const addressIn = (tag, from = location.href) => {
  const url = new URL(from);
  url.searchParams.set("lang", tag);
  return url.href;
};

/** The link to the other language, in the masthead. It keeps all that is open and done: nothing is loaded anew. */
function offer() {
  const link = document.createElement("a");
  link.className = "other-page language";
  link.translate = false;
  const name = () => {
    const other = LANGUAGES[(LANGUAGES.indexOf(language) + 1) % LANGUAGES.length];
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
    await speak(next);
    history.replaceState(history.state, "", addressIn(next.tag));
    name();
  });
  document.querySelector(".masthead .theme")?.before(link);
  // A language that was asked for stays: at older entries of the history, and on the other page.
  addEventListener("popstate", () => {
    if (query() !== language.tag && (query() || shown)) history.replaceState(history.state, "", addressIn(language.tag));
  });
  for (const event of ["click", "auxclick"]) {
    document.addEventListener(event, (e) => {
      const to = query() && e.target.closest?.("a[href]:not([href^='#'])");
      if (to && to !== link && to.origin === location.origin && !to.hasAttribute("download")) to.href = addressIn(language.tag, to.href);
    }, true);
  }
}

const startup = document.getElementById("startup");
try {
  // One exhibit and nothing around it, for a frame in somebody else's page.
  const asked = new URLSearchParams(location.search);
  if (asked.has("exhibit")) (await import(new URL("embed/talk.js", document.baseURI))).beAlone(asked);
  const { js, wasm } = document.querySelector("script[data-wasm]").dataset;
  // A page that cannot be translated is shown in English.
  const [page] = await Promise.all([import(new URL(js, document.baseURI)), speak(chosen()).catch((error) => console.warn(`English, because the table did not come: ${error}`))]);
  await page.default({ module_or_path: new URL(wasm, document.baseURI) });
  startup?.remove();
  offer();
} catch (error) {
  if (startup) {
    startup.setAttribute("role", "alert");
    startup.textContent = `Bufferscope could not start. It needs a browser with WebAssembly and a page served over http. (${error}) `;
    // Written by `cargo xtask build`.
    const figures = document.createElement("a");
    figures.href = "figures.html";
    figures.textContent = "The figures as they first are";
    startup.append(figures, ".");
  }
  throw error;
}
