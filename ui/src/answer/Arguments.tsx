import { t } from "../i18n";
import css from "./Arguments.module.css";
import { CodeBlock } from "./CodeBlock";
import { codeIn, entriesOf } from "./parts";

type ArgumentsProps = { text: string; tool: string };

/** What a call is given, a row for each argument; code as code, long text in a box of its own. */
export function Arguments({ text, tool }: ArgumentsProps) {
  const entries = entriesOf(text);
  if (!entries) return text ? <pre className={css.text}>{text}</pre> : null;
  const code = codeIn(text, tool);
  const rows = entries.filter(([name]) => name !== code?.name);
  return (
    <>
      {rows.length > 0 && (
        <dl className={css.arguments}>
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name.replaceAll("_", " ")}</dt>
              <dd>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long text is scrolled with the keyboard */}
                {isLong(value) ? <div tabIndex={0}>{value}</div> : value || <i>{t("empty")}</i>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {code && <CodeBlock language={code.language} text={code.text} />}
    </>
  );
}

const LONG_CHARS = 600;
const LONG_LINES = 8;
const isLong = (text: string) => text.length > LONG_CHARS || text.split("\n").length > LONG_LINES;
