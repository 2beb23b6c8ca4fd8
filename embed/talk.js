// How an exhibit in a frame talks with the page that holds it; docs/EMBEDDING.md has the messages. The frames of this folder
// use it, and the reading page where its address asks for one exhibit.
const PROTOCOL = 1;
const OF_PAGE = "@VERSION@";
const LONGEST_STATE = 1 << 20;

/**
 * Listens to the window around, which may ask for `exhibit.state` and set it, and tells it the height of what is here. Gives the
 * function that tells it more. `origin` is whom to listen to and to tell; without it whoever holds the frame: what is told is
 * no secret. Nobody at all, if it is no origin.
 */
export function talk(exhibit, origin) {
  const holder = window.parent;
  const isAlone = holder === window || (origin !== null && !isOrigin(origin));
  const tell = (type, more = {}) => {
    if (!isAlone) holder.postMessage({ bufferscope: PROTOCOL, type, ...more }, origin ?? "*");
  };
  window.addEventListener("message", ({ data, source, origin: from }) => {
    if (isAlone || source !== holder || (origin !== null && from !== origin)) return;
    if (typeof data !== "object" || data === null || data.bufferscope !== PROTOCOL) return;
    const { type, id, state } = data;
    if (type === "getState" && (typeof id === "string" || typeof id === "number")) tell("state", { id, state: exhibit.state });
    else if (type === "setState" && typeof state === "string" && state.length <= LONGEST_STATE) exhibit.state = state;
  });
  let height;
  new ResizeObserver(() => {
    const now = Math.ceil(document.documentElement.getBoundingClientRect().height);
    if (now !== height) tell("resized", { height: (height = now) });
  }).observe(document.documentElement);
  return tell;
}

function isOrigin(text) {
  try {
    return new URL(text).origin === text;
  } catch {
    return false;
  }
}

/**
 * The reading page with one figure and nothing around it: `?exhibit=NAME&theme=dark&origin=https://host.example`. The page's
 * program tells of each state, and follows the address.
 */
export function beAlone(asked) {
  const name = asked.get("exhibit");
  const { dataset } = document.documentElement;
  dataset.exhibit = name;
  dataset.theme = asked.get("theme") ?? "auto";
  let now;
  const figure = {
    get state() {
      return now ?? "";
    },
    set state(state) {
      history.replaceState(null, "", state ? `#v2/${name}/${name}=${state}` : `#${name}`);
      dispatchEvent(new PopStateEvent("popstate"));
    },
  };
  const tell = talk(figure, asked.get("origin"));
  addEventListener("bufferscope", ({ detail: state }) => {
    const type = now === undefined ? "ready" : "stateChanged";
    if (state === now) return;
    now = state;
    tell(type, type === "ready" ? { state, version: OF_PAGE } : { state });
  });
  // Links lead out of the frame: those within the page to where it is whole.
  document.addEventListener(
    "click",
    ({ target }) => {
      const link = target.closest?.("a[href]");
      if (!link || link.hasAttribute("download")) return;
      link.href = new URL(link.getAttribute("href"), new URL(location.pathname, location)).href;
      Object.assign(link, { target: "_blank", rel: "noopener" });
    },
    true,
  );
  const wrong = new MutationObserver(() => {
    const alert = document.querySelector(".alone > [role=alert], #startup[role=alert]");
    if (!alert) return;
    wrong.disconnect();
    tell("error", { message: alert.textContent });
  });
  wrong.observe(document.body, { childList: true, subtree: true });
}
