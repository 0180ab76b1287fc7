// A page as it reads: Markdown with links between pages that lead on, or offer to make what they name.
import { memo, type ReactNode, useEffect, useMemo, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { directions } from "../../answer/directions";
import { remarkFormulas } from "../../answer/formulas";
import markdown from "../../answer/markdown.module.css";
import { Abroad, pieces } from "../../answer/pieces";
import { addressOfPicture } from "../../api/vault";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { addressOfPage, decoded } from "../../services/router";
import { SHOW_HEADING } from "./Outline";
import styles from "./Preview.module.css";
import vault from "./vault.module.css";
import { type Pages, partsOf, pathFor } from "./wikilinks";

type Node = { type: string; value?: string; url?: string; alt?: string; children?: Node[] };

const WIKI = /!?\[\[([^[\]\n]+)\]\]/g;
/** What a wikilink's address begins with inside the preview; never one that a page could have. */
const MARK = "/vault/pages/?wiki=";
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif)$/i;
const FRONT = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const BLOCK_ID = / \^[A-Za-z0-9-]+$/;

/** A text with its wikilinks as links. */
function split(text: string): Node[] {
  const found: Node[] = [];
  let done = 0;
  for (const match of text.matchAll(WIKI)) {
    const { target, label } = partsOf(match[1] ?? "");
    if (match.index > done) found.push({ type: "text", value: text.slice(done, match.index) });
    const url = MARK + encodeURIComponent(target);
    if (match[0].startsWith("!") && PICTURE.test(target)) {
      found.push({ type: "image", url: encodeURI(target), alt: target });
      done = match.index + match[0].length;
      continue;
    }
    found.push({ type: "link", url, children: [{ type: "text", value: label }] });
    done = match.index + match[0].length;
  }
  const rest = text.slice(done).replace(BLOCK_ID, "");
  return rest || !found.length ? [...found, { type: "text", value: rest }] : found;
}

function linked(node: Node): void {
  if (!node.children || node.type === "link") return;
  node.children = node.children.flatMap((child) =>
    child.type === "text" ? split(child.value ?? "") : [child],
  );
  for (const child of node.children) linked(child);
}

const plugins = [remarkGfm, remarkFormulas, () => linked];

type Element = {
  type: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  position?: { start: { offset?: number } };
  children?: Element[];
};

/** Tells the box of a task where in the text its task begins. */
function placed(node: Element, item: Element | null = null): void {
  const within = node.tagName === "li" ? node : item;
  if (node.tagName === "input" && within?.position) {
    node.properties = { ...node.properties, dataAt: within.position.start.offset };
  }
  for (const child of node.children ?? []) placed(child, within);
}
const places = [() => (tree: Element) => placed(tree), directions];

/** The page that an address leads to: null where it is one of another place. */
function targetOf(href: string): { target: string; isWiki: boolean } | null {
  if (href.startsWith(MARK)) {
    return { target: decoded(href.slice(MARK.length)), isWiki: true };
  }
  if (/^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(href)) return null;
  const [path = ""] = href.split("#");
  return /\.md$/i.test(path) ? { target: decoded(path), isWiki: false } : null;
}

function PageLink(props: { target: string; from: string; pages: Pages; children?: ReactNode }) {
  const { target, from, pages, children } = props;
  const found = pages.resolve(target, from);
  if (found) return <Link to={addressOfPage(found)}>{children}</Link>;
  return (
    <Link
      className={styles.missing}
      to={addressOfPage(pathFor(target))}
      title={t("{target}: does not exist yet", { target })}
    >
      {children}
      <span className="visually-hidden"> {t("(does not exist yet)")}</span>
    </Link>
  );
}

/** Headings of a page stand below the page's own name. */
const components = (path: string, pages: Pages, onTick: (at: number) => void): Components => ({
  ...pieces,
  input: ({ node, checked }) => (
    <label className={styles.tick}>
      <input
        type="checkbox"
        checked={checked ?? false}
        aria-label={checked ? t("Done") : t("To do")}
        onChange={() => onTick(Number(node?.properties.dataAt))}
      />
    </label>
  ),
  img: ({ src, alt }) =>
    typeof src === "string" && !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(src) ? (
      <img className={styles.picture} src={addressOfPicture(decoded(src), path)} alt={alt ?? ""} />
    ) : (
      <Abroad href={typeof src === "string" ? src : undefined}>{alt || t("Image")}</Abroad>
    ),
  h1: ({ children }) => <h2 className={styles.first}>{children}</h2>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
  h5: ({ children }) => <h6>{children}</h6>,
  a: ({ href = "", children }) => {
    const page = targetOf(href);
    if (page) {
      return (
        <PageLink target={page.target} from={path} pages={pages}>
          {children}
        </PageLink>
      );
    }
    return <Abroad href={href}>{children}</Abroad>;
  },
});

type PreviewProps = {
  path: string;
  text: string;
  pages: Pages;
  /** Writes that a task is done, or open again; it begins at this place of the text. */
  onTick: (at: number) => void;
};

export default memo(function Preview({ path, text, pages, onTick }: PreviewProps) {
  const plain = text.replace(/^\uFEFF/, "");
  const front = FRONT.exec(plain);
  const body = front ? plain.slice(front[0].length) : plain;
  const start = text.length - body.length;
  const tick = useRef((_: number) => {});
  tick.current = (at) => onTick(start + at);
  const made = useMemo(() => components(path, pages, (at) => tick.current(at)), [path, pages]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const show = (event: Event) => {
      const { index } = (event as CustomEvent<{ index: number }>).detail;
      box.current?.querySelectorAll("h2, h3, h4, h5, h6")[index]?.scrollIntoView();
    };
    addEventListener(SHOW_HEADING, show);
    return () => removeEventListener(SHOW_HEADING, show);
  }, []);
  return (
    <article
      ref={box}
      aria-label={t("Reading view")}
      className={`${markdown.md} ${styles.text}`}
      data-markdown
    >
      {front && (
        <details>
          <summary>{t("Properties")}</summary>
          <pre>{front[1]}</pre>
        </details>
      )}
      {body.trim() ? (
        <ReactMarkdown remarkPlugins={plugins} rehypePlugins={places} components={made}>
          {body}
        </ReactMarkdown>
      ) : (
        <p className={vault.note}>{t("This page is empty.")}</p>
      )}
    </article>
  );
});
