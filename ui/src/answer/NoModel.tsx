import { useId } from "react";
import { Link } from "../kit/pieces";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { LazyMarkdown } from "./LazyMarkdown";

/** No model is set: how to set one, and what works all the same. */
export function NoModel({ message }: { message?: string }) {
  const { health } = useApp();
  const heading = useId();
  const { settings } = useStore(health.store);
  const help = settings?.model_help || message;
  return (
    <section className="no-model" aria-labelledby={heading}>
      <h2 id={heading}>No language model is set up</h2>
      {help && <LazyMarkdown text={help} />}
      <p>
        What you keep is in <Link to="/memory">Memory</Link>; <Link to="/settings">Settings</Link>{" "}
        says what works.
      </p>
    </section>
  );
}
