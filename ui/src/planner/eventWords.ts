// Events in words.
import { t } from "../i18n";
import { browserZone, dayOf, inZone, plainDay, shortDay, timeWords } from "../services/days";
import { recurrenceWords } from "../services/recurrence";
import type { Shown } from "./shown";

export const typeNames: Readonly<Record<string, string>> = {
  meeting: t("Meeting"),
  appointment: t("Appointment"),
  reminder: t("Reminder"),
  deadline: t("Deadline"),
  birthday: t("Birthday"),
  holiday: t("Holiday"),
  personal: t("Personal"),
  other: t("Other"),
};

export const typeName = (type: string): string => typeNames[type] ?? type;

/** `Friday 4 December, 09:00 to 10:00`. */
export function whenWords({ event, begin, end, first, last }: Shown): string {
  if (event.all_day) {
    return first === last
      ? plainDay(begin)
      : t("{begin} to {end}", {
          begin: plainDay(begin),
          end: plainDay(new Date(end.getTime() - 1)),
        });
  }
  const until = dayOf(end) === first ? timeWords(end) : `${shortDay(end)}, ${timeWords(end)}`;
  return t("{day}, {begin} to {end}", {
    day: plainDay(begin),
    begin: timeWords(begin),
    end: until,
  });
}

/** When it is by the clock of its own zone, if that is another than the reader's. */
export function elsewhere({ event, begin }: Shown): string | null {
  if (event.all_day || !event.zone || event.zone === browserZone()) return null;
  const there = inZone(begin, event.zone);
  const here = inZone(begin, browserZone());
  return there && there !== here
    ? t("{there} in {zone}", { there, zone: event.zone.replaceAll("_", " ") })
    : null;
}

/** What its drawing says beside its title, for those who do not see it. */
export function spoken(one: Shown): string {
  const { event } = one;
  const parts = [
    event.all_day ? t("{whenwords}, all day", { whenwords: whenWords(one) }) : whenWords(one),
    event.location,
    recurrenceWords(event.recurrence, event.recurrence_words),
    event.status === "tentative" ? t("tentative") : "",
    event.status === "cancelled" ? t("cancelled") : "",
    event.conflicts.length ? t("overlaps another event") : "",
  ];
  return parts.filter(Boolean).join(", ");
}
