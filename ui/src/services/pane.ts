// What stands beside a conversation: something that an answer made, kept or not.
import { Store } from "./store";

/** What something is shown as, which is more than its text. */
export type PaneFormat = "html" | "svg" | "markdown" | "mermaid" | "csv" | "code";

/** A block of an answer, which nobody has kept. */
export type LooseContent = { format: PaneFormat; language: string; text: string };
/** One that is kept; `conversation` is where it was made, if it is opened from elsewhere. */
export type KeptContent = { artifact: string; version?: number | undefined; conversation?: string };
/** All that are kept of this conversation, or of all. */
export type ListedContent = { listed: "here" | "all" };
export type PaneContent = LooseContent | KeptContent | ListedContent;

const formats: Record<string, PaneFormat> = {
  csv: "csv",
  htm: "html",
  html: "html",
  markdown: "markdown",
  md: "markdown",
  mermaid: "mermaid",
  svg: "svg",
};

/** What a block in this language is shown as; null where it is only read. */
export const formatOf = (language: string): PaneFormat | null =>
  formats[language.toLowerCase()] ?? null;

export class PaneService {
  readonly store = new Store<PaneContent | null>(null);
  /** What had the focus before. */
  #before: HTMLElement | null = null;

  /** Shows what somebody asked for; it has the focus. */
  show = (content: PaneContent): void => {
    this.#before ??= document.activeElement as HTMLElement | null;
    this.store.set(content);
  };

  /** Shows what nobody asked for; the focus stays where it is. */
  offer = (content: PaneContent): void => this.store.set(content);

  get isAskedFor(): boolean {
    return this.#before !== null;
  }

  close = (): void => {
    this.store.set(null);
    this.#before?.focus();
    this.#before = null;
  };
}
