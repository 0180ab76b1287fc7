// Changes of tasks, each with a receipt and its undo.
import { type Task, type TaskPatch, tasksApi } from "../api/tasks";
import { t } from "../i18n";
import { useApp } from "../services/context";
import { momentWords } from "./momentWords";
import { isOpen, statusName } from "./taskWords";
import { useReceipt } from "./useReceipt";

export function useTaskChanges() {
  const { toasts, plannerNews } = useApp();
  const receipt = useReceipt(tasksApi.undo);
  /** True if it was done. */
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    let isDone = true;
    try {
      await work();
    } catch (error) {
      toasts.fault(error);
      isDone = false;
    }
    await plannerNews.tell();
    return isDone;
  };
  const change = (task: Task, patch: TaskPatch, said: string) =>
    attempt(async () => {
      const written = await tasksApi.change(task.id, patch);
      receipt(said, [written.undo ?? null]);
    });
  const toStatus = (tasks: readonly Task[], status: Task["status"]) =>
    attempt(async () => {
      const written = [];
      try {
        for (const task of tasks) written.push(await tasksApi.change(task.id, { status }));
      } finally {
        const [only] = tasks;
        const said =
          tasks.length === 1
            ? `“${only?.title}”`
            : t("{count, plural, one {# task} other {# tasks}}", { count: written.length });
        const next = written.some((each) => each.next) ? `; ${t("the next one is there")}` : "";
        const tokens = written.map(({ undo }) => undo ?? null);
        if (written.length) receipt(`${said}: ${statusName(status).toLowerCase()}${next}`, tokens);
      }
    });
  return {
    change,
    toStatus,
    /** Done, or to be done again. */
    toggle: (task: Task) => toStatus([task], isOpen(task) ? "done" : "todo"),
    /** Made from words, once for a key. What fails is thrown. */
    add: async (
      words: string,
      fields: { parent?: string; status?: Task["status"] } = {},
      key?: string,
    ) => {
      const made = await tasksApi.add({ words, ...fields }, key);
      const { title, due_words } = made;
      const due = momentWords({ at: made.due_at ?? made.due_date }, due_words);
      const said = due
        ? t("“{title}” was added, due {due}", { title, due })
        : t("“{title}” was added", { title });
      receipt(said, [made.undo ?? null]);
      await plannerNews.tell();
      return made;
    },
    remove: (tasks: readonly Task[]) =>
      attempt(async () => {
        const gone = [];
        for (const task of tasks) gone.push(await tasksApi.remove(task.id));
        const said =
          tasks.length === 1
            ? t("“{title}” was", { title: tasks[0]?.title })
            : t("{count} tasks were", { count: tasks.length });
        const parts = gone.reduce((sum, { deleted }) => sum + deleted, 0) - tasks.length;
        const more = parts
          ? `, with ${t("{count, plural, one {# sub-task} other {# sub-tasks}}", { count: parts })}`
          : "";
        receipt(
          t("{said} deleted{more}", { said, more }),
          gone.map(({ undo }) => undo),
        );
      }),
  };
}

export type TaskChanges = ReturnType<typeof useTaskChanges>;
