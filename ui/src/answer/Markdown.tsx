// An answer's Markdown as elements. Links to scripts are dropped by the parser.
import { type Components, defaultUrlTransform } from "react-markdown";
import remarkGfm from "remark-gfm";
import { t } from "../i18n";
import { Link } from "../kit/pieces";
import { addressOfSource } from "../services/router";
import { remarkFormulas } from "./formulas";
import { type How, MarkdownBlocks } from "./MarkdownBlocks";
import css from "./markdown.module.css";
import { MARK } from "./parts";
import { Abroad, pieces, wordsOf } from "./pieces";

const OURS = /^\/(vault\/pages|documents)\//;

const components: Components = {
  ...pieces,
  a: ({ href, title, children }) => {
    if (title === MARK && href) {
      const name = { name: wordsOf(children) };
      const label = href.startsWith("/documents/")
        ? t("Document {name}, the source of this", name)
        : t("Memory {name}, the source of this", name);
      return (
        <sup className={css.cite}>
          <Link to={href} aria-label={label}>
            {children}
          </Link>
        </sup>
      );
    }
    if (href && OURS.test(href)) return <Link to={href}>{children}</Link>;
    return <Abroad href={href}>{children}</Abroad>;
  },
};

const how: How = {
  remarkPlugins: [remarkGfm, [remarkFormulas, { brackets: true }]],
  components,
  /** A source that an answer names as a link leads to its passage. */
  urlTransform: (url: string) => addressOfSource(url) ?? defaultUrlTransform(url),
};

export type MarkdownProps = {
  text: string;
  /** More of it is on its way. */
  grows?: boolean;
};

export default function Markdown({ text, grows = false }: MarkdownProps) {
  return (
    <div className={css.md} data-markdown>
      <MarkdownBlocks text={text} how={how} grows={grows} />
    </div>
  );
}
