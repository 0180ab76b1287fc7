// What happens by itself: reminders, work of the agent, watched pages.
import { AlarmClock, Bell, Plus } from "lucide-react";
import { useCallback, useState } from "react";
import { type Schedule, schedulesApi } from "../../api/schedules";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { DeliveryDialog } from "../../planner/DeliveryDialog";
import { ZoneNote } from "../../planner/ZoneNote";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { addressOfSchedule } from "../../services/router";
import { useKey } from "../../services/useKey";
import { useRead } from "../../services/useRead";
import { ScheduleDialog } from "./ScheduleDialog";
import { ScheduleHistory } from "./ScheduleHistory";
import { ScheduleRow } from "./ScheduleRow";
import styles from "./Schedules.module.css";
import { useScheduleChanges } from "./useScheduleChanges";

const ask = (signal: AbortSignal) => schedulesApi.list(null, signal);

/** When it comes next; what does not come again, or is paused, stands at the end. */
const nextOf = ({ paused, snoozed_until, next_at }: Schedule): number =>
  (!paused && Date.parse(snoozed_until ?? next_at ?? "")) || Number.POSITIVE_INFINITY;

export default function SchedulesRoom({ schedule }: { schedule: string | null }) {
  const { router, plannerNews } = useApp();
  const { value, problem, read, look } = useRead(useCallback(ask, []));
  useNews(plannerNews, look);
  const changes = useScheduleChanges();
  const [edited, setEdited] = useState<Schedule | "new" | null>(null);
  const [delivery, setDelivery] = useState(false);
  useKey("create", () => setEdited("new"));
  const items = (value?.items ?? []).toSorted((a, b) => nextOf(a) - nextOf(b));
  return (
    <div className="page">
      <PageHead title={t("Schedules")}>
        <Button data-fold icon={Bell} onClick={() => setDelivery(true)}>
          {t("Notifications")}
        </Button>
        <Button data-fold icon={Plus} onClick={() => setEdited("new")}>
          {t("New schedule")}
        </Button>
      </PageHead>
      <div className="page scroll">
        <div className={`page-inner ${styles.page}`}>
          <ZoneNote />
          {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {!value && !problem && <Skeleton lines={5} label={t("Loading schedules")} />}
          {value && !items.length && (
            <Empty icon={AlarmClock} title={t("Nothing happens by itself yet")}>
              <p>
                {t(
                  "Make a schedule here, or say it in a chat: “Every weekday at 8 give me my day”, “Remind me in 20 minutes to call back”, “Check this page weekly and tell me when it changes”.",
                )}
              </p>
              <Button icon={Plus} onClick={() => setEdited("new")}>
                {t("New schedule")}
              </Button>
            </Empty>
          )}
          <ul aria-label={t("Schedules")}>
            {items.map((each) => (
              <li key={each.id}>
                <ScheduleRow
                  schedule={each}
                  changes={changes}
                  onEdit={() => setEdited(each)}
                  onHistory={() => router.go(addressOfSchedule(each.id))}
                />
              </li>
            ))}
          </ul>
        </div>
      </div>
      {edited && (
        <ScheduleDialog
          schedule={edited === "new" ? null : edited}
          changes={changes}
          onClose={() => setEdited(null)}
        />
      )}
      {delivery && <DeliveryDialog onClose={() => setDelivery(false)} />}
      {schedule && (
        <ScheduleHistory
          key={schedule}
          id={schedule}
          onClose={() => router.go("/schedules", true)}
        />
      )}
    </div>
  );
}
