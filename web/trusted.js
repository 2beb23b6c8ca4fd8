// The page's only way to markup and to workers, where the content security policy has it: Trusted Types are required, and the
// one policy is here. Nothing else can make either of a string, whatever reaches the page.
{
  // The framework keeps the parts of its views that never change as markup, written when the page was compiled.
  const RUNS = "script, iframe, frame, object, embed, base, meta, link, style, animate, set";
  // As an address is read: blanks and control characters in it do not count.
  const leads = (address) => /^(javascript|data):/i.test(address.replace(/[\0-\x20]/g, ""));
  const runs = (element) =>
    element.matches(RUNS) ||
    [...element.attributes].some(({ name, value }) => /^on|^(srcdoc|style)$/i.test(name) || (/(href|src|action|data)$/i.test(name) && leads(value)));
  // The lab's worker, and that of a page that is one file, which is made of the page's own script.
  const ours = (address) => address === "lab-worker.js" || address.startsWith("blob:");
  const policy = globalThis.trustedTypes?.createPolicy("bufferscope", {
    createHTML: (markup) => markup,
    createScriptURL: (address) => {
      if (ours(address)) return address;
      throw new TypeError(`a worker of ${address}, which is not the page's own`);
    },
  });
  globalThis.bufferscopeStartWorker = (address, options) => new Worker(policy ? policy.createScriptURL(address) : address, options);

  if (policy) {
    const { get, set } = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
    // Within a template nothing runs and nothing is fetched, so that it can be looked at first.
    const parse = (template, markup) => {
      set.call(template, policy.createHTML(markup));
      const bad = [...template.content.querySelectorAll("*")].find(runs);
      if (!bad) return template.content;
      template.content.replaceChildren();
      throw new TypeError(`a template with ${bad.cloneNode().outerHTML}, which could run something`);
    };
    const define = (type, write) =>
      Object.defineProperty(type.prototype, "innerHTML", {
        configurable: true,
        get,
        set(markup) {
          write(this, String(markup));
        },
      });
    define(HTMLTemplateElement, parse);
    define(SVGGElement, (group, markup) => {
      const [svg] = parse(document.createElement("template"), `<svg xmlns="http://www.w3.org/2000/svg">${markup}</svg>`).children;
      group.replaceChildren(...svg.childNodes);
    });
  }
}
