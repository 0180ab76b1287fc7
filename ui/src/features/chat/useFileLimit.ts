import { useEffect } from "react";
import { Problem } from "../../api/client";
import { t } from "../../i18n";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { bytes } from "../../services/words";

/** Has a file that the server would refuse be refused at once, before any of it is sent. */
export function useFileLimit(session: Session): void {
  const { health } = useApp();
  const { settings } = useStore(health.store);
  const most = settings?.bounds.max_file_bytes ?? Number.POSITIVE_INFINITY;
  useEffect(() => {
    session.uploads.refusal = ({ size }) => {
      if (size > most) {
        const detail = t("Too large: {size}, at most {most}", {
          size: bytes(size),
          most: bytes(most),
        });
        return new Problem("not_sent", t("This file is too large"), detail, 413);
      }
      // A folder that was dropped has no bytes either.
      return size
        ? null
        : new Problem("not_sent", t("This file is empty"), t("Empty, or a folder"), 422);
    };
  }, [session, most]);
}
