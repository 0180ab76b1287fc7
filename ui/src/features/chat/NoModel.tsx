import { lazy, Suspense, useId } from "react";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

const Markdown = lazy(() => import("./Markdown"));

/** No model is set: how to set one, and what works all the same. */
export function NoModel({ message }: { message?: string }) {
  const { health } = useApp();
  const heading = useId();
  const { settings } = useStore(health.store);
  const help = settings?.model_help || message;
  return (
    <section className="no-model" aria-labelledby={heading}>
      <h2 id={heading}>No language model is set yet</h2>
      {help && (
        <Suspense fallback={<p>{help}</p>}>
          <Markdown text={help} />
        </Suspense>
      )}
      <p>
        Until then Bethink is your notebook: what you keep is all in{" "}
        <Link to="/memory">Memory</Link>, and <Link to="/settings">Settings</Link> says what works.
      </p>
    </section>
  );
}
