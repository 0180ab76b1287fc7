// The page as an installed program: a worker keeps its files, so that it opens without the server.
import { CONNECTION_BACK } from "../api/client";
import { t } from "../i18n";
import type { Toasts } from "./toasts";

const LOOK_MS = 3_600_000;

/** Registers the worker, and tells quietly when a newer build of the page is there. */
export function keepShell(toasts: Toasts): void {
  const { serviceWorker } = navigator;
  if (!serviceWorker || !import.meta.env.PROD) return;
  let isFirst = serviceWorker.controller === null;
  serviceWorker.addEventListener("controllerchange", () => {
    const reload = { label: t("Reload"), run: () => location.reload() };
    if (!isFirst) toasts.show(t("A new version of Bethink is here."), reload);
    isFirst = false;
  });
  let looked = Date.now();
  const look = async () => {
    looked = Date.now();
    const worker = await serviceWorker.getRegistration("/");
    await worker?.update().catch(() => undefined);
  };
  addEventListener(CONNECTION_BACK, () => void look());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && Date.now() - looked > LOOK_MS) void look();
  });
  // A browser that lets no worker be has the page all the same, while the server is there.
  const register = () => void serviceWorker.register("/worker.js").catch(() => undefined);
  // What it keeps is for another day: what this one needs comes first.
  const begin = () => (globalThis.requestIdleCallback ?? setTimeout)(register);
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin);
}

export type SharedThing = { text: string; files: readonly File[] };

/** What another program shared, once: the worker put it there. */
export async function takeShared(): Promise<SharedThing | null> {
  const opened = indexedDB.open("bethink-shared", 1);
  opened.onupgradeneeded = () => opened.result.createObjectStore("shared", { autoIncrement: true });
  const database = await settled(opened);
  const things = database.transaction("shared", "readwrite").objectStore("shared");
  const all = (await settled(things.getAll())) as SharedThing[];
  await settled(things.clear());
  database.close();
  return all.at(-1) ?? null;
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
