// All settings as the server has them, read once for the room, and changed one by one.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef } from "react";
import { asProblem, type Problem } from "../../api/client";
import {
  type AllSettings,
  type SettingShown,
  type SettingsPatch,
  settingsApi,
} from "../../api/settings";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";

export type SettingsHere = {
  all: AllSettings | null;
  problem: Problem | null;
  read: () => Promise<void>;
  find: (name: string) => SettingShown | undefined;
  /** The problem if it was refused: nothing of it was changed then. */
  save: (patch: SettingsPatch) => Promise<Problem | null>;
};

const Context = createContext<SettingsHere | null>(null);
const ask = (signal: AbortSignal) => settingsApi.read(signal);

export function SettingsProvider({ children }: { children: ReactNode }) {
  const { health } = useApp();
  const { value: all, problem, read: readAgain, change } = useRead(ask);
  const read = useCallback(() => readAgain(), [readAgain]);
  const put = useCallback(
    async (patch: SettingsPatch) => {
      try {
        const now = await settingsApi.change(patch);
        change(() => now);
        health.learn(now);
        return null;
      } catch (error) {
        return asProblem(error);
      }
    },
    [change, health],
  );
  // One after the other: what is shown is what was kept last.
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const save = useCallback(
    (patch: SettingsPatch) => {
      const saved = last.current.then(() => put(patch));
      last.current = saved;
      return saved;
    },
    [put],
  );
  const here = useMemo(() => {
    const byName = new Map(all?.settings?.map((each) => [each.name, each]));
    return { all, problem, read, save, find: (name: string) => byName.get(name) };
  }, [all, problem, read, save]);
  return <Context value={here}>{children}</Context>;
}

export function useSettings(): SettingsHere {
  const here = useContext(Context);
  if (!here) throw new Error("useSettings outside of SettingsProvider");
  return here;
}

/** What a refused change says of one setting; what it says of all where it names none. */
export function faultOf(problem: Problem, name: string): string {
  const { errors } = problem.body;
  const named = Array.isArray(errors) ? errors.find((each) => each?.parameter === name) : undefined;
  return String(named?.reason ?? (problem.detail || problem.title));
}
