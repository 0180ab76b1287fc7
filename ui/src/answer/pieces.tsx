// What Markdown is made of wherever it is shown: in answers, and in pages.
import type { ReactNode } from "react";
import type { Components } from "react-markdown";
import { t } from "../i18n";
import { CodeBlock } from "./CodeBlock";
import { Diagram } from "./Diagram";
import { Formula } from "./Formula";
import { FORMULA } from "./formulas";
import { TableBox } from "./TableBox";

export const Abroad = ({ href, children }: { href: string | undefined; children: ReactNode }) => (
  <a href={href} target="_blank" rel="noreferrer noopener">
    {children}
  </a>
);

/** The words of what is shown. */
export function wordsOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(wordsOf).join("");
  const inner = (node as { props?: { children?: ReactNode } } | null)?.props;
  return inner ? wordsOf(inner.children) : "";
}

const classOf = (node: ReactNode): string =>
  (node as { props?: { className?: string } } | null)?.props?.className ?? "";

type VerbatimProps = { language: string; text: string; isOpen?: boolean };

/** What stands between fences: a diagram, a formula, or code. */
export function Verbatim({ language, text, isOpen = false }: VerbatimProps) {
  const name = language.toLowerCase();
  if (name === "mermaid" && !isOpen) return <Diagram source={text} />;
  if (name === "math" && !isOpen) return <Formula tex={text} isDisplay />;
  return <CodeBlock language={language} text={text} isOpen={isOpen} />;
}

export const pieces: Components = {
  // Nothing is fetched from elsewhere because a text names it: a picture is a link to it.
  img: ({ src, alt }) => (
    <Abroad href={typeof src === "string" ? src : undefined}>{alt || t("Image")}</Abroad>
  ),
  input: ({ node: _, ...box }) => (
    <input {...box} aria-label={box.checked ? t("Done") : t("To do")} />
  ),
  table: ({ dir, children }) => <TableBox dir={dir}>{children}</TableBox>,
  code: ({ node: _, className, children, ...rest }) => {
    const isDisplay = className === FORMULA.display;
    if (isDisplay || className === FORMULA.inline) {
      return <Formula tex={wordsOf(children)} isDisplay={isDisplay} />;
    }
    return (
      <code {...rest} className={className}>
        {children}
      </code>
    );
  },
  pre: ({ children }) => {
    const classes = classOf(children);
    const text = wordsOf(children).replace(/\n$/, "");
    if (classes.includes(FORMULA.display)) return <Formula tex={text} isDisplay />;
    const language = /language-([^\s]+)/.exec(classes)?.[1] ?? "";
    return <Verbatim language={language} text={text} />;
  },
};
