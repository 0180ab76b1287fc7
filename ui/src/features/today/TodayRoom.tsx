// One page with what is due, what was promised, and what came by itself.
import { Bell, Sun } from "lucide-react";
import { useState } from "react";
import { readToday, type Today } from "../../api/today";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { DeliveryDialog } from "../../planner/DeliveryDialog";
import { EventRow } from "../../planner/EventRow";
import { shownOf } from "../../planner/shown";
import { TaskRow } from "../../planner/TaskRow";
import { useTaskChanges } from "../../planner/useTaskChanges";
import { useApp } from "../../services/context";
import { dateOf, longDay } from "../../services/days";
import { useNews } from "../../services/news";
import { addressOfEvent, addressOfTasks } from "../../services/router";
import { useRead } from "../../services/useRead";
import { Brought } from "./Brought";
import { NoticeRows } from "./NoticeRows";
import { Part } from "./Part";
import { Promised } from "./Promised";
import styles from "./Today.module.css";

export default function TodayRoom() {
  const { plannerNews, memoryNews } = useApp();
  const { value, problem, read, look } = useRead(readToday);
  const [delivery, setDelivery] = useState(false);
  useNews(plannerNews, look);
  useNews(memoryNews, look);
  return (
    <div className="page">
      <PageHead title={value ? longDay(dateOf(value.date)) : t("Today")}>
        <Button data-fold icon={Bell} onClick={() => setDelivery(true)}>
          {t("Notifications")}
        </Button>
      </PageHead>
      <div className="page scroll">
        <div className={`page-inner ${styles.today}`}>
          {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {!value && !problem && <Skeleton lines={6} label={t("Loading the day")} />}
          <NoticeRows />
          {value && <Day today={value} />}
        </div>
      </div>
      {delivery && <DeliveryDialog onClose={() => setDelivery(false)} />}
    </div>
  );
}

function Day({ today }: { today: Today }) {
  const { router } = useApp();
  const changes = useTaskChanges();
  const { date, overdue, tasks, events, promised, runs } = today;
  const rows = (items: Today["tasks"]) =>
    items.map((task) => (
      <li key={task.id}>
        <TaskRow
          task={task}
          changes={changes}
          onOpen={({ id }) => router.go(addressOfTasks({ task: id }))}
        />
      </li>
    ));
  const many = overdue.length + tasks.length + events.length + promised.length + runs.length;
  if (!many) {
    return (
      <Empty icon={Sun} title={t("Nothing is due today")}>
        <p>
          {t(
            "Tasks, events and promises of the day stand here, and what schedules brought overnight.",
          )}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <Part title={t("Overdue")} many={overdue.length} fault>
        {rows(overdue)}
      </Part>
      <Part title={t("Events")} many={events.length}>
        {events.map((event) => (
          <li key={event.id}>
            <EventRow
              one={shownOf(event)}
              day={date}
              onOpen={() => router.go(addressOfEvent(event.id))}
            />
          </li>
        ))}
      </Part>
      <Part title={t("Due today")} many={tasks.length}>
        {rows(tasks)}
      </Part>
      <Promised facts={promised} />
      <Brought runs={runs} />
    </>
  );
}
