import { useEffect, useRef, useState } from "react";
import tableBox from "../../answer/TableBox.module.css";
import { request } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import styles from "./Attachments.module.css";
import { type Row, type Table, tableIn } from "./attached";
import { FileChip, type FileProps } from "./FileChip";

const SHOWN_ROWS = 12;
const frame = `${tableBox.table} ${styles.table}`;
/** A longer page is not read: its download has it all. */
const MOST_CHARS = 3_000_000;

type Read = { status: "reading" | "none" } | { status: "read"; table: Table };

/** Reads the table once it comes near to what is seen. */
function useTable(url: string) {
  const box = useRef<HTMLDivElement>(null);
  const [read, setRead] = useState<Read>({ status: "reading" });
  useEffect(() => {
    const abort = new AbortController();
    const begin = async () => {
      try {
        const response = await request(url, { signal: abort.signal, cache: "default" });
        const html = await response.text();
        const table = html.length > MOST_CHARS ? null : tableIn(html);
        setRead(table ? { status: "read", table } : { status: "none" });
      } catch {
        if (!abort.signal.aborted) setRead({ status: "none" });
      }
    };
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        void begin();
      },
      { rootMargin: "600px" },
    );
    if (box.current) seen.observe(box.current);
    return () => {
      seen.disconnect();
      abort.abort();
    };
  }, [url]);
  return { box, read };
}

function RowView({ row, scope }: { row: Row; scope: "col" | "row" }) {
  return (
    <tr>
      {row.map(({ text, head, columns, rows }, i) => {
        const span = { colSpan: columns, rowSpan: rows };
        return head && text ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: cells never change their places
          <th key={i} scope={scope} {...span}>
            {text}
          </th>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same
          <td key={i} {...span}>
            {text}
          </td>
        );
      })}
    </tr>
  );
}

function TableView({ name, table }: { name: string; table: Table }) {
  const [all, setAll] = useState(false);
  const { head, body, left } = table;
  const shown = all ? body : body.slice(0, SHOWN_ROWS);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <section className={frame} aria-label={t("Table {name}", { name })} tabIndex={0}>
        <table>
          <thead>
            {head.map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows never change their places
              <RowView key={i} row={row} scope="col" />
            ))}
          </thead>
          <tbody>
            {shown.map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same
              <RowView key={i} row={row} scope="row" />
            ))}
          </tbody>
        </table>
      </section>
      {body.length > SHOWN_ROWS && (
        <Button look="quiet" onClick={() => setAll(!all)}>
          {all ? t("Show fewer rows") : t("Show all {count} rows", { count: body.length })}
        </Button>
      )}
      {all && left > 0 && (
        <p className={styles.gone}>
          {t(
            "{count, plural, one {# more row} other {# more rows}} in the file. Download it to see all.",
            { count: left },
          )}
        </p>
      )}
    </>
  );
}

/** An HTML table that a tool made, as a real table of its cells' text; nothing of its markup is kept. */
export function TableFile({ file, session }: FileProps) {
  const { box, read } = useTable(file.url);
  return (
    <div className={styles.tableFile} ref={box} aria-busy={read.status === "reading"}>
      {read.status === "reading" && <div className={styles.tablePlace} />}
      {read.status === "read" && <TableView name={file.name} table={read.table} />}
      <FileChip file={file} session={session} />
    </div>
  );
}
