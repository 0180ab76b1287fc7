// The document in which Mermaid draws: one file, its script inside, so that it needs nothing and may load nothing. The server gives it
// the policy of a frame with an origin of its own (web/security/frames.py); the page gets a picture from it by a message.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const root = dirname(createRequire(import.meta.url).resolve("mermaid/package.json"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Its address; what is kept for ever has its version in it. */
export const address = `/assets/mermaid-${version}.frame.html`;

const draw = `
const drawn = async ({ id, source, theme }) => {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    class: { htmlLabels: false },
    theme: "base",
    ...theme,
  });
  const { svg } = await mermaid.render("diagram" + id, source);
  const picture = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  const [, , width, height] = picture.getAttribute("viewBox").split(/\\s+/).map(Number);
  picture.setAttribute("width", Math.ceil(width));
  picture.setAttribute("height", Math.ceil(height));
  picture.style.maxWidth = "";
  return { id, svg: new XMLSerializer().serializeToString(picture), width, height };
};
addEventListener("message", ({ data }) => {
  drawn(data)
    .catch((error) => ({ id: data.id, fault: String(error.message ?? error) }))
    .then((answer) => parent.postMessage(answer, "*"));
});
parent.postMessage({ ready: true }, "*");
`;

function page() {
  const script = readFileSync(join(root, "dist", "mermaid.min.js"), "utf8");
  const inside = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  return `<!doctype html><meta charset="utf-8"><title>Diagrams</title><script>${inside}</script><script>${draw}</script>`;
}

/** A plugin of Vite that builds it, and serves it in development. */
export const diagramFrame = () => ({
  name: "diagram-frame",
  generateBundle() {
    this.emitFile({ type: "asset", fileName: address.slice(1), source: page() });
  },
  configureServer(server) {
    server.middlewares.use(address, (_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(page());
    });
  },
});
