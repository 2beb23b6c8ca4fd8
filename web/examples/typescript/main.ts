// The package in a program with types: the element, its properties and events, and frames.
import { BufferScope } from "buffer-scope";
import { getState, setState } from "buffer-scope/host";

const element = document.createElement("buffer-scope");
element.exhibit = "drag";
element.moduleText = "HloModule m";
element.addEventListener("ready", ({ detail }) => console.log(detail.version, element.state));
element.addEventListener("statechange", (event) => localStorage.setItem("exhibit", event.detail.state));
element.addEventListener("error", ({ detail }) => console.warn(detail.message));
document.body.append(element);
await element.wake();
console.log(await BufferScope.modules(), BufferScope.version, element.isReady);

const frame = document.querySelector<HTMLIFrameElement>("iframe.bufferscope");
frame?.addEventListener("bufferscope", ({ detail }) => {
  if (detail.type === "resized") console.log(detail.height);
});
if (frame) setState(frame, await getState(frame));

// @ts-expect-error: it is a text.
element.state = 7;
// @ts-expect-error: it is said, not set.
element.isReady = true;
