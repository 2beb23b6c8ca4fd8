// embed.html?exhibit=drag&module=mlp_grad&theme=dark&origin=https://host.example#STATE: one exhibit and nothing around it.
import { BufferScope, addressOf, isOwn } from "./buffer-scope.js";
import { talk } from "./talk.js";

const asked = new URLSearchParams(location.search);
const here = () => location.hash.slice(1);
const { exhibit = "drag", module, ...more } = Object.fromEntries(asked);
if (!isOwn(exhibit) && /^https?:/.test(location.href) && !globalThis.bufferScopeFiles) {
  // A figure of the reading page, which speaks as this one does.
  location.replace(addressOf(exhibit, here(), more));
} else {
  const element = new BufferScope();
  for (const name of ["exhibit", "module", "lang", "theme", "heading"]) {
    if (asked.has(name)) element.setAttribute(name, asked.get(name));
  }
  element.state = here();
  const tell = talk(element, asked.get("origin"));
  element.addEventListener("ready", (e) => tell("ready", { state: e.detail.state, version: e.detail.version }));
  element.addEventListener("error", (e) => tell("error", { message: e.detail.message }));
  element.addEventListener("statechange", (e) => {
    // The address keeps it, so that a reload comes back to it; browsers refuse that too often or too long.
    try {
      history.replaceState(null, "", `#${e.detail.state}`);
    } catch {
      // The exhibit works on without.
    }
    tell("stateChanged", { state: e.detail.state });
  });
  window.addEventListener("hashchange", () => {
    element.state = here();
  });
  document.body.append(element);
  element.wake();
}
