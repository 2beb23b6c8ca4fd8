// Starts the page. The names of the two files are hashed, so Trunk writes them on the script element (Trunkfile.toml).
const startup = document.getElementById("startup");
try {
  const { js, wasm } = document.querySelector("script[data-wasm]").dataset;
  const page = await import(new URL(js, document.baseURI));
  await page.default({ module_or_path: new URL(wasm, document.baseURI) });
  startup?.remove();
} catch (error) {
  if (startup) {
    startup.setAttribute("role", "alert");
    startup.textContent = `Bufferscope could not start. It needs a browser with WebAssembly and a page served over http. (${error})`;
  }
  throw error;
}
