import { Bell } from "lucide-react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { PushSwitch } from "../../planner/PushSwitch";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import styles from "./Room.module.css";

/** What this browser tells somebody who looks elsewhere. */
export function NotificationSettings() {
  const state = useStore(useApp().notifications.store);
  const isRefused = state === "refused" || state === "impossible";
  return (
    <section className={styles.part} aria-labelledby="notifications">
      <h2 id="notifications">{t("Browser notifications")}</h2>
      <p className={styles.note}>{t("Kept in this browser, for this device.")}</p>
      <WhileOpen />
      {!isRefused && <PushSwitch />}
    </section>
  );
}

function WhileOpen() {
  const { notifications, toasts } = useApp();
  const state = useStore(notifications.store);
  const turn = (on: boolean) => void notifications.turn(on).catch(toasts.fault);
  if (state === "impossible") return <p>{t("This browser has no notifications.")}</p>;
  if (state === "refused") {
    return (
      <p>
        {t(
          "This browser was told to refuse notifications of this page. Allow them in its settings for this site.",
        )}
      </p>
    );
  }
  const says = t("Notify me when an answer is complete or needs me while I look elsewhere");
  if (state === "unasked") {
    return (
      <div className={styles.line}>
        <span>{says}</span>
        <Button icon={Bell} onClick={() => turn(true)}>
          {t("Allow notifications")}
        </Button>
      </div>
    );
  }
  return (
    <label className={styles.line}>
      <span>{says}</span>
      <input
        type="checkbox"
        role="switch"
        className="switch"
        checked={state === "on"}
        aria-checked={state === "on"}
        onChange={({ target }) => turn(target.checked)}
      />
    </label>
  );
}
