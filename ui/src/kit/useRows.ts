import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback } from "react";

type Rows<T> = {
  rows: readonly T[];
  box: RefObject<HTMLDivElement | null>;
  /** The same functions for all renders while nothing changed: with others all rows are placed anew. */
  keyOf: (row: T) => string;
  sizeOf: (row: T) => number;
  overscan: number;
};

/** Rows of which only those in view exist. Where each stands is worked out when they change, not in each frame. */
export function useRows<T>({ rows, box, keyOf, sizeOf, overscan }: Rows<T>) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows of another size are placed anew
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
    [rows, keyOf, sizeOf],
  );
  return useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => {
      const row = rows[index];
      return row === undefined ? 0 : sizeOf(row);
    },
    getItemKey,
    overscan,
  });
}
