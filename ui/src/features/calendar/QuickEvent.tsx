import { useCallback, useRef } from "react";
import { calendarApi } from "../../api/calendar";
import { t } from "../../i18n";
import { QuickAdd, type Understood } from "../../kit/QuickAdd";
import { momentWords } from "../../planner/momentWords";
import { dayOf } from "../../services/days";
import { useKey } from "../../services/useKey";
import type { EventChanges } from "./useEventChanges";

type QuickProps = { onAdd: EventChanges["add"]; onDay: (day: string) => void };

/** An event in words. */
export function QuickEvent({ onAdd, onDay }: QuickProps) {
  const field = useRef<HTMLInputElement>(null);
  useKey("create", () => field.current?.focus());
  const understand = useCallback(async (text: string, signal: AbortSignal): Promise<Understood> => {
    const found = await calendarApi.understand(text, signal);
    const { start: at, all_day: allDay, recurrence } = found;
    const when = momentWords({ at, allDay, recurrence }, found.words);
    const chips = [found.title, when, found.location];
    return {
      chips: chips.map((chip) => chip ?? "").filter(Boolean),
      choices: found.ambiguous ?? [],
      problem: found.problem ?? "",
    };
  }, []);
  const add = async (words: string, key: string) => {
    const { title, start, end, problem } = await calendarApi.understand(words);
    if (problem) throw new Error(problem);
    const made = await onAdd({ words }, { title, start: start ?? null, end: end ?? null }, key);
    if (made) onDay(made.all_day ? made.start.slice(0, 10) : dayOf(new Date(made.start)));
  };
  return (
    <QuickAdd
      label={t("New event in words")}
      placeholder={t("New event, for example: Lunch with Ana on Friday at 12:30")}
      hint={t(
        "The arrow keys go through the days, Enter begins an event there, Alt and the arrows move one.",
      )}
      understand={understand}
      onAdd={add}
      later={(words) => ({ path: "/calendar/events", body: { words } })}
      field={field}
    />
  );
}
