// The worker: the same program as the page, which sees where it is.
import init from "./lab.js";

init({ module_or_path: new URL("lab_bg.wasm", import.meta.url) }).catch((error) => {
  self.postMessage(JSON.stringify({ Crashed: `The engine could not start: ${error}` }));
});
