// Short notes at the foot of the page: a receipt, often with its undo.
import { asProblem } from "../api/client";
import { Store } from "./store";

export type Toast = {
  id: number;
  tone: "plain" | "fault";
  text: string;
  detail?: string;
  /** `of` is the undo token that it would use. */
  action?: { label: string; run: () => void; of?: string };
};

/** Long enough to read and to reach for Undo (WCAG 2.2.1 asks for no less than 20 s where it matters). */
const STAYS_MS = { plain: 8000, withAction: 20_000, fault: 20_000 };

export class Toasts {
  readonly list = new Store<readonly Toast[]>([]);
  #next = 1;
  #ends = new Map<number, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heldAt: number | null = null;

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

  close = (id: number): void => {
    this.#ends.delete(id);
    this.list.set(this.list.get().filter((toast) => toast.id !== id));
    // What is gone is left by nobody.
    if (this.#ends.size === 0) this.#heldAt = null;
  };

  /** What it offers was done elsewhere. */
  settle = (token: string): void => {
    for (const { id, action } of this.list.get()) if (action?.of === token) this.close(id);
  };

  /** The newest action still on offer is taken: what the `u` key does. */
  takeBack = (): void => {
    const toast = this.list.get().findLast((each) => each.action);
    if (!toast) return;
    this.close(toast.id);
    toast.action?.run();
  };

  /** Somebody is at them: none goes. */
  hold = (): void => {
    this.#heldAt ??= Date.now();
    clearTimeout(this.#timer);
  };

  release = (): void => {
    if (this.#heldAt === null) return;
    const held = Date.now() - this.#heldAt;
    this.#heldAt = null;
    for (const [id, end] of this.#ends) this.#ends.set(id, end + held);
    this.#tick();
  };

  #add(toast: Toast, stays: number): void {
    this.#ends.set(toast.id, Date.now() + stays);
    this.list.set([...this.list.get().slice(-2), toast]);
    this.#tick();
  }

  /** Has those go whose time is over, and waits for the next. */
  #tick(): void {
    clearTimeout(this.#timer);
    if (this.#heldAt !== null) return;
    const now = Date.now();
    for (const [id, end] of this.#ends) if (end <= now) this.close(id);
    const next = Math.min(...this.#ends.values());
    if (Number.isFinite(next)) this.#timer = setTimeout(() => this.#tick(), next - now);
  }
}
