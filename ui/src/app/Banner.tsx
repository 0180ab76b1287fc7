import { Cloud, CloudOff, WifiOff } from "lucide-react";
import { t } from "../i18n";
import { Button } from "../kit/Button";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { shortDate } from "../services/words";
import styles from "./Banner.module.css";

/** Says that the server cannot be reached, since when, and what still holds. */
export function Banner() {
  const { health } = useApp();
  const { reachable, since, isBack } = useStore(health.store);
  if (isBack) {
    return (
      <div className={`${styles.banner} print-hidden`} role="status">
        <Cloud size={16} aria-hidden />
        <span>{t("Connected again.")}</span>
      </div>
    );
  }
  if (reachable) return null;
  const at = since ? shortDate(since) : "";
  const isOffline = !navigator.onLine;
  const Icon = isOffline ? WifiOff : CloudOff;
  return (
    <div className={`${styles.banner} print-hidden`} role="status">
      <Icon size={16} aria-hidden />
      <span>
        {isOffline
          ? t("This device is offline since {at}. Nothing that was saved is lost.", { at })
          : t(
              "Bethink is not responding since {at}. Reconnecting. Nothing that was saved is lost.",
              { at },
            )}
      </span>
      <Button onClick={() => void health.check()}>{t("Try now")}</Button>
    </div>
  );
}
