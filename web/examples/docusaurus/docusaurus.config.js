/** @type {import("@docusaurus/types").Config} */
export default {
  title: "Notes on memory",
  url: "https://example.org",
  baseUrl: "/docusaurus/",
  // `static/embed` is the folder `embed` of the published page.
  scripts: [{ src: "/docusaurus/embed/buffer-scope.js", type: "module" }],
  presets: [["classic", { docs: { routeBasePath: "/", sidebarPath: undefined }, blog: false }]],
};
