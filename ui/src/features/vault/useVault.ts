import { useEffect, useRef, useState } from "react";
import { vaultApi } from "../../api/vault";
import { SharedSource } from "../../services/sharedSource";
import { useStore } from "../../services/store";
import { EVERY_MS, type Followed, Following } from "./following";

export type Vault = Followed & Pick<Following, "read" | "look">;

/** Calls `act` now and then while the page is looked at. */
export function useEvery(ms: number, act: () => unknown): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const run = () => document.visibilityState === "visible" && latest.current();
    const timer = setInterval(run, ms);
    document.addEventListener("visibilitychange", run);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", run);
    };
  }, [ms]);
}

/** All pages, kept as they are: what another program or the agent changes appears by itself. */
export function useVault(): Vault {
  const [following] = useState(
    () => new Following(vaultApi, (hooks) => new SharedSource("bethink-vault", hooks)),
  );
  const followed = useStore(following.store);
  useEffect(() => {
    // Only what is looked at follows.
    const follow = () =>
      document.visibilityState === "visible" ? following.listen() : following.hush();
    let isHere = true;
    void following.read().then(() => isHere && follow());
    document.addEventListener("visibilitychange", follow);
    return () => {
      isHere = false;
      document.removeEventListener("visibilitychange", follow);
      following.hush();
    };
  }, [following]);
  useEvery(EVERY_MS, following.lookUnlessTold);
  const { read, look } = following;
  return { ...followed, read, look };
}
