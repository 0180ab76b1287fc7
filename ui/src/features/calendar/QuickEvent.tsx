import { useCallback, useRef } from "react";
import { calendarApi } from "../../api/calendar";
import { QuickAdd, type Understood } from "../../kit/QuickAdd";
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
    const chips = [found.title, found.words, found.location, found.recurrence_words];
    return { chips: chips.filter(Boolean), choices: found.ambiguous };
  }, []);
  const add = async (text: string) => {
    const found = await calendarApi.understand(text);
    if (!found.start) throw new Error("Say also when it is, for example “tomorrow at 15:00”.");
    const made = await onAdd({
      title: found.title,
      start: found.start,
      ...(found.end ? { end: found.end } : {}),
      all_day: found.all_day,
      location: found.location,
      recurrence: found.recurrence,
    });
    if (made) onDay(made.all_day ? made.start.slice(0, 10) : dayOf(new Date(made.start)));
  };
  return (
    <QuickAdd
      label="New event in words"
      placeholder="New event, for example: Lunch with Ana on Friday at 12:30"
      hint="The arrow keys go through the days, Enter begins an event there, Alt and the arrows move one."
      understand={understand}
      onAdd={add}
      field={field}
    />
  );
}
