// What was read of a page, as it reads: Markdown, or text as it stands; a part of it marked.
import { memo, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { directions } from "../../answer/directions";
import markdown from "../../answer/markdown.module.css";
import { Abroad, pieces } from "../../answer/pieces";
import { t } from "../../i18n";
import type { Span } from "../../services/router";
import styles from "./Documents.module.css";
import { indicesOf, piecesOf } from "./hits";
import { markPlugin } from "./markPlugin";
import viewer from "./Viewer.module.css";

const rehypePlugins = [directions];

/** The pieces of a page whose headings begin at `top`; levels that it leaves out are closed up. */
function componentsOf(text: string, top: number): Components {
  const levels = [...new Set(Array.from(text.matchAll(HEADING), ([, signs = ""]) => signs.length))];
  const tag = (level: number) => {
    const rank = levels.sort().indexOf(level);
    return `h${Math.min(6, top + Math.max(0, rank))}` as "h3";
  };
  return {
    ...pieces,
    h1: tag(1),
    h2: tag(2),
    h3: tag(3),
    h4: tag(4),
    h5: tag(5),
    h6: tag(6),
    a: ({ href, children }) => <Abroad href={href}>{children}</Abroad>,
    pre: ({ children }) => (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled with the keyboard
      <pre tabIndex={0}>{children}</pre>
    ),
  };
}

/** A longer page is shown as it stands: to lay it out would hold up the browser. */
const MOST_MARKDOWN = 80_000;
const HEADING = /^(#{1,6})\s/gm;

type TextProps = { text: string; at: Span | null; isPlain: boolean; top: number };

export default memo(function PageText({ text, at, isPlain, top }: TextProps) {
  const components = useMemo(() => componentsOf(text, top), [text, top]);
  const plugins = useMemo(() => {
    if (!at) return [remarkGfm];
    const [begin, end] = indicesOf(text, at);
    return [remarkGfm, markPlugin(begin, end)];
  }, [text, at]);
  if (!text.trim()) return <p className={styles.note}>{t("There is no text on this page.")}</p>;
  if (isPlain || text.length > MOST_MARKDOWN) {
    return (
      <div className={viewer.plain}>
        {piecesOf(text, at ? [at] : []).map(({ text: part, marked, at: begin }) =>
          marked ? <mark key={begin}>{part}</mark> : part,
        )}
      </div>
    );
  }
  return (
    <div className={markdown.md} data-markdown>
      <ReactMarkdown remarkPlugins={plugins} rehypePlugins={rehypePlugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
