// The documents in which the page has run what others wrote. Each is one file with its script inside, needs nothing and may load
// nothing: the server gives what ends like this the policy of a sandbox (web/security/frames.py). The page tells them by a message
// what to run or to draw.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const mermaid = createRequire(import.meta.url).resolve("mermaid/dist/mermaid.min.js");

const drawing = `
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
addEventListener("message", ({ data, source }) => {
  if (parent === self || source !== parent) return;
  drawn(data)
    .catch((error) => ({ id: data.id, fault: String(error.message ?? error) }))
    .then((answer) => parent.postMessage(answer, "*"));
});
parent.postMessage({ ready: true }, "*");
`;

// Written into this very document, so that its policy stays. No policy covers connections between browsers (WebRTC), and a document
// inside of this one would have them again: so neither is there. What is used for that is taken before the first foreign script runs.
const running = `
{
  const { apply, defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
  const none = { value: undefined, writable: false, configurable: false };
  for (const name of ownKeys(globalThis)) {
    if (/RTC/.test(String(name))) defineProperty(globalThis, name, none);
  }
  for (const owner of [Document, Document.prototype, Element.prototype, ShadowRoot.prototype]) {
    for (const name of ownKeys(owner)) {
      if (/HTMLUnsafe$/.test(String(name))) defineProperty(owner, name, none);
    }
  }
  const { remove, attachShadow } = Element.prototype;
  const { item } = NodeList.prototype;
  const length = getOwnPropertyDescriptor(NodeList.prototype, "length").get;
  const { open, write, close } = document;
  const watch = (root, find) => {
    const clear = () => {
      const found = apply(find, root, ["iframe, frame, object, embed, fencedframe, portal"]);
      for (let i = 0; i < apply(length, found, []); i += 1) apply(remove, apply(item, found, [i]), []);
    };
    new MutationObserver(clear).observe(root, { childList: true, subtree: true });
    clear();
  };
  const find = DocumentFragment.prototype.querySelectorAll;
  Element.prototype.attachShadow = function (init) {
    const { mode, delegatesFocus, slotAssignment, serializable } = init;
    const root = apply(attachShadow, this, [{ mode, delegatesFocus, slotAssignment, serializable }]);
    watch(root, find);
    return root;
  };
  for (const name of ["open", "write", "writeln"]) {
    defineProperty(Document.prototype, name, { value: () => {}, writable: false, configurable: false });
  }
  addEventListener("message", ({ data, source }) => {
    if (parent === self || source !== parent) return;
    apply(open, document, []);
    watch(document, Document.prototype.querySelectorAll);
    apply(write, document, [data.replace(/shadowrootmode/gi, "data-mode")]);
    apply(close, document, []);
  });
  parent.postMessage({ ready: true }, "*");
}
`;

const inside = (script) =>
  `<script>${script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--")}</script>`;
const documentOf = (title, ...scripts) =>
  `<!doctype html><meta charset="utf-8"><title>${title}</title>${scripts.map(inside).join("")}`;

const documents = {
  diagrams: documentOf("Diagrams", readFileSync(mermaid, "utf8"), drawing),
  artifact: documentOf("Artifact", running),
};

/** What is kept for ever is named by what it says. */
const addressOf = (name) => {
  const digest = createHash("sha256").update(documents[name]).digest("base64url").slice(0, 8);
  return `/assets/${name}-${digest}.frame.html`;
};

export const addresses = { diagrams: addressOf("diagrams"), artifact: addressOf("artifact") };

/** A plugin of Vite that builds them, and serves them in development. */
export const frames = () => ({
  name: "frames",
  generateBundle() {
    for (const [name, address] of Object.entries(addresses)) {
      this.emitFile({ type: "asset", fileName: address.slice(1), source: documents[name] });
    }
  },
  configureServer(server) {
    for (const [name, address] of Object.entries(addresses)) {
      server.middlewares.use(address, (_, response) => {
        response.setHeader("content-type", "text/html");
        response.end(documents[name]);
      });
    }
  },
});
