// A page as it reads: Markdown with links between pages that lead on, or offer to make what they name.
import { memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Abroad, pieces } from "../../answer/pieces";
import { Link } from "../../kit/pieces";
import { addressOfPage, decoded } from "../../services/router";
import { type Pages, partsOf, pathFor } from "./wikilinks";

type Node = { type: string; value?: string; url?: string; children?: Node[] };

const WIKI = /!?\[\[([^[\]\n]+)\]\]/g;
/** What a wikilink's address begins with inside the preview; never one that a page could have. */
const MARK = "/vault/pages/?wiki=";
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

const plugins = [remarkGfm, () => linked];

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
      className="missing"
      to={addressOfPage(pathFor(target))}
      title={`${target}: does not exist yet`}
    >
      {children}
      <span className="visually-hidden"> (does not exist yet)</span>
    </Link>
  );
}

/** Headings of a page stand below the page's own name. */
const components = (path: string, pages: Pages): Components => ({
  ...pieces,
  h1: ({ children }) => <h2 className="first">{children}</h2>,
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
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled with the keyboard
    <pre tabIndex={0}>{children}</pre>
  ),
});

type PreviewProps = { path: string; text: string; pages: Pages };

export default memo(function Preview({ path, text, pages }: PreviewProps) {
  const made = useMemo(() => components(path, pages), [path, pages]);
  const plain = text.replace(/^\uFEFF/, "");
  const front = FRONT.exec(plain);
  const body = front ? plain.slice(front[0].length) : plain;
  return (
    <div className="md vault-md">
      {front && (
        <details>
          <summary>Front matter</summary>
          <pre>{front[1]}</pre>
        </details>
      )}
      {body.trim() ? (
        <ReactMarkdown remarkPlugins={plugins} components={made}>
          {body}
        </ReactMarkdown>
      ) : (
        <p className="note">This page is empty.</p>
      )}
    </div>
  );
});
