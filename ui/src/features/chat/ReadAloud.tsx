import { Square, Volume2 } from "lucide-react";
import { useEffect } from "react";
import { locale, t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { readAloud, reading, stopReading } from "./voice/reader";

/** Reads an answer aloud, or ends that; `of` tells it apart from others. */
export function ReadAloud({ of, text }: { of: string; text: string }) {
  const { toasts } = useApp();
  const isReading = useStore(reading) === of;
  // Who goes elsewhere does not want to hear the rest.
  useEffect(
    () => () => {
      if (reading.get() === of) stopReading();
    },
    [of],
  );
  return (
    <IconButton
      icon={isReading ? Square : Volume2}
      size={isReading ? 13 : 15}
      label={isReading ? t("Stop reading") : t("Read aloud")}
      aria-pressed={isReading}
      onClick={() => {
        if (isReading) stopReading();
        else readAloud(of, text, locale() ?? navigator.language).catch(toasts.fault);
      }}
    />
  );
}
