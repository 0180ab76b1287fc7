import { useCallback, useRef } from "react";
import { t } from "../i18n";
import { useApp } from "../services/context";

/** Says what was done, with its undo. Undos run one after the other, the newest change first. */
export function useReceipt(undo: (token: string) => Promise<unknown>) {
  const { toasts, plannerNews } = useApp();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  return useCallback(
    (text: string, given: readonly (string | null | undefined)[]) => {
      const tokens = given.filter((token) => token);
      if (!tokens.length) return toasts.show(text);
      const takeBack = async () => {
        try {
          for (const token of tokens.toReversed()) await undo(token ?? "");
        } catch (error) {
          toasts.fault(error);
        }
        await plannerNews.tell();
      };
      const run = () => {
        last.current = last.current.then(takeBack);
      };
      toasts.show(text, { label: t("Undo"), run });
    },
    [toasts, plannerNews, undo],
  );
}
