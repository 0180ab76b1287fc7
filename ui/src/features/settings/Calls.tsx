import { History } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { api } from "../../api/client";
import type { CallPage } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { CallRow } from "./CallRow";
import styles from "./Calls.module.css";
import room from "./Room.module.css";

/** Names to filter by: the tools that there are, and those of the calls that are shown. */
function useNames(page: CallPage | null): readonly string[] {
  const [known, setKnown] = useState<readonly string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    api.tools(abort.signal).then(
      ({ items }) => setKnown(items.map(({ name }) => name)),
      () => undefined,
    );
    return () => abort.abort();
  }, []);
  return useMemo(() => {
    const called = page?.items.map(({ tool }) => tool) ?? [];
    return [...new Set([...known, ...called])].sort();
  }, [known, page]);
}

/** Which tools were called, the last first, with what, who let them, and how it ended. */
export function Calls() {
  const { toasts } = useApp();
  const [tool, setTool] = useState("");
  const [reading, setReading] = useState(false);
  const ask = useMemo(() => (signal: AbortSignal) => api.toolCalls({ tool }, signal), [tool]);
  const { value: page, problem, read } = useRead<CallPage>(ask, undefined, true);
  const names = useNames(page);
  const more = async () => {
    if (!page?.cursor) return;
    const { items, cursor } = page;
    setReading(true);
    await read(async (signal) => {
      try {
        const next = await api.toolCalls({ tool, cursor }, signal);
        return { items: [...items, ...next.items], cursor: next.cursor };
      } catch (error) {
        if (!signal.aborted) toasts.fault(error);
        return page;
      }
    });
    setReading(false);
  };
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!page) return <Skeleton lines={8} label={t("Loading the calls")} />;
  if (!page.items.length && !tool) {
    return (
      <Empty icon={History} title={t("No tool calls yet")}>
        <p>{t("Each call is listed here with its time, arguments, approval and outcome.")}</p>
      </Empty>
    );
  }
  return (
    <>
      <div className={styles.head}>
        <p className={room.note}>{t("Also those that were not allowed.")}</p>
        <Select
          label={t("Calls of")}
          value={tool}
          options={[
            { value: "", label: t("All tools") },
            ...names.map((name) => ({ value: name, label: name })),
          ]}
          onChange={setTool}
        />
      </div>
      <ul className={styles.calls} aria-label={t("Calls")}>
        {page.items.map((call) => (
          <CallRow key={call.id} call={call} />
        ))}
      </ul>
      {!page.items.length && <p className={room.note}>{t("No calls of this tool yet.")}</p>}
      {page.cursor && (
        <Button disabled={reading} onClick={() => void more()}>
          {reading ? t("Loading…") : t("Show earlier calls")}
        </Button>
      )}
    </>
  );
}
