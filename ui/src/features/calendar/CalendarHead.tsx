import { CalendarPlus, ChevronLeft, ChevronRight, Settings2 } from "lucide-react";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Link, Segmented } from "../../kit/pieces";
import type { Shown } from "../../planner/shown";
import {
  browserZone,
  type Day,
  dateOf,
  dayOf,
  longDay,
  monthName,
  shortDay,
} from "../../services/days";
import type { CalendarView } from "../../services/router";
import styles from "./Calendar.module.css";
import { thought } from "./moves";

type HeadProps = {
  view: CalendarView;
  day: Day;
  days: readonly Day[];
  onShow: (view: CalendarView, day?: Day) => void;
  onTurn: (by: 1 | -1) => void;
  onNew: (one: Shown) => void;
};

const views: readonly { value: CalendarView; label: string }[] = [
  { value: "month", label: t("Month") },
  { value: "week", label: t("Week") },
  { value: "day", label: t("Day") },
  { value: "agenda", label: t("Agenda") },
];

/** What is shown, in words. */
function title(view: CalendarView, day: Day, days: readonly Day[]): string {
  if (view === "month") return monthName(dateOf(day));
  if (view === "day") return longDay(dateOf(day));
  const last = dateOf(days.at(-1) ?? day);
  return `${shortDay(dateOf(days[0] ?? day))} – ${shortDay(last)} ${last.getFullYear()}`;
}

/** The next whole hour of a day. */
function nextHour(day: Day): Shown {
  const now = new Date();
  const hour = day === dayOf(now) ? Math.min(22, now.getHours() + 1) : 9;
  return thought(dateOf(day, hour * 60), dateOf(day, hour * 60 + 60), false);
}

export function CalendarHead({ view, day, days, onShow, onTurn, onNew }: HeadProps) {
  return (
    <PageHead
      title={
        <>
          <span className="visually-hidden">{t("Calendar,")} </span>
          <span aria-live="polite">{title(view, day, days)}</span>{" "}
          <small className={styles.zone} data-tip={t("Times are shown by this clock")}>
            {browserZone().replaceAll("_", " ")}
          </small>
        </>
      }
    >
      <Button onClick={() => onShow(view, dayOf(new Date()))}>{t("Today")}</Button>
      <IconButton icon={ChevronLeft} label={t("Earlier")} onClick={() => onTurn(-1)} />
      <IconButton icon={ChevronRight} label={t("Later")} onClick={() => onTurn(1)} />
      <div className={styles.views}>
        <Segmented
          label={t("View")}
          value={view}
          options={views}
          onChange={(next) => onShow(next)}
        />
      </div>
      <Button data-fold icon={CalendarPlus} onClick={() => onNew(nextHour(day))}>
        {t("New event")}
      </Button>
      <Link
        className="icon-button"
        to="/calendar/settings"
        aria-label={t("Other calendars")}
        data-tip={t("Other calendars")}
      >
        <Settings2 size={18} strokeWidth={1.75} aria-hidden />
      </Link>
    </PageHead>
  );
}
