// Exports of other programs: uploaded, looked at, taken in, taken back.
import { useEffect } from "react";
import { api } from "../../api/client";
import { t } from "../../i18n";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";
import { ImportCard } from "./ImportCard";
import { ImportDrop } from "./ImportDrop";
import { WORKING } from "./importWords";
import room from "./Room.module.css";
import servers from "./Servers.module.css";

const ask = (signal: AbortSignal) => api.imports(signal);
const AGAIN_MS = 1000;

/** `onDone` hears whether one of them was taken in. */
export function ImportPage({ onDone }: { found?: unknown; onDone?: (isDone: boolean) => void }) {
  const { value, problem, read, look } = useRead(ask);
  const working = value?.items.some(({ state }) => WORKING.includes(state)) ?? false;
  const isDone = value?.items.some(({ state }) => state === "done") ?? false;
  useEffect(() => onDone?.(isDone), [isDone, onDone]);
  useAgain(working, AGAIN_MS, look);
  return (
    <>
      <p className={room.note}>
        {t(
          "Import your conversations from ChatGPT and Claude, and your notes from Notion (Markdown & CSV), Obsidian or plain Markdown. Upload the file as you got it, or a zip of the folder. You see what it contains before anything is imported, and you can undo a whole import.",
        )}
      </p>
      <ImportDrop onUploaded={read} />
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={3} label={t("Loading the imports")} />}
      {value && value.items.length > 0 && (
        <ul className={servers.list} aria-label={t("Imports")}>
          {value.items.map((one) => (
            <ImportCard key={one.id} one={one} onChange={read} />
          ))}
        </ul>
      )}
    </>
  );
}
