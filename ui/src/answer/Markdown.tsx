// An answer's Markdown as elements. Raw HTML in it stays text; links to scripts are dropped by the parser.
import { memo, type ReactNode } from "react";
import ReactMarkdown, { type Components, defaultUrlTransform } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Link } from "../kit/pieces";
import { addressOfSource } from "../services/router";
import { CodeFigure } from "./CodeFigure";
import { markdownBlocks } from "./markdownBlocks";
import { MARK } from "./parts";
import { Abroad, pieces } from "./pieces";

const plugins = [remarkGfm];
const OURS = /^\/(vault\/pages|documents)\//;

/** A source that an answer names as a link leads to its passage. */
const addressIn = (url: string) => addressOfSource(url) ?? defaultUrlTransform(url);

function textOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  const inner = (node as { props?: { children?: ReactNode; className?: string } } | null)?.props;
  return inner ? textOf(inner.children) : "";
}

function languageOf(node: ReactNode): string {
  const name = (node as { props?: { className?: string } } | null)?.props?.className ?? "";
  return /language-([^\s]+)/.exec(name)?.[1] ?? "";
}

const components: Components = {
  ...pieces,
  pre: ({ children }) => (
    <CodeFigure language={languageOf(children)} text={textOf(children)}>
      {children}
    </CodeFigure>
  ),
  a: ({ href, title, children }) =>
    title === MARK && href ? (
      <sup className="cite">
        <Link
          to={href}
          aria-label={`${href.startsWith("/documents/") ? "Document" : "Memory"} ${textOf(children)}, the source of this`}
        >
          {children}
        </Link>
      </sup>
    ) : href && OURS.test(href) ? (
      <Link to={href}>{children}</Link>
    ) : (
      <Abroad href={href}>{children}</Abroad>
    ),
};

const BlockView = memo(function BlockView({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={addressIn}>
      {text}
    </ReactMarkdown>
  );
});

export default function Markdown({ text }: { text: string }) {
  return (
    <div className="md">
      {markdownBlocks(text).map((block, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a stream only grows; its blocks keep their place
        <BlockView key={i} text={block} />
      ))}
    </div>
  );
}
