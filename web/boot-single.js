// Stands behind the program's glue in a page that is one file, and starts the program: in the page, and in its worker, which
// is made of this very script. `start` is the glue's default export; the build names it so, and puts a function around both.
// It is no module, because browsers start no module worker for a page that comes from a disk.

const block = (id) => document.getElementById(`bufferscope-${id}`);

/** The bytes of a block: gzip in base64. */
const unpack = async (text) => {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

/** A line of JSON with names and lengths, and the files behind it. */
const given = (bytes) => {
  const end = bytes.indexOf(10);
  const { files, ...rest } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  let at = end + 1;
  const parts = files.map(([name, length]) => {
    const part = bytes.subarray(at, (at += length));
    return [name, new File([part], name)];
  });
  return { files: parts, ...rest };
};

const inWorker = () =>
  addEventListener(
    "message",
    async ({ data: { wasm, file } }) => {
      try {
        // WebKit lets the worker of a page that comes from a disk read no file. The page answers by itself when none starts.
        await file.arrayBuffer();
        await start({ module_or_path: wasm });
      } catch (error) {
        postMessage(JSON.stringify({ Crashed: `The engine could not start: ${error}` }));
      }
    },
    { once: true },
  );

const inPage = async () => {
  const startup = document.getElementById("startup");
  try {
    const files = block("given").textContent.trim();
    block("given").replaceChildren();
    // The page as it came, with no files in it: what another report is put into.
    globalThis.bufferscopeShell = `<!doctype html>\n${document.documentElement.outerHTML}\n`;
    if (files) globalThis.bufferscopeGiven = given(await unpack(files));
    const wasm = await unpack(block("wasm").textContent);
    const script = URL.createObjectURL(new Blob([block("program").textContent], { type: "text/javascript" }));
    globalThis.bufferscopeWorker = () => {
      const worker = globalThis.bufferscopeStartWorker(script);
      worker.postMessage({ wasm, file: new Blob(["?"]) });
      return worker;
    };
    const language = new Language(async (tag) => ({
      ...locale(),
      table: JSON.parse(new TextDecoder().decode(await unpack(block(tag).textContent))),
    }));
    await language.start();
    await start({ module_or_path: wasm });
    startup?.remove();
    language.offer();
  } catch (error) {
    if (startup) {
      startup.setAttribute("role", "alert");
      startup.textContent = `The live part could not start. It needs a browser with WebAssembly. (${error})`;
    }
    throw error;
  }
};

if (globalThis.document) inPage();
else inWorker();
