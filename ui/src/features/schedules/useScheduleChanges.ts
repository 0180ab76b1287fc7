import { type NewSchedule, type Schedule, schedulesApi } from "../../api/schedules";
import type { SchedulePatch } from "../../contract/openapi";
import { t } from "../../i18n";
import { momentWords } from "../../planner/momentWords";
import { useApp } from "../../services/context";

/** Changes of schedules, each with a receipt and, if that can be, its undo. */
export function useScheduleChanges() {
  const { toasts, plannerNews } = useApp();
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      toasts.fault(error);
    }
    await plannerNews.tell();
  };
  const act = (schedule: Schedule, what: "run" | "pause" | "resume", said: string) =>
    attempt(async () => {
      await schedulesApi.act(schedule.id, what);
      const back = { pause: "resume", resume: "pause", run: null }[what] as
        | "pause"
        | "resume"
        | null;
      if (!back) return toasts.show(said);
      const run = () => void attempt(async () => void (await schedulesApi.act(schedule.id, back)));
      toasts.show(said, { label: t("Undo"), run });
    });
  return {
    run: (schedule: Schedule) =>
      act(schedule, "run", t("“{title}” was started", { title: schedule.title })),
    pause: (schedule: Schedule) =>
      act(schedule, "pause", t("“{title}” is paused", { title: schedule.title })),
    resume: (schedule: Schedule) =>
      act(schedule, "resume", t("“{title}” goes on", { title: schedule.title })),
    snooze: (schedule: Schedule, minutes: number) =>
      attempt(async () => {
        const { next_at: at, next_words } = await schedulesApi.snooze(schedule.id, minutes);
        const when = momentWords({ at }, next_words);
        toasts.show(t("“{title}” comes {when}", { title: schedule.title, when }));
      }),
    remove: (schedule: Schedule) =>
      attempt(async () => {
        await schedulesApi.remove(schedule.id);
        toasts.show(t("“{title}” was deleted", { title: schedule.title }));
      }),
    /** Makes or changes it. What fails is thrown. */
    save: async (schedule: Schedule | null, fields: NewSchedule | SchedulePatch) => {
      const now = schedule
        ? await schedulesApi.change(schedule.id, { ...fields, version: schedule.version })
        : await schedulesApi.add(fields as NewSchedule);
      toasts.show(
        now.next_words
          ? t("“{title}” comes {when}", {
              title: now.title,
              when: momentWords({ at: now.next_at }, now.next_words),
            })
          : t("“{title}” is kept", { title: now.title }),
      );
      await plannerNews.tell();
    },
  };
}

export type ScheduleChanges = ReturnType<typeof useScheduleChanges>;
