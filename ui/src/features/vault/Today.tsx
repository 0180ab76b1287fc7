import { useEffect, useRef } from "react";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import type { Notes } from "./following";
import { dailyPath, dailyTemplate } from "./notes";
import type { PageActions } from "./usePageActions";
import type { Pages } from "./wikilinks";

type TodayProps = { notes: Notes; pages: Pages; actions: PageActions };

/** Leads to the note of today, which is made where there is none yet. */
export function Today({ notes, pages, actions }: TodayProps) {
  const { router, toasts } = useApp();
  const isBegun = useRef(false);
  useEffect(() => {
    if (isBegun.current) return;
    isBegun.current = true;
    const path = dailyPath(notes, new Date());
    const open = async () => {
      if (pages.paths.includes(path)) return router.go(addressOfPage(path), true);
      const template = dailyTemplate(pages.paths, notes);
      const text = template ? (await vaultApi.page(template)).text : null;
      await actions.create(path, text, true);
    };
    open().catch((error) => {
      toasts.fault(error);
      router.goOn("/vault/today", "/vault", true);
    });
  }, [notes, pages, actions, router, toasts]);
  return <Skeleton lines={4} label={t("Opening today’s note")} />;
}
