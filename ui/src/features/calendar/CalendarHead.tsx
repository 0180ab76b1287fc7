import { CalendarPlus, ChevronLeft, ChevronRight, Settings2 } from "lucide-react";
import { locale, t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Link, PHONE, Segmented, useMedia } from "../../kit/pieces";
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
function title(view: CalendarView, day: Day, days: readonly Day[], isShort: boolean): string {
  if (view === "month") return monthName(dateOf(day));
  if (view === "day") return isShort ? shortDay(dateOf(day)) : longDay(dateOf(day));
  const range = new Intl.DateTimeFormat(locale(), {
    day: "numeric",
    month: "short",
    ...(isShort ? {} : { year: "numeric" }),
  });
  return range.formatRange(dateOf(days[0] ?? day), dateOf(days.at(-1) ?? day));
}

/** The next whole hour of a day. */
function nextHour(day: Day): Shown {
  const now = new Date();
  const hour = day === dayOf(now) ? Math.min(22, now.getHours() + 1) : 9;
  return thought(dateOf(day, hour * 60), dateOf(day, hour * 60 + 60), false);
}

export function CalendarHead({ view, day, days, onShow, onTurn, onNew }: HeadProps) {
  const phone = useMedia(PHONE);
  return (
    <div className={styles.headPlace}>
      <PageHead
        title={
          <>
            <span className="visually-hidden">{t("Calendar,")} </span>
            <span aria-live="polite">{title(view, day, days, phone)}</span>{" "}
            <small className={styles.zone} data-tip={t("Times are shown by this clock")}>
              {browserZone().replaceAll("_", " ")}
            </small>
          </>
        }
      >
        <Button className={styles.toToday ?? ""} onClick={() => onShow(view, dayOf(new Date()))}>
          {t("Today")}
        </Button>
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
    </div>
  );
}
