import { useCallback, useState } from "react";

/** What is chosen of a list, by id. */
export function useSelection() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(
    (id: string) =>
      setIds((now) => new Set(now.has(id) ? [...now].filter((each) => each !== id) : [...now, id])),
    [],
  );
  const clear = useCallback(() => setIds(new Set()), []);
  return { ids, toggle, clear, set: setIds };
}

export type Selected = ReturnType<typeof useSelection>;
