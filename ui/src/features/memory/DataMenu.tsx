// Taking memory away as a file, bringing it back, and forgetting by words.
import { CircleX, Database, Download, Eraser, FileUp } from "lucide-react";
import { useRef, useState } from "react";
import { api } from "../../api/client";
import type { MemoryImport } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Menu } from "../../kit/Popover";
import { useApp } from "../../services/context";
import { ForgetDialog } from "./ForgetDialog";
import styles from "./memory.module.css";

const formats = () =>
  [
    { format: "jsonl", label: t("Export as JSON Lines") },
    { format: "md", label: t("Export as Markdown") },
    { format: "csv", label: t("Export as CSV") },
    { format: "jsonl", label: t("Export with conversations"), conversations: true },
  ] as const;

const everything = { all: true };

function download(address: string) {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

/** A menu of exports, and an import that shows what it would do before it does it. */
export function DataMenu() {
  const { toasts, memoryNews } = useApp();
  const picker = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<File | null>(null);
  const [report, setReport] = useState<MemoryImport | null>(null);
  const [forgetting, setForgetting] = useState<"words" | "everything" | null>(null);
  const asked = useRef<File>(undefined);
  const close = () => {
    asked.current = undefined;
    setFile(null);
    setReport(null);
  };
  const look = async (chosen: File) => {
    asked.current = chosen;
    setFile(chosen);
    // What is shown is of the file that was chosen last; one that was put away is not shown any more.
    try {
      const found = await api.importMemories(chosen, true);
      if (asked.current === chosen) setReport(found);
    } catch (error) {
      if (asked.current !== chosen) return;
      close();
      toasts.fault(error);
    }
  };
  const take = async () => {
    if (!file) return;
    close();
    try {
      const { restored, said, added, merged } = await api.importMemories(file, false);
      const count = restored + added + merged;
      toasts.show(
        said
          ? t(
              "{count, plural, one {# memory} other {# memories}} and {said, plural, one {# line} other {# lines}} of conversations imported",
              { count, said },
            )
          : t("{count, plural, one {# memory} other {# memories}} imported", { count }),
      );
      await memoryNews.tell();
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <>
      <Menu
        icon={Database}
        label={t("Data: export, import, forget")}
        items={[
          ...formats().map(({ format, label, ...more }) => ({
            label,
            icon: Download,
            run: () => download(api.exportAddress({ format, ...more })),
          })),
          { label: t("Import a file"), icon: FileUp, run: () => picker.current?.click() },
          {
            label: t("Forget by search"),
            icon: Eraser,
            run: () => setForgetting("words"),
            fault: true,
          },
          {
            label: t("Forget everything"),
            icon: CircleX,
            run: () => setForgetting("everything"),
            fault: true,
          },
        ]}
      />
      <input
        ref={picker}
        type="file"
        hidden
        aria-label={t("Memory file")}
        onChange={({ target }) => {
          const [chosen] = target.files ?? [];
          // The same file can be chosen again.
          target.value = "";
          if (chosen) void look(chosen);
        }}
      />
      {forgetting && (
        <ForgetDialog
          {...(forgetting === "everything" && { given: everything })}
          onClose={() => setForgetting(null)}
        />
      )}
      {file && (
        <Dialog title={t("Import {name}", { name: file.name })} onClose={close}>
          <div className="body">
            {report ? <Report report={report} /> : <p role="status">{t("Reading the file…")}</p>}
            <div className="actions">
              <Button onClick={close}>{t("Cancel")}</Button>
              <Button look="primary" disabled={!report} onClick={() => void take()}>
                {t("Import")}
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** What an import would do. */
function Report({ report }: { report: MemoryImport }) {
  const rows: [string, number][] = [
    [t("New"), report.added],
    [t("Restored"), report.restored],
    [t("Conversations and messages restored"), report.said],
    [t("Merged with known memories"), report.merged],
    [t("Already known"), report.known],
    [t("Changed here since, not overwritten"), report.differing],
    [t("Cannot be imported"), report.refused],
  ];
  return (
    <>
      <dl className={styles.facts}>
        {rows.map(
          ([name, number]) =>
            number > 0 && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{number.toLocaleString(locale())}</dd>
              </div>
            ),
        )}
      </dl>
      {report.bad.length > 0 && (
        <details>
          <summary>{t("Lines that cannot be imported")}</summary>
          <ul className={styles.badLines}>
            {report.bad.map(({ line, reason }) => (
              <li key={line}>
                {t("Line {line}: {reason}", { line: line.toLocaleString(locale()), reason })}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
