// Changes of events: for a series it is asked how much of it, a conflict is settled, and each can be undone.

import {
  calendarApi,
  type Event,
  type EventDraft,
  type FreeTime,
  type Scope,
} from "../../api/calendar";
import { asProblem } from "../../api/client";
import { t } from "../../i18n";
import { useQuestion } from "../../kit/useQuestion";
import { whenWords } from "../../planner/eventWords";
import { type Shown, shownOf } from "../../planner/shown";
import { useReceipt } from "../../planner/useReceipt";
import { useApp } from "../../services/context";
import { rfc3339 } from "../../services/days";
import { timesOf } from "./moves";
import type { Events } from "./useEvents";

const HOUR_MS = 3_600_000;
const ALL: readonly Scope[] = ["this", "following", "all"];

type Write = (draft: EventDraft) => Promise<Event>;
export type Clash = {
  title: string;
  conflicts: readonly Event[];
  /** When else it could begin. */
  free: readonly FreeTime[];
};
/** It is kept though it overlaps, or begins at a time that is free. */
type Settling = { begin: Date | null };
type Asked = { of: Event; what: "change" | "delete"; scopes: readonly Scope[] };
type Times = Pick<EventDraft, "start" | "end">;

/** What the server says of a conflict; null for anything else. */
function clashIn(error: unknown, title: string): Clash | null {
  const { status, body } = asProblem(error);
  if (status !== 409 || !Array.isArray(body.conflicts)) return null;
  return {
    title,
    conflicts: body.conflicts as Event[],
    free: Array.isArray(body.free) ? (body.free as FreeTime[]) : [],
  };
}

/** What is sent once it is settled: it lasts as long as it was to. */
function settledBy({ begin }: Settling, { start, end }: Times): EventDraft {
  if (!begin || !start) return { allow_conflict: true };
  const lasts = end ? Date.parse(end) - Date.parse(start) : HOUR_MS;
  return { start: rfc3339(begin), end: rfc3339(new Date(begin.getTime() + lasts)) };
}

export function useEventChanges(replace: Events["replace"]) {
  const { toasts, plannerNews } = useApp();
  const scope = useQuestion<Asked, Scope>();
  const clash = useQuestion<Clash, Settling>();

  const receipt = useReceipt(calendarApi.undo);

  /** Writes; a conflict is asked about until it is settled. Null if it is left. */
  const settled = async (title: string, draft: EventDraft, times: Times, write: Write) => {
    let sent = draft;
    for (;;) {
      try {
        return await write(sent);
      } catch (error) {
        const found = clashIn(error, title);
        if (!found) throw error;
        const answer = await clash.ask(found);
        if (!answer) return null;
        sent = { ...draft, ...settledBy(answer, times) };
      }
    }
  };

  const scopeFor = (of: Event, what: Asked["what"], scopes: Asked["scopes"] = ALL) =>
    of.is_series ? scope.ask({ of, what, scopes }) : Promise.resolve<Scope>("all");

  /** Makes it, once for a key; null if it was left at a conflict. What fails is thrown. */
  const add = async (
    draft: EventDraft,
    meant: Times & { title?: string | null } = draft,
    key?: string,
  ) => {
    const write: Write = (sent) => calendarApi.add(sent, key);
    const made = await settled(meant.title ?? "", draft, meant, write);
    if (!made) return null;
    receipt(t("“{title}” is on {when}", { title: made.title, when: whenWords(shownOf(made)) }), [
      made.undo,
    ]);
    await plannerNews.tell();
    return made;
  };

  /** True if it was changed; false if it was left at a question. What fails is thrown. */
  const change = async (of: Event, patch: EventDraft, done: (now: Event) => string) => {
    // One of a series alone has no rule of its own.
    const scopes = "recurrence" in patch ? ALL.slice(1) : ALL;
    const much = await scopeFor(of, "change", scopes);
    if (!much) return false;
    if (patch.start) replace(of.id, patch as Partial<Event>);
    try {
      const times = { start: patch.start ?? of.start, end: patch.end ?? of.end };
      const written = await settled(of.title, patch, times, (sent) =>
        calendarApi.change(of.id, sent, much),
      );
      if (written) receipt(done(written), [written.undo]);
      return written !== null;
    } finally {
      await plannerNews.tell();
    }
  };

  const place = async (from: Shown, to: Shown) => {
    try {
      const times = timesOf(to.begin, to.end, to.event.all_day);
      await change(from.event, times, (now) =>
        t("“{title}” is on {when}", { title: now.title, when: whenWords(shownOf(now)) }),
      );
    } catch (error) {
      toasts.fault(error);
    }
  };

  const remove = async (of: Event) => {
    const much = await scopeFor(of, "delete");
    if (!much) return false;
    try {
      const { undo } = await calendarApi.remove(of.id, much);
      receipt(t("“{title}” was deleted", { title: of.title }), [undo]);
      await plannerNews.tell();
      return true;
    } catch (error) {
      toasts.fault(error);
      return false;
    }
  };
  return { add, change, place, remove, scope, clash };
}

export type EventChanges = ReturnType<typeof useEventChanges>;
