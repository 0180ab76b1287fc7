// A page that is being edited: what was read, what was typed, and what somebody else wrote meanwhile. Pure.
import type { Problem } from "../../api/client";
import type { VaultPage } from "../../api/types";
import { merged } from "./diffLines";
import type { Kept } from "./keptDrafts";

export type Draft = {
  /** What the text is a change of; null for a page that was deleted underneath. */
  page: VaultPage | null;
  text: string;
  saving: boolean;
  /** The page as somebody else left it, while what was typed here is not saved. */
  theirs: { page: VaultPage | null } | null;
  problem: Problem | null;
};

export type Happening =
  | { kind: "read"; page: VaultPage }
  | { kind: "typed"; text: string }
  | { kind: "saving" }
  | { kind: "saved"; path: string; text: string; version: string }
  | { kind: "conflict"; theirs: VaultPage | null }
  | { kind: "gone" }
  | { kind: "failed"; problem: Problem }
  | { kind: "mine" }
  | { kind: "theirs" }
  | { kind: "both" };

const fresh = { size: 0, changed_at: "", problems: [] };

export const draftOf = (page: VaultPage): Draft => ({
  page,
  text: page.text,
  saving: false,
  theirs: null,
  problem: null,
});

/** A page with what was typed before it was left; what somebody else made of it meanwhile stands beside it. */
export function reopened(page: VaultPage | null, kept: Kept | null): Draft {
  if (!kept) return draftOf(page ?? { ...fresh, path: "", text: "", version: "" });
  const { text, version, base } = kept;
  if (!page) return { page: null, text, saving: false, theirs: { page: null }, problem: null };
  if (text === page.text) return draftOf(page);
  if (version === page.version) return { ...draftOf(page), text };
  return { ...draftOf({ ...page, text: base, version }), text, theirs: { page } };
}

/** Both texts as one, where they were changed in different places; null where somebody has to choose. */
export function both({ page, text, theirs }: Draft): string | null {
  return page && theirs?.page ? merged(page.text, text, theirs.page.text) : null;
}

export const isUnsaved = ({ page, text }: Draft): boolean => page === null || text !== page.text;

/** What is read anew is taken in where nothing was typed; otherwise both texts are kept. */
function read(draft: Draft, page: VaultPage): Draft {
  if (draft.page?.version === page.version) return { ...draft, page, theirs: null, problem: null };
  if (!isUnsaved(draft) || draft.text === page.text) return draftOf(page);
  return { ...draft, theirs: { page }, saving: false };
}

export function happened(draft: Draft, what: Happening): Draft {
  switch (what.kind) {
    case "read":
      return read(draft, what.page);
    case "typed":
      return { ...draft, text: what.text };
    case "saving":
      return { ...draft, saving: true, problem: null };
    case "saved": {
      const { path, text, version } = what;
      const page = { ...(draft.page ?? fresh), path, text, version };
      return { ...draft, page, saving: false, theirs: null, problem: null };
    }
    case "conflict":
      return what.theirs
        ? read({ ...draft, saving: false }, what.theirs)
        : { ...draft, saving: false, theirs: { page: null } };
    case "gone":
      return { ...draft, saving: false, theirs: { page: null } };
    case "failed":
      return { ...draft, saving: false, problem: what.problem };
    case "mine":
      return { ...draft, page: draft.theirs?.page ?? null, theirs: null };
    case "both": {
      const text = both(draft);
      return text === null
        ? draft
        : { ...draft, text, page: draft.theirs?.page ?? null, theirs: null };
    }
    case "theirs":
      return draft.theirs?.page ? draftOf(draft.theirs.page) : draft;
  }
}
