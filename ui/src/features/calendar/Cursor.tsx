// The place in the hours that the arrows move: a new event begins there.
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import { t } from "../../i18n";
import { across } from "../../kit/across";
import {
  addDays,
  type Day,
  dateOf,
  MINUTES_OF_DAY,
  plainDay,
  timeWords,
} from "../../services/days";
import styles from "./Calendar.module.css";

const STEP = 30;
const arrows: Record<string, readonly [days: number, minutes: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};

export function useCursor(
  grid: RefObject<HTMLElement | null>,
  day: Day,
  onDay: (day: Day) => void,
) {
  const [minutes, setMinutes] = useState(9 * 60);
  const isWalking = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: wherever it has got to, it has the focus
  useEffect(() => {
    if (!isWalking.current) return;
    isWalking.current = false;
    const place = grid.current?.querySelector<HTMLElement>("[data-cursor]");
    place?.focus();
    place?.scrollIntoView({ block: "nearest" });
  }, [grid, day, minutes]);
  const press = (event: KeyboardEvent) => {
    const [days, by] = arrows[across(event.key)] ?? [0, 0];
    if (event.altKey || event.ctrlKey || event.metaKey || (!days && !by)) return;
    event.preventDefault();
    isWalking.current = true;
    if (days) onDay(addDays(day, days));
    setMinutes((now) => Math.min(MINUTES_OF_DAY - STEP, Math.max(0, now + by)));
  };
  return { day, minutes, press };
}

type CursorProps = {
  days: readonly Day[];
  cursor: ReturnType<typeof useCursor>;
  onNew: (at: { day: Day; minutes: number }) => void;
};

export function Cursor({ days, cursor, onNew }: CursorProps) {
  const { day, minutes } = cursor;
  const column = Math.max(0, days.indexOf(day));
  const at = dateOf(day, minutes);
  return (
    <button
      type="button"
      data-cursor
      className={styles.cursor}
      style={
        { "--column": column, top: `calc(var(--hour) * ${minutes / 60})` } as React.CSSProperties
      }
      aria-label={t("New event on {plainday}, {timewords}", {
        plainday: plainDay(at),
        timewords: timeWords(at),
      })}
      onClick={() => onNew({ day, minutes })}
    />
  );
}
