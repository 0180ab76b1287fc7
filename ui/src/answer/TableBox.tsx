import { Copy, Download, Sheet } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { t } from "../i18n";
import { IconButton } from "../kit/Button";
import { download } from "./download";
import css from "./TableBox.module.css";
import { asCsv, asMarkdown } from "./tables";
import { useCopy } from "./useCopy";

/** A table that is scrolled where it is too wide, and can be taken along. */
export function TableBox(props: { dir?: string | undefined; children: ReactNode }) {
  const table = useRef<HTMLTableElement>(null);
  const copy = useCopy();
  const rows = () =>
    [...(table.current?.rows ?? [])].map((row) =>
      [...row.cells].map((cell) => cell.textContent.trim()),
    );
  return (
    <div className={css.box}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <section className={css.table} aria-label={t("Table")} tabIndex={0}>
        <table ref={table} dir={props.dir}>
          {props.children}
        </table>
      </section>
      <p className={css.tools}>
        <IconButton
          icon={Sheet}
          size={15}
          label={t("Copy the table as CSV")}
          onClick={() => copy(asCsv(rows()), t("Table copied as CSV"))}
        />
        <IconButton
          icon={Copy}
          size={15}
          label={t("Copy the table as Markdown")}
          onClick={() => copy(asMarkdown(rows()), t("Table copied as Markdown"))}
        />
        <IconButton
          icon={Download}
          size={15}
          label={t("Download the table")}
          onClick={() => download("table.csv", `\uFEFF${asCsv(rows())}`, "text/csv")}
        />
      </p>
    </div>
  );
}
