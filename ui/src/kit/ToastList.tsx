import { CircleAlert, X } from "lucide-react";
import { t } from "../i18n";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { IconButton } from "./Button";
import styles from "./ToastList.module.css";

/** Short notes at the foot of the page. They wait while somebody is at them. */
export function ToastList() {
  const { toasts } = useApp();
  const list = useStore(toasts.list);
  return (
    <section
      className={`${styles.toasts} print-hidden`}
      aria-label={t("Notifications")}
      aria-live="polite"
      onPointerEnter={toasts.hold}
      onPointerLeave={toasts.release}
      onFocus={toasts.hold}
      onBlur={toasts.release}
      onKeyDown={(event) => {
        const last = list.at(-1);
        if (event.key === "Escape" && last) toasts.close(last.id);
      }}
    >
      {list.map((toast) => (
        <div key={toast.id} className={styles.toast}>
          {toast.tone === "fault" && <CircleAlert size={18} aria-hidden />}
          <div>
            <p>{toast.text}</p>
            {toast.detail && <p>{toast.detail}</p>}
          </div>
          {toast.action && (
            <button
              type="button"
              onClick={() => {
                toasts.close(toast.id);
                toast.action?.run();
              }}
            >
              {toast.action.label}
            </button>
          )}
          <IconButton icon={X} label={t("Close")} onClick={() => toasts.close(toast.id)} />
        </div>
      ))}
    </section>
  );
}
