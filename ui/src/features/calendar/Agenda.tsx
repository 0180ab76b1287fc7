// What comes, day by day.
import { CalendarPlus } from "lucide-react";
import { type KeyboardEvent, useRef } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Empty } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { EventRow } from "../../planner/EventRow";
import { byTime, isOn, type Shown } from "../../planner/shown";
import { addDays, type Day, dateOf, dayOf, plainDay, range } from "../../services/days";
import styles from "./Calendar.module.css";
import { AGENDA_DAYS, type ViewProps } from "./views";

/** That there is nothing is said once it `isRead`. */
export function Agenda(props: ViewProps & { isRead: boolean }) {
  const { all, day, onOpen, onDay, changes, isRead } = props;
  const list = useRef<HTMLDivElement>(null);
  useListKeys(list, {});
  const days = range(day, AGENDA_DAYS)
    .map((each) => ({ day: each, events: all.filter((one) => isOn(one, each)).sort(byTime) }))
    .filter(({ events }) => events.length);
  const press = (event: KeyboardEvent) => {
    const id = (event.target as Element).closest<HTMLElement>("[data-event]")?.dataset.event;
    const one = all.find(({ event: { id: its } }) => its === id);
    if (one && (event.key === "Delete" || event.key === "Backspace")) {
      void changes.remove(one.event);
    }
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears the keys of what is inside
    <div className={`${styles.agenda} scroll`} ref={list} onKeyDown={press}>
      {days.map((each) => (
        <AgendaDay key={each.day} {...each} onOpen={onOpen} />
      ))}
      {days.length === 0 && isRead && (
        <Empty
          icon={CalendarPlus}
          title={t("Nothing in the next {AGENDA_DAYS} days", { AGENDA_DAYS })}
        >
          <p>
            {t(
              "Write what comes into the field above, for example “Lunch with Ana on Friday at 12:30” or “Choir every Tuesday at 19:00”. You can also tell it in a chat, or import a calendar.",
            )}
          </p>
        </Empty>
      )}
      <Button look="quiet" onClick={() => onDay(addDays(day, AGENDA_DAYS))}>
        {t("Show the next {AGENDA_DAYS} days", { AGENDA_DAYS })}
      </Button>
    </div>
  );
}

type DayProps = { day: Day; events: readonly Shown[]; onOpen: (one: Shown) => void };

function AgendaDay({ day, events, onOpen }: DayProps) {
  const isToday = day === dayOf(new Date());
  return (
    <section aria-label={plainDay(dateOf(day))}>
      <h2 aria-current={isToday ? "date" : undefined}>
        {isToday && t("Today, ")}
        {plainDay(dateOf(day))}
      </h2>
      <ul>
        {events.map((one) => (
          <li key={one.event.id}>
            <EventRow one={one} day={day} onOpen={onOpen} />
          </li>
        ))}
      </ul>
    </section>
  );
}
