import { CircleAlert } from "lucide-react";
import { useApp } from "../services/context";
import { useStore } from "../services/store";

export function ToastList() {
  const { toasts } = useApp();
  const list = useStore(toasts.list);
  return (
    <section className="toasts" aria-label="Notifications" aria-live="polite">
      {list.map((toast) => (
        <div key={toast.id} className="toast">
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
          <button type="button" onClick={() => toasts.close(toast.id)}>
            Close
          </button>
        </div>
      ))}
    </section>
  );
}
