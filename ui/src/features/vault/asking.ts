// A question to the vault and its answer as it comes. Lives as long as the room; the history of questions is the chat's.

import { asProblem, Problem } from "../../api/client";
import type { ContractEvent } from "../../api/types";
import { t } from "../../i18n";
import { emptyRun, type Run, reduce } from "../../run/reduce";
import { frames } from "../../run/sse";
import { Store } from "../../services/store";

export type Asked = {
  question: string;
  /** What happened until now; null before the first question. */
  run: Run | null;
  running: boolean;
  /** The pages that were read for the answer. */
  pages: readonly string[];
  problem: Problem | null;
};

type Ask = (question: string, signal: AbortSignal) => Promise<Response>;

const nothing: Asked = { question: "", run: null, running: false, pages: [], problem: null };
const DONE = "[DONE]";

export class Asking {
  readonly store = new Store<Asked>(nothing);
  /** What is typed and not asked yet. */
  draft = "";
  #abort = new AbortController();

  constructor(readonly send: Ask) {}

  /** Asks; an answer that is still being given ends. */
  ask = async (question: string): Promise<void> => {
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const run = { ...emptyRun, startedAt: Date.now() };
    this.store.set({ ...nothing, question, run, running: true });
    try {
      const response = await this.send(question, signal);
      const isWhole = await this.#read(response, signal);
      if (signal.aborted) return;
      this.store.change({ running: false, problem: isWhole ? null : cut() });
    } catch (error) {
      if (!signal.aborted) this.store.change({ running: false, problem: asProblem(error) });
    }
  };

  /** Ends the answer; what came of it until now stays. */
  stop = (): void => {
    const { run, running } = this.store.get();
    this.#abort.abort();
    if (!run || !running) return;
    this.store.change({
      running: false,
      run: reduce(run, { kind: "run_done", reason: "cancelled" }),
    });
  };

  /** Takes the events in; whether the answer came to its end. */
  async #read(response: Response, signal: AbortSignal): Promise<boolean> {
    if (!response.body) return false;
    for await (const batch of frames(response.body)) {
      if (signal.aborted) return false;
      const told = batch.filter(({ data }) => data !== DONE).map(({ data }) => eventOf(data));
      this.#take(told.filter((event) => event !== null));
      if (told.length < batch.length) return true;
    }
    return false;
  }

  #take(events: readonly ContractEvent[]): void {
    let { run, pages } = this.store.get();
    for (const event of events) {
      run = reduce(run ?? emptyRun, event);
      if (event.kind === "memory_used") pages = event.ids;
    }
    this.store.change({ run, pages });
  }
}

function eventOf(data: string): ContractEvent | null {
  try {
    const event: unknown = JSON.parse(data);
    return event && typeof event === "object" && "kind" in event ? (event as ContractEvent) : null;
  } catch {
    return null;
  }
}

const cut = () =>
  new Problem(
    "cut",
    t("The connection was lost before the answer was complete"),
    t("Ask again."),
    0,
  );
