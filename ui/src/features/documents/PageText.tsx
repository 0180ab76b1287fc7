// What was read of a page, as it reads: Markdown, or text as it stands; a part of it marked.
import { memo, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Abroad, pieces } from "../../answer/pieces";
import type { Span } from "../../services/router";
import { indicesOf, piecesOf } from "./hits";
import { markPlugin } from "./markPlugin";

/** Headings of a page stand below the document's own name. */
const components: Components = {
  ...pieces,
  h1: ({ children }) => <h3 className="first">{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  a: ({ href, children }) => <Abroad href={href}>{children}</Abroad>,
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled with the keyboard
    <pre tabIndex={0}>{children}</pre>
  ),
};

/** A longer page is shown as it stands: to lay it out would hold up the browser. */
const MOST_MARKDOWN = 80_000;

type TextProps = { text: string; at: Span | null; isPlain: boolean };

export default memo(function PageText({ text, at, isPlain }: TextProps) {
  const plugins = useMemo(() => {
    if (!at) return [remarkGfm];
    const [begin, end] = indicesOf(text, at);
    return [remarkGfm, markPlugin(begin, end)];
  }, [text, at]);
  if (!text.trim()) return <p className="note">There is no text on this page.</p>;
  if (isPlain || text.length > MOST_MARKDOWN) {
    return (
      <div className="doc-plain">
        {piecesOf(text, at ? [at] : []).map(({ text: part, marked, at: begin }) =>
          marked ? <mark key={begin}>{part}</mark> : part,
        )}
      </div>
    );
  }
  return (
    <div className="md">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
