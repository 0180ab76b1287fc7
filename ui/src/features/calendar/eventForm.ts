// What the form of an event holds, and what is sent of it. Pure.
import type { Attendee, Event, EventDraft } from "../../api/calendar";
import { t } from "../../i18n";
import { type Repeat, repeatOf, ruleOf } from "../../planner/repeats";
import type { Shown } from "../../planner/shown";
import {
  addDays,
  browserZone,
  clock,
  type Day,
  dateOf,
  dayOf,
  minutesIn,
} from "../../services/days";

export type EventForm = {
  title: string;
  allDay: boolean;
  /** As the clock of `zone` shows it; the last day is part of it. */
  startDay: Day;
  startTime: string;
  endDay: Day;
  endTime: string;
  zone: string;
  location: string;
  type: string;
  attendees: string;
  reminders: readonly number[];
  description: string;
  repeat: Repeat;
};

/** What a clock in a zone shows: a day and `HH:MM`. */
export function clockIn(at: Date, zone: string): { day: Day; time: string } {
  if (!zone || zone === browserZone()) return { day: dayOf(at), time: clock(at) };
  // Swedish dates are written as ISO has them.
  const text = at.toLocaleString("sv-SE", { timeZone: zone });
  return { day: text.slice(0, 10), time: text.slice(11, 16) };
}

export function formOf({ event, begin, end, first, last }: Shown): EventForm {
  const zone = event.zone || browserZone();
  const from = clockIn(begin, zone);
  const to = clockIn(end, zone);
  return {
    title: event.id === "new" ? "" : event.title,
    allDay: event.all_day,
    startDay: event.all_day ? first : from.day,
    startTime: event.all_day ? "09:00" : from.time,
    endDay: event.all_day ? last : to.day,
    endTime: event.all_day ? "10:00" : to.time,
    zone,
    location: event.location,
    type: event.event_type,
    attendees: event.attendees.map(attendeeWords).join(", "),
    reminders: event.reminders,
    description: event.description,
    repeat: repeatOf(event.recurrence, event.all_day ? first : from.day),
  };
}

const attendeeWords = ({ name, email }: Attendee) =>
  name && email ? `${name} <${email}>` : (name ?? "") || (email ?? "");

export function attendeesIn(text: string): readonly Attendee[] {
  return text
    .split(/[,;\n]/)
    .map((word) => word.trim())
    .filter(Boolean)
    .map((word) => {
      const [, name = "", email] = /^(.*?)\s*<([^<>\s]+)>$/.exec(word) ?? [];
      if (email) return { name: name.trim(), email };
      return /^\S+@\S+$/.test(word) ? { email: word } : { name: word };
    });
}

const minutesFrom = (day: Day, time: string) => dateOf(day, minutesIn(time)).getTime();

/** The form with another beginning: it lasts as long as before. */
export function startsAt(form: EventForm, startDay: Day, startTime: string): EventForm {
  if (!startDay || !startTime) return { ...form, startDay, startTime };
  const before = minutesFrom(form.startDay, form.startTime);
  const lasts = minutesFrom(form.endDay, form.endTime) - before;
  const end = new Date(minutesFrom(startDay, startTime) + Math.max(0, lasts));
  return { ...form, startDay, startTime, endDay: dayOf(end), endTime: clock(end) };
}

/** What is wrong with it, in a sentence; "" if nothing is. */
export function faultIn(form: EventForm): string {
  if (!form.title.trim()) return t("Give it a title.");
  if (!form.startDay || !form.endDay) return t("Say on which days it is.");
  if (form.allDay) return form.endDay < form.startDay ? t("It ends before it begins.") : "";
  if (!form.startTime || !form.endTime) return t("Say at what time it is.");
  const lasts = minutesFrom(form.endDay, form.endTime) - minutesFrom(form.startDay, form.startTime);
  if (lasts <= 0) return t("It ends before it begins.");
  return form.repeat.every === "own" && !form.repeat.own.trim() ? t("Say how it repeats.") : "";
}

export function draftOf(form: EventForm): EventDraft {
  const { allDay, startDay, endDay } = form;
  return {
    title: form.title.trim(),
    all_day: allDay,
    start: allDay ? startDay : `${startDay}T${form.startTime}:00`,
    end: allDay ? addDays(endDay, 1) : `${endDay}T${form.endTime}:00`,
    zone: allDay ? "" : form.zone,
    location: form.location.trim(),
    event_type: form.type,
    attendees: attendeesIn(form.attendees),
    reminders: form.reminders,
    description: form.description.trim(),
    recurrence: ruleOf(form.repeat, startDay),
  };
}

/** Of the draft what differs from the event as it was when the form was opened. */
export function changedIn(before: EventForm, form: EventForm): Partial<EventDraft> {
  const was = draftOf(before);
  const now = draftOf(form);
  const keys = (Object.keys(now) as (keyof EventDraft)[]).filter(
    (key) => JSON.stringify(was[key]) !== JSON.stringify(now[key]),
  );
  const times: (keyof EventDraft)[] = ["start", "end", "all_day", "zone"];
  const sent = keys.some((key) => times.includes(key)) ? [...new Set([...keys, ...times])] : keys;
  return Object.fromEntries(sent.map((key) => [key, now[key]]));
}

export const isNew = (event: Event): boolean => event.id === "new";
