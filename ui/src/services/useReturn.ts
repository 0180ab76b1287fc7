import { useEffect, useRef } from "react";
import { CONNECTION_BACK } from "../api/client";

/** Calls `act` whenever somebody comes back to the page, or the server does: what was read may be true no more. */
export function useReturn(act: () => unknown): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && latest.current();
    document.addEventListener("visibilitychange", look);
    addEventListener(CONNECTION_BACK, look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      removeEventListener(CONNECTION_BACK, look);
    };
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
