// Schedules in words. Pure.
import { Bell, Bot, Globe, type LucideIcon } from "lucide-react";
import type { Schedule, ScheduleRun } from "../../api/schedules";
import { fullDate } from "../../services/words";

export const actions: Record<Schedule["action"], { label: string; icon: LucideIcon }> = {
  remind: { label: "Remind me", icon: Bell },
  run: { label: "Have Bethink do it", icon: Bot },
  watch: { label: "Watch a page", icon: Globe },
};

const outcomes: Record<ScheduleRun["outcome"], string> = {
  running: "at work",
  done: "done",
  failed: "failed",
  missed: "missed while Bethink was off",
  skipped: "skipped",
  waiting_for_approval: "waits for your approval",
  unknown: "ended without saying how",
};

export const outcomeWords = (outcome: ScheduleRun["outcome"]): string => outcomes[outcome];

export const needsLook = (outcome: ScheduleRun["outcome"]): boolean =>
  outcome === "failed" || outcome === "waiting_for_approval" || outcome === "unknown";

/** When it comes next. */
export function nextWords({ paused, next_at, next_words, snoozed_until }: Schedule): string {
  if (paused) return "Paused";
  if (!next_at) return "Over";
  const when = next_words || fullDate(Date.parse(next_at));
  return snoozed_until ? `Snoozed until ${when}` : `Next: ${when}`;
}
