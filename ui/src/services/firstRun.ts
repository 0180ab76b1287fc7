// Whoever opens a Bethink without a model is led through the first steps, once.
import { useEffect, useRef } from "react";
import { settingsApi } from "../api/settings";
import { useApp } from "./context";
import { useStore } from "./store";

/** Opens the first steps in place of an empty chat, unless they were done or put off, or another must do them. */
export function useFirstRun(path: string): void {
  const { health, account, router } = useApp();
  const { settings } = useStore(health.store);
  const session = useStore(account.session);
  const asked = useRef(false);
  const may = session && (!session.user || session.rights.includes("admin"));
  const isDue = path === "/" && may && settings !== null && !settings.model;
  useEffect(() => {
    if (!isDue || asked.current) return;
    asked.current = true;
    settingsApi.setup().then(
      ({ model, dismissed }) => {
        if (!model && !dismissed) router.goOn("/", "/setup/model", true);
      },
      () => undefined,
    );
  }, [isDue, router]);
}
