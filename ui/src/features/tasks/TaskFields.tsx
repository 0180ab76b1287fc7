import type { Task, TaskPatch } from "../../api/tasks";
import { t } from "../../i18n";
import { SelectField } from "../../kit/Select";
import { dueDay, priorities, statuses } from "../../planner/taskWords";
import { clock, dateOf, minutesIn, rfc3339 } from "../../services/days";
import { RepeatField } from "./RepeatField";
import { SavedField } from "./SavedField";
import styles from "./Tasks.module.css";

type FieldsProps = { task: Task; onSave: (patch: TaskPatch) => Promise<boolean> };

const listed = (text: string) =>
  text
    .split(/[,\s]+/)
    .map((word) => word.replace(/^#/, ""))
    .filter(Boolean);

/** A day and a time as the server takes them: without a time it is due on the day. */
function dueOf(day: string, time: string): TaskPatch {
  if (!day) return { due_date: null, due_at: null };
  return time
    ? { due_date: null, due_at: rfc3339(dateOf(day, minutesIn(time))) }
    : { due_date: day, due_at: null };
}

export function TaskFields({ task, onSave }: FieldsProps) {
  const day = dueDay(task) ?? "";
  const time = task.due_at ? clock(new Date(task.due_at)) : "";
  return (
    <div className={styles.fields}>
      <SelectField
        label={t("State")}
        value={task.status}
        options={statuses.map(({ status, label }) => ({ value: status, label }))}
        onChange={(status) => void onSave({ status })}
      />
      <SelectField
        label={t("Priority")}
        value={task.priority}
        options={priorities}
        onChange={(priority) => void onSave({ priority })}
      />
      <SavedField
        key={`day ${day}`}
        label={t("Due")}
        type="date"
        value={day}
        onSave={(next) => onSave(dueOf(next, time))}
      />
      <SavedField
        key={`time ${time} ${day}`}
        label={t("At")}
        type="time"
        value={time}
        onSave={(next) => onSave(dueOf(day, next))}
      />
      <SavedField
        label={t("Project")}
        value={task.project ?? ""}
        onSave={(project) => onSave({ project: project || null })}
      />
      <SavedField
        label={t("Tags")}
        value={task.tags.join(", ")}
        onSave={(text) => onSave({ tags: listed(text) })}
      />
      <RepeatField task={task} onSave={onSave} />
      <SavedField
        label={t("Hours, estimated")}
        type="number"
        value={task.estimated_hours === null ? "" : String(task.estimated_hours)}
        onSave={(text) => onSave({ estimated_hours: text ? Number(text) : null })}
      />
    </div>
  );
}
