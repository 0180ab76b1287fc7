import { useEffect, useRef } from "react";
import type { KeyId } from "../keys/bindings";
import { useApp } from "./context";

/** While this part is shown, the binding does this. */
export function useKey(id: KeyId, handler: () => void): void {
  const { keys } = useApp();
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => keys.handle(id, () => latest.current()), [keys, id]);
}
