import { useEffect, useState } from "react";
import { calendarApi } from "../../api/calendar";
import { type Shown, shownOf } from "../../planner/shown";
import { useApp } from "../../services/context";
import { EventDialog } from "./EventDialog";
import type { EventChanges } from "./useEventChanges";

type OpenProps = {
  id: string;
  all: readonly Shown[];
  changes: EventChanges;
  onClose: () => void;
};

/** The event of an address: one of those that are shown, or read for it. */
export function OpenEvent({ id, all, changes, onClose }: OpenProps) {
  const { toasts } = useApp();
  const known = all.find(({ event }) => event.id === id);
  const [one, setOne] = useState(known ?? null);
  useEffect(() => {
    if (one) return;
    const abort = new AbortController();
    calendarApi.event(id, abort.signal).then(
      (event) => setOne(shownOf(event)),
      (error) => {
        if (abort.signal.aborted) return;
        toasts.fault(error);
        onClose();
      },
    );
    return () => abort.abort();
  }, [id, one, toasts, onClose]);
  return one && <EventDialog given={one} changes={changes} onClose={onClose} />;
}
