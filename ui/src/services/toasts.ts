// Short notes at the foot of the page: a receipt, often with its undo.
import { asProblem } from "../api/client";
import { Store } from "./store";

export type Toast = {
  id: number;
  tone: "plain" | "fault";
  text: string;
  detail?: string;
  action?: { label: string; run: () => void };
};

/** Long enough to read and to reach for Undo (WCAG 2.2.1 asks for no less than 20 s where it matters). */
const STAYS_MS = { plain: 8000, withAction: 20_000, fault: 20_000 };

export class Toasts {
  readonly list = new Store<readonly Toast[]>([]);
  #next = 1;

  show = (text: string, action?: Toast["action"]): void => {
    const toast: Toast = { id: this.#next++, tone: "plain", text };
    if (action) toast.action = action;
    this.#add(toast, action ? STAYS_MS.withAction : STAYS_MS.plain);
  };

  fault = (error: unknown): void => {
    const problem = asProblem(error);
    const text = problem.detail && problem.status ? problem.detail : problem.title;
    const toast: Toast = { id: this.#next++, tone: "fault", text };
    if (problem.detail && !problem.status) toast.detail = problem.detail;
    this.#add(toast, STAYS_MS.fault);
  };

  close = (id: number): void => this.list.set(this.list.get().filter((toast) => toast.id !== id));

  /** The newest action still on offer is taken: what the `u` key does. */
  takeBack = (): void => {
    const toast = this.list.get().findLast((each) => each.action);
    if (!toast) return;
    this.close(toast.id);
    toast.action?.run();
  };

  #add(toast: Toast, stays: number): void {
    this.list.set([...this.list.get().slice(-2), toast]);
    setTimeout(() => this.close(toast.id), stays);
  }
}
