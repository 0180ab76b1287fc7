import { useCallback, useState } from "react";
import { t } from "../../i18n";
import { PHONE, ProblemNotice, Skeleton, useMedia } from "../../kit/pieces";
import type { Shown } from "../../planner/shown";
import { ZoneNote } from "../../planner/ZoneNote";
import { useApp } from "../../services/context";
import { type Day, dayOf, firstWeekday, isDay } from "../../services/days";
import {
  addressOfCalendar,
  addressOfEvent,
  type CalendarPlace,
  type CalendarView,
} from "../../services/router";
import { remember, remembered } from "../../services/store";
import { useKey } from "../../services/useKey";
import { Agenda } from "./Agenda";
import styles from "./Calendar.module.css";
import { CalendarHead } from "./CalendarHead";
import { ChangeQuestions } from "./ChangeQuestions";
import { EventDialog } from "./EventDialog";
import { HoursView } from "./HoursView";
import { MonthView } from "./MonthView";
import { OpenEvent } from "./OpenEvent";
import { QuickEvent } from "./QuickEvent";
import { useEventChanges } from "./useEventChanges";
import { useEvents } from "./useEvents";
import { daysShown, turned } from "./views";

const KEY = "bethink.calendar";
type Place = Exclude<CalendarPlace, { view: "settings" }>;

/** The view and the day of an address; without them the view that was shown last, and today. */
function usePlace(place: Place) {
  const phone = useMedia(PHONE);
  const [usual, setUsual] = useState(() => remembered(KEY, { view: "" }).view as CalendarView | "");
  const view = place.view ?? (usual || (phone ? "agenda" : "month"));
  const day = place.day && isDay(place.day) ? place.day : dayOf(new Date());
  const keep = (next: CalendarView) => {
    setUsual(next);
    remember(KEY, { view: next });
  };
  return { view, day, keep };
}

export function CalendarPage({ place }: { place: Place }) {
  const { router } = useApp();
  const { view, day, keep } = usePlace(place);
  const [made, setMade] = useState<Shown | null>(null);
  const first = firstWeekday(navigator.language);
  const days = daysShown(view, day, first);
  const events = useEvents(days[0] ?? day, days.at(-1) ?? day);
  const changes = useEventChanges(events.replace);
  const show = (next: CalendarView, to: Day = day) => {
    keep(next);
    router.go(addressOfCalendar(next, to), next === view);
  };
  const onDay = (to: Day) => show(view, to);
  const close = useCallback(
    () => router.go(addressOfCalendar(view, day), true),
    [router, view, day],
  );
  useKey("today", () => onDay(dayOf(new Date())));
  useKey("month", () => show("month"));
  useKey("week", () => show("week"));
  useKey("day", () => show("day"));
  useKey("accept", () => show("agenda"));
  const turn = (by: 1 | -1) => onDay(turned(view, day, by));
  // In the agenda these keys go from event to event.
  useKey("down", () => view !== "agenda" && turn(1));
  useKey("up", () => view !== "agenda" && turn(-1));
  const given = {
    all: events.all,
    day,
    first,
    changes,
    onDay,
    onNew: setMade,
    onMore: (to: Day) => show("day", to),
    onOpen: ({ event }: Shown) => router.go(addressOfEvent(event.id)),
  };
  return (
    <div className={`page ${styles.page}`}>
      <CalendarHead view={view} day={day} days={days} onShow={show} onTurn={turn} onNew={setMade} />
      <div className={styles.body}>
        <QuickEvent onAdd={changes.add} onDay={onDay} />
        <ZoneNote />
        {events.problem && (
          <ProblemNotice problem={events.problem} onRetry={() => void events.read()} />
        )}
        {events.more && (
          <p className={styles.more}>{t("There are more events than can be shown here.")}</p>
        )}
        {view === "month" && <MonthView {...given} />}
        {(view === "week" || view === "day") && <HoursView key={view} view={view} {...given} />}
        {view === "agenda" && !events.isKnown && !events.problem && (
          <Skeleton lines={6} label={t("Loading the events")} />
        )}
        {view === "agenda" && events.isKnown && <Agenda {...given} isRead={events.isRead} />}
      </div>
      {place.event && (
        <OpenEvent
          key={place.event}
          id={place.event}
          all={events.all}
          changes={changes}
          onClose={close}
        />
      )}
      {made && <EventDialog given={made} changes={changes} onClose={() => setMade(null)} />}
      <ChangeQuestions changes={changes} />
    </div>
  );
}
