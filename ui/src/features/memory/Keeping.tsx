// Taking memory away as a file, bringing it back, and forgetting by words.
import { CircleX, Download, Eraser, FileUp, Wrench } from "lucide-react";
import { useRef, useState } from "react";
import { api } from "../../api/client";
import type { MemoryImport } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Menu } from "../../kit/Popover";
import { useApp } from "../../services/context";
import { count } from "../../services/words";
import { ForgetDialog } from "./ForgetDialog";

const formats = [
  { format: "jsonl", label: "Export as JSON Lines" },
  { format: "md", label: "Export as Markdown" },
  { format: "csv", label: "Export as CSV" },
  { format: "jsonl", label: "Export with conversations", conversations: true },
] as const;

const everything = { all: true };

function download(address: string) {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

/** A menu of exports, and an import that shows what it would do before it does it. */
export function Keeping() {
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
      const messages = said ? `, ${count(said, "line")} of conversations` : "";
      toasts.show(`${count(restored + added + merged, "memory", "memories")}${messages} imported`);
      await memoryNews.tell();
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <>
      <Menu
        icon={Wrench}
        label="Export, import, forget"
        items={[
          ...formats.map(({ format, label, ...more }) => ({
            label,
            icon: Download,
            run: () => download(api.exportAddress({ format, ...more })),
          })),
          { label: "Import a file", icon: FileUp, run: () => picker.current?.click() },
          {
            label: "Forget by search",
            icon: Eraser,
            run: () => setForgetting("words"),
            fault: true,
          },
          {
            label: "Forget everything",
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
        aria-label="Memory file"
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
        <Dialog title={`Import ${file.name}`} onClose={close}>
          <div className="body">
            {report ? <Report report={report} /> : <p role="status">Reading the file…</p>}
            <div className="actions">
              <Button onClick={close}>Cancel</Button>
              <Button look="primary" disabled={!report} onClick={() => void take()}>
                Import
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
    ["New", report.added],
    ["Restored", report.restored],
    ["Conversations and messages restored", report.said],
    ["Merged with known memories", report.merged],
    ["Already known", report.known],
    ["Changed here since, not overwritten", report.differing],
    ["Cannot be imported", report.refused],
  ];
  return (
    <>
      <dl className="facts-of">
        {rows.map(
          ([name, number]) =>
            number > 0 && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{number.toLocaleString()}</dd>
              </div>
            ),
        )}
      </dl>
      {report.bad.length > 0 && (
        <details>
          <summary>Lines that cannot be imported</summary>
          <ul className="bad-lines">
            {report.bad.map(({ line, reason }) => (
              <li key={line}>
                Line {line.toLocaleString()}: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
