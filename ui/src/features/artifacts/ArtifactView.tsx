import { CodeBlock } from "../../answer/CodeBlock";
import { Diagram } from "../../answer/Diagram";
import { LazyMarkdown } from "../../answer/LazyMarkdown";
import { TableBox } from "../../answer/TableBox";
import { rowsOf } from "../../answer/tables";
import { t } from "../../i18n";
import type { PaneFormat } from "../../services/pane";
import css from "./artifacts.module.css";
import { Frame } from "./Frame";

/** A longer table is cut here; its download has it all. */
const MOST_ROWS = 1000;

function CsvTable({ text }: { text: string }) {
  const [head = [], ...rows] = rowsOf(text);
  const left = rows.length - MOST_ROWS;
  return (
    <>
      <TableBox>
        <thead>
          <tr>
            {head.map((cell, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells never change their places
              <th key={i} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, y) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same
            <tr key={y}>
              {row.map((cell, x) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the same
                <td key={x}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </TableBox>
      {left > 0 && (
        <p className={css.note}>
          {t("{left, plural, one {# more row} other {# more rows}} in the download.", { left })}
        </p>
      )}
    </>
  );
}

type ViewProps = { format: PaneFormat; language: string; text: string; title: string };

/** An artifact as what it is. */
export function ArtifactView({ format, language, text, title }: ViewProps) {
  switch (format) {
    case "html":
    case "svg":
      return <Frame format={format} content={text} title={title} />;
    case "markdown":
      return <LazyMarkdown text={text} />;
    case "mermaid":
      return <Diagram source={text} isBeside />;
    case "csv":
      return <CsvTable text={text} />;
    case "code":
      return <CodeBlock language={language} text={text} />;
  }
}
