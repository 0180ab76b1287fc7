import { useCallback, useEffect, useRef, useState } from "react";
import type { Problem } from "../../api/client";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { useStore } from "../../services/store";
import { useReturn } from "../../services/useReturn";
import { type Draft, isUnsaved } from "./draft";
import { keptDrafts } from "./keptDrafts";
import { PageDraft } from "./pageDraft";
import { titleOf } from "./treeRows";
import { useEvery } from "./useVault";

export type Editing = Pick<
  PageDraft,
  "type" | "saveNow" | "saveAll" | "retry" | "choose" | "read" | "drop"
> & {
  draft: Draft | null;
  /** Why there is nothing to edit. */
  problem: Problem | null;
};

/** How often a page is looked at without being told that it changed. */
const UNWATCHED_MS = 5000;

/**
 * One page being edited: saved after a pause, followed while another program writes it.
 *
 * `news` is another value whenever the page is known to have changed.
 */
export function useDraft(path: string, news: unknown, onSaved: () => void): Editing {
  const { account, router, toasts } = useApp();
  const saved = useRef(onSaved);
  saved.current = onSaved;
  const make = useCallback(() => {
    const owner = () => account.session.get()?.user?.id ?? "";
    return new PageDraft(path, {
      api: vaultApi,
      kept: keptDrafts(sessionStorage, owner, account.ready),
      onSaved: () => saved.current(),
      onLeft: (left) =>
        toasts.show(t("{page} is not saved; what you typed is kept", { page: titleOf(left) }), {
          label: t("Open it"),
          run: () => router.go(addressOfPage(left)),
        }),
    });
  }, [path, account, router, toasts]);
  const [page, setPage] = useState(make);
  const { draft, problem } = useStore(page.store);
  useEffect(() => {
    // One that was closed is not opened again.
    const opened = make();
    setPage(opened);
    void opened.read();
    const leave = (event: Event) => {
      opened.keep();
      const isOpen = opened.draft && isUnsaved(opened.draft);
      if (isOpen && event.type === "beforeunload") event.preventDefault();
    };
    addEventListener("beforeunload", leave);
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("beforeunload", leave);
      removeEventListener("pagehide", leave);
      opened.close();
    };
  }, [make]);
  const { look } = page;
  const told = useRef(news);
  useEffect(() => {
    // What is there when the page is opened is what it reads anyway.
    if (told.current !== news) void look();
    told.current = news;
  }, [news, look]);
  // Files that nobody watches change without news.
  useEvery(UNWATCHED_MS, look);
  const { type, saveNow, saveAll, retry, choose, read, drop } = page;
  useReturn(retry);
  return { draft, problem, type, saveNow, saveAll, retry, choose, read, drop };
}
