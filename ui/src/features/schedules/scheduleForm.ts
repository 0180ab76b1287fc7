// What the form of a schedule holds, and what is sent of it. Pure.
import type { Schedule } from "../../api/schedules";

export type ScheduleForm = {
  action: Schedule["action"];
  title: string;
  text: string;
  when: string;
  url: string;
  missed: Schedule["missed"];
  budget: string;
  channels: Schedule["channels"];
};

export function formOf(schedule: Schedule | null): ScheduleForm {
  return {
    action: schedule?.action ?? "remind",
    title: schedule?.title ?? "",
    text: schedule?.text ?? "",
    when: "",
    url: schedule?.url ?? "",
    missed: schedule?.missed ?? "once",
    budget: schedule?.budget_tokens ? String(schedule.budget_tokens) : "",
    channels: schedule?.channels ?? [],
  };
}

/** What is sent; without words about the time it stays as it was. */
export function sentOf(form: ScheduleForm, isNew: boolean) {
  const { title, text, when, url, action, missed, budget, channels } = form;
  return {
    action,
    text: text.trim(),
    missed,
    channels,
    ...(title.trim() ? { title: title.trim() } : {}),
    ...(when.trim() || isNew ? { when: when.trim() } : {}),
    ...(action === "watch" ? { url: url.trim() } : {}),
    ...(action === "run" ? { budget_tokens: budget ? Number(budget) : null } : {}),
  };
}
