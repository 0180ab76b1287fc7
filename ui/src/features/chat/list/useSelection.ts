// Which conversations are chosen, to do something with all of them at once.
import { useCallback, useMemo, useRef, useState } from "react";
import type { Conversation } from "../../../api/types";
import type { Row } from "./rows";

export type Selection = {
  chosen: readonly Conversation[];
  has: (id: string) => boolean;
  toggle: (id: string) => void;
  /** All from the one that was chosen last to this one. */
  extend: (id: string) => void;
  clear: () => void;
};

export function useSelection(rows: readonly Row[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const order = useMemo(
    () => rows.flatMap((row) => (row.kind === "conversation" ? [row.item] : [])),
    [rows],
  );
  const toggle = useCallback((id: string) => {
    last.current = id;
    setIds((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const extend = useCallback(
    (id: string) => {
      const at = order.findIndex((item) => item.id === id);
      const from = order.findIndex((item) => item.id === last.current);
      const [first, end] = from < 0 ? [at, at] : [Math.min(at, from), Math.max(at, from)];
      setIds(
        (before) => new Set([...before, ...order.slice(first, end + 1).map((item) => item.id)]),
      );
    },
    [order],
  );
  const clear = useCallback(() => {
    last.current = null;
    setIds(new Set());
  }, []);
  // What is not listed any more is not chosen either.
  const chosen = useMemo(() => order.filter((item) => ids.has(item.id)), [order, ids]);
  const has = useCallback((id: string) => ids.has(id), [ids]);
  return { chosen, has, toggle, extend, clear };
}
