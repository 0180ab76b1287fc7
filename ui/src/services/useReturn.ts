import { useEffect, useRef } from "react";

/** Calls `act` whenever somebody comes back to the page: what was read may be true no more. */
export function useReturn(act: () => unknown): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && latest.current();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
}

/** While it is `due`, calls `act` each time `ms` after its last call has ended and the page is looked at. */
export function useAgain(due: boolean, ms: number, act: () => Promise<unknown>): void {
  useEffect(() => {
    if (!due) return;
    let isHere = true;
    const run = async () => {
      if (document.visibilityState === "visible") await act();
      if (isHere) timer = setTimeout(run, ms);
    };
    let timer = setTimeout(run, ms);
    return () => {
      isHere = false;
      clearTimeout(timer);
    };
  }, [due, ms, act]);
}
