// Starts the page, in the reader's language. The names of the two files are hashed, so Trunk writes them on the script element
// (Trunkfile.toml).

import { Language } from "./language.js";

const language = new Language(async (tag) => {
  const [locale, table] = await Promise.all([
    import(new URL("locale.js", document.baseURI)),
    fetch(new URL(`locales/${tag}.json`, document.baseURI)).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`${answer.status}`)))),
  ]);
  return { ...locale, table };
});

const startup = document.getElementById("startup");
try {
  // One exhibit and nothing around it, for a frame in somebody else's page.
  const asked = new URLSearchParams(location.search);
  if (asked.has("exhibit")) (await import(new URL("embed/talk.js", document.baseURI))).beAlone(asked);
  const { js, wasm } = document.querySelector("script[data-wasm]").dataset;
  const [page] = await Promise.all([import(new URL(js, document.baseURI)), language.start()]);
  await page.default({ module_or_path: new URL(wasm, document.baseURI) });
  startup?.remove();
  language.offer();
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
