// For pages that hold exhibits in frames of the class "bufferscope": each gets the height that its exhibit needs, and what it
// says reaches the page as the event "bufferscope" on the <iframe>, with the message as its detail. docs/EMBEDDING.md
const PROTOCOL = 1;
const isOpaque = (frame) => frame.hasAttribute("sandbox") && !frame.sandbox.contains("allow-same-origin");
/** Where a frame's messages come from: one that may do nothing but run scripts has no origin, and says "null". */
const originOf = (frame) => (isOpaque(frame) ? "null" : new URL(frame.src, document.baseURI).origin);

window.addEventListener("message", ({ data, source, origin }) => {
  const frame = [...document.querySelectorAll("iframe.bufferscope")].find((f) => f.contentWindow === source);
  if (!frame || origin !== originOf(frame) || data?.bufferscope !== PROTOCOL || typeof data.type !== "string") return;
  if (data.type === "resized" && Number.isFinite(data.height)) frame.style.height = `${Math.min(Math.max(data.height, 0), 20_000)}px`;
  frame.dispatchEvent(new CustomEvent("bufferscope", { detail: data, bubbles: true }));
});

const tell = (frame, message) => frame.contentWindow.postMessage({ bufferscope: PROTOCOL, ...message }, isOpaque(frame) ? "*" : originOf(frame));
/** Sends a frame to a state. */
export const setState = (frame, state) => tell(frame, { type: "setState", state });
/** Asks a frame for its state. */
export function getState(frame) {
  const id = `${Math.random()}`;
  return new Promise((done) => {
    frame.addEventListener("bufferscope", function answer({ detail }) {
      if (detail.type !== "state" || detail.id !== id) return;
      frame.removeEventListener("bufferscope", answer);
      done(detail.state);
    });
    tell(frame, { type: "getState", id });
  });
}
