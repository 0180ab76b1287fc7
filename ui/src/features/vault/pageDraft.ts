// One page while it is edited: read, kept, saved, followed. Holds no part of the page; `useDraft` shows it.

import { asProblem, Problem } from "../../api/client";
import { PageConflict, type vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Store } from "../../services/store";
import { type Draft, type Happening, happened, isUnsaved, reopened } from "./draft";
import type { KeptDrafts } from "./keptDrafts";

/** How long after the last key a page is saved by itself. */
export const PAUSE_MS = 1500;
/** How long after a key what was typed is kept by the browser. */
export const KEEP_MS = 250;
const GONE = 404;

type Options = {
  api: Pick<typeof vaultApi, "page" | "newer" | "write">;
  kept: KeptDrafts;
  onSaved: () => void;
  /** What was typed could not be saved, and nobody looks at the page any more. */
  onLeft: (path: string) => void;
};

export class PageDraft {
  /** `problem` says why there is nothing to edit. */
  readonly store = new Store<{ draft: Draft | null; problem: Problem | null }>({
    draft: null,
    problem: null,
  });
  /** Grows with every change of what is known: an answer that was asked for before is old. */
  #turn = 0;
  #saving: Promise<void> | null = null;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #keeping: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  /** The page is known to have changed since it was asked for. */
  #isLate = false;

  constructor(
    readonly path: string,
    readonly options: Options,
  ) {}

  get draft(): Draft | null {
    return this.store.get().draft;
  }

  /** Reads the page anew; for the first time with what was typed before a reload. */
  read = async (): Promise<void> => {
    const { api, kept } = this.options;
    const turn = this.#turn;
    try {
      const [page] = await Promise.all([api.page(this.path), kept.ready]);
      if (turn !== this.#turn) return;
      if (this.draft) this.#tell({ kind: "read", page });
      else this.#begin(reopened(page, kept.find(this.path)));
    } catch (error) {
      if (turn !== this.#turn) return;
      const problem = asProblem(error);
      const lost = problem.status === GONE && !this.draft ? kept.find(this.path) : null;
      if (lost) this.#begin(reopened(null, lost));
      else if (!this.draft) this.store.change({ problem });
      else if (problem.status === GONE) this.#tell({ kind: "gone" });
      else this.#tell({ kind: "failed", problem });
    }
  };

  /** Takes in the page as another program left it. */
  look = async (): Promise<void> => {
    const page = this.draft?.page;
    // What is being read may be of a moment ago: it is looked at again behind that.
    if (!this.draft) this.#isLate = true;
    if (!page || this.#saving) return;
    const turn = this.#turn;
    try {
      const found = await this.options.api.newer(this.path, page.version);
      if (!found) return;
      if (turn === this.#turn) this.#tell({ kind: "read", page: found });
      else await this.look();
    } catch (error) {
      if (asProblem(error).status === GONE && turn === this.#turn) this.#tell({ kind: "gone" });
    }
  };

  type = (text: string): void => this.#tell({ kind: "typed", text });

  /** Saves what was typed until now; while that goes on already, its end is waited for. */
  save = (): Promise<void> => {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = null;
      this.#plan();
    });
    return this.#saving;
  };

  /** Saves what was typed until now, also what came behind what is being saved. */
  saveNow = async (): Promise<void> => {
    await this.#saving;
    await this.save();
  };

  /**
   * Saves until nothing is left to save.
   *
   * Throws a `Problem` where the text cannot be saved as it is.
   */
  saveAll = async (): Promise<void> => {
    await this.#saving;
    let tried: string | null = null;
    while (this.draft && isUnsaved(this.draft)) {
      const { text, theirs, problem } = this.draft;
      if (theirs) throw undecided();
      if (problem && text === tried) throw problem;
      tried = text;
      await this.save();
    }
  };

  /** Tries again what failed: whoever could not answer may be back. */
  retry = async (): Promise<void> => {
    const { draft, problem } = this.store.get();
    if (draft?.problem && isUnsaved(draft)) await this.saveNow();
    else if (draft ? draft.problem : problem) await this.read();
  };

  choose = (which: "mine" | "theirs" | "both"): void => {
    this.#tell({ kind: which });
    void this.save();
  };

  /** Lets what was typed go. */
  drop = (): void => {
    this.#isClosed = true;
    this.#stop();
    this.options.kept.forget(this.path);
  };

  /** Keeps what was typed at once: the tab may be gone in a moment. */
  keep = (): void => {
    clearTimeout(this.#keeping);
    const { draft } = this;
    if (!draft || !isUnsaved(draft)) return;
    const { text, page } = draft;
    const base = { version: page?.version ?? "", base: page?.text ?? "" };
    this.options.kept.keep(this.path, { text, ...base });
  };

  /** Nobody looks at the page any more: what was typed is saved, or stays kept. */
  close = (): void => {
    if (this.#isClosed) return;
    this.keep();
    this.#isClosed = true;
    this.#stop();
    this.saveAll().catch(() => this.options.onLeft(this.path));
  };

  async #save(): Promise<void> {
    const { draft } = this;
    if (!draft || draft.theirs || !isUnsaved(draft)) return;
    const { text, page: before } = draft;
    this.#tell({ kind: "saving" });
    try {
      const { path, after } = await this.options.api.write(this.path, text, before?.version ?? "");
      this.#tell({ kind: "saved", path, text, version: after ?? "" });
      this.options.kept.forget(this.path, text);
      this.options.onSaved();
      if (!this.#isClosed) await this.read();
    } catch (error) {
      if (error instanceof PageConflict) this.#tell({ kind: "conflict", theirs: error.current });
      else this.#tell({ kind: "failed", problem: asProblem(error) });
    }
  }

  #begin(draft: Draft): void {
    this.#turn += 1;
    this.store.set({ draft, problem: null });
    this.#plan();
    if (this.#isLate) void this.look();
    this.#isLate = false;
  }

  #tell(what: Happening): void {
    if (!this.draft) return;
    if (what.kind !== "typed") this.#turn += 1;
    const draft = happened(this.draft, what);
    this.store.set({ draft, problem: null });
    if (!isUnsaved(draft)) this.options.kept.forget(this.path);
    this.#plan(what.kind === "typed");
  }

  /** Keeps and saves in a while what is not saved; what failed only once more was typed. */
  #plan(isTyped = false): void {
    this.#stop();
    const { draft } = this;
    if (this.#isClosed || !draft || !isUnsaved(draft)) return;
    this.#keeping = setTimeout(this.keep, KEEP_MS);
    const waits = !draft.saving && !draft.theirs && (isTyped || !draft.problem);
    if (waits) this.#pause = setTimeout(() => void this.save(), PAUSE_MS);
  }

  #stop(): void {
    clearTimeout(this.#pause);
    clearTimeout(this.#keeping);
  }
}

const undecided = () =>
  new Problem(
    "conflict",
    t("This page was changed elsewhere while you wrote"),
    t("First choose which text to keep. Both are shown below the page."),
    409,
  );
