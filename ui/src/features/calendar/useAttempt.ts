import { useState } from "react";
import { useApp } from "../../services/context";

/** Does something once at a time; what fails is told in a toast. */
export function useAttempt(after: () => Promise<unknown>) {
  const { toasts, plannerNews } = useApp();
  const [busy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<string | null>) => {
    if (busy) return false;
    setBusy(true);
    let isDone = true;
    try {
      const said = await work();
      if (said) toasts.show(said);
    } catch (error) {
      toasts.fault(error);
      isDone = false;
    }
    setBusy(false);
    await Promise.all([after(), plannerNews.tell()]);
    return isDone;
  };
  return { busy, attempt };
}
