// A month in weeks. The arrows go from day to day; events are carried to other days.
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../../i18n";
import { across } from "../../kit/across";
import { useDrag } from "../../kit/useDrag";
import type { Shown } from "../../planner/shown";
import {
  addDays,
  type Day,
  dateOf,
  daysBetween,
  weekdayName,
  weeksOfMonth,
} from "../../services/days";
import styles from "./Calendar.module.css";
import { lanes } from "./layout";
import { MonthDay } from "./MonthDay";
import { moved, nudged, thought, withDraft } from "./moves";
import { useDraft } from "./useDraft";
import { useRowHeight } from "./useRowHeight";
import type { ViewProps } from "./views";

type Taken = { one: Shown; from: Day } | { one: null; from: Day };
const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };
/** The height of a lane, and of the number above them; they grow with the words. */
const LANE_REM = 1.625;
const DATE_REM = 1.875;

const dayUnder = (x: number, y: number): Day | undefined =>
  document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-day]")?.dataset.day;

export function MonthView({ all, day, first, onDay, onOpen, onNew, onMore, changes }: ViewProps) {
  const grid = useRef<HTMLDivElement>(null);
  const weeks = useMemo(() => weeksOfMonth(day, first), [day, first]);
  const height = useRowHeight(grid, weeks.length);
  const { draft, setDraft, put, nudge } = useDraft(grid, changes.place);
  const [chosen, setChosen] = useState<readonly [Day, Day] | null>(null);
  const isWalking = useRef(false);
  useEffect(() => {
    if (!isWalking.current) return;
    isWalking.current = false;
    grid.current?.querySelector<HTMLElement>(`[data-day="${day}"]`)?.focus();
  }, [day]);
  const find = (id: string | undefined) => all.find(({ event }) => event.id === id);
  const drag = useDrag<Taken>({
    take: ({ target, clientX, clientY }) => {
      const part = (target as Element).closest<HTMLElement>("[data-event], [data-more]");
      const from = dayUnder(clientX, clientY);
      if (!from || part?.matches("[data-more]")) return null;
      return { one: find(part?.dataset.event) ?? null, from };
    },
    move: ({ one, from }, { x, y }) => {
      const to = dayUnder(x, y);
      if (!to) return;
      if (one) setDraft(moved(one, daysBetween(from, to), 0));
      else setChosen(from < to ? [from, to] : [to, from]);
    },
    drop: ({ one, from }, { x, y }) => {
      setChosen(null);
      const to = dayUnder(x, y) ?? from;
      if (one) return void put(one, moved(one, daysBetween(from, to), 0));
      const [begin, last] = from < to ? [from, to] : [to, from];
      onNew(thought(dateOf(begin), dateOf(addDays(last, 1)), true));
    },
    leave: () => {
      setDraft(null);
      setChosen(null);
    },
  });
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const target = event.target as HTMLElement;
    const id = target.closest<HTMLElement>("[data-event]")?.dataset.event;
    const one = draft?.event.id === id ? (draft ?? undefined) : find(id);
    if (one && event.altKey) {
      const to = nudged(one, across(event.key), event.shiftKey, { days: 7, minutes: 0 });
      if (!to) return;
      event.preventDefault();
      return nudge(one, to);
    }
    if (one && (event.key === "Delete" || event.key === "Backspace")) {
      return void changes.remove(one.event);
    }
    const by = steps[across(event.key)];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (by !== undefined) {
      event.preventDefault();
      isWalking.current = true;
      onDay(addDays(target.closest<HTMLElement>("[data-day]")?.dataset.day ?? day, by));
    } else if (event.key === "Enter" && target.matches("[data-day]")) {
      onNew(thought(dateOf(day, 9 * 60), dateOf(day, 10 * 60), false));
    }
  };
  const shown = withDraft(all, draft);
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const room = Math.max(1, Math.floor((height - DATE_REM * rem) / (LANE_REM * rem)));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table's cells do not take keys
    <div
      ref={grid}
      className={styles.month}
      role="grid"
      aria-label={t("Month")}
      tabIndex={-1}
      onKeyDown={press}
      {...drag}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: the same */}
      <div className={styles.weekdays} role="row" tabIndex={-1}>
        {weeks[0]?.map((each) => (
          // biome-ignore lint/a11y/useSemanticElements: the same
          <span key={each} role="columnheader" tabIndex={-1}>
            {weekdayName(dateOf(each))}
          </span>
        ))}
      </div>
      {weeks.map((week) => {
        const inLanes = lanes(shown, week);
        return (
          // biome-ignore lint/a11y/useSemanticElements: the same
          <div key={week[0]} className={styles.monthWeek} role="row" tabIndex={-1}>
            {week.map((each, i) => (
              <MonthDay
                key={each}
                day={each}
                before={inLanes[i - 1]}
                lanes={inLanes[i] ?? []}
                room={room}
                after={inLanes.slice(i + 1)}
                isCurrent={each === day}
                isOutside={each.slice(0, 7) !== day.slice(0, 7)}
                isChosen={chosen !== null && chosen[0] <= each && each <= chosen[1]}
                draft={draft}
                onOpen={onOpen}
                onMore={onMore}
                onNew={onNew}
              />
            ))}
          </div>
        );
      })}
    </div>
  );
}
