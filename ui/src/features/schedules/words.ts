// Schedules in words. Pure.
import { Bell, Bot, Globe, type LucideIcon } from "lucide-react";
import type { Schedule, ScheduleRun } from "../../api/schedules";
import { locale, t } from "../../i18n";
import { fullDate } from "../../services/words";

export const actions: Record<Schedule["action"], { label: string; icon: LucideIcon }> = {
  remind: { label: t("Remind me"), icon: Bell },
  run: { label: t("Have Bethink do it"), icon: Bot },
  watch: { label: t("Watch a page"), icon: Globe },
};

const outcomes: Record<ScheduleRun["outcome"], string> = {
  running: t("at work"),
  done: t("done"),
  failed: t("failed"),
  missed: t("missed while Bethink was off"),
  skipped: t("skipped"),
  waiting_for_approval: t("waits for your approval"),
  unknown: t("ended without saying how"),
};

export const outcomeWords = (outcome: ScheduleRun["outcome"]): string => outcomes[outcome];

export const needsLook = (outcome: ScheduleRun["outcome"]): boolean =>
  outcome === "failed" || outcome === "waiting_for_approval" || outcome === "unknown";

/** When it comes next. */
export function nextWords({ paused, next_at, next_words, snoozed_until }: Schedule): string {
  if (paused) return t("Paused");
  if (!next_at) return t("Over");
  // The server's words are English.
  const when = (!locale() && next_words) || fullDate(Date.parse(next_at));
  return snoozed_until ? t("Snoozed until {when}", { when }) : t("Next: {when}", { when });
}
