// What of dropped and picked files is quicker said in JavaScript; the names of modules never come here.

// Everything in a drop, folders walked through, as [path, File]. The items must be taken before the first await.
globalThis.bufferscopeDropped = async (transfer) => {
  const entries = [...transfer.items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  const found = [];
  const queue = entries.filter(Boolean);
  while (queue.length) {
    const entry = queue.shift();
    if (entry instanceof File) {
      found.push([entry.name, entry]);
    } else if (entry.isFile) {
      const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
      if (file) found.push([entry.fullPath.replace(/^\//, ""), file]);
    } else if (entry.isDirectory) {
      const reader = entry.createReader();
      // A reader gives a hundred entries at a time.
      for (;;) {
        const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
        if (!some.length) break;
        queue.push(...some);
      }
    }
  }
  return found;
};

// What was picked, the folder's own path before each name.
globalThis.bufferscopePicked = (input) => [...input.files].map((file) => [file.webkitRelativePath || file.name, file]);

// A page that is one file puts its own in place of this.
globalThis.bufferscopeWorker = () => globalThis.bufferscopeStartWorker("lab-worker.js", { type: "module" });

// A page that is one file has its program at its end: a file that was cut off has none, or half of one, which never runs.
addEventListener("DOMContentLoaded", () => {
  const startup = document.getElementById("startup");
  if (!startup || globalThis.bufferscopeShell || !document.querySelector('meta[name="bufferscope-shell"]')) return;
  startup.setAttribute("role", "alert");
  startup.textContent = "The live part could not start: this file is cut off, its program is missing. Please make or fetch the file again.";
});
