import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

/** No model is set: how to set one, and what works all the same. */
export function NoModel({ message }: { message?: string }) {
  const { health } = useApp();
  const { settings } = useStore(health.store);
  const help = settings?.model_help || message;
  return (
    <section className="no-model" aria-labelledby="no-model">
      <h2 id="no-model">No language model is set yet</h2>
      {help && <p className="help">{help}</p>}
      <p className="example">
        <code>BETHINK_MODEL=ollama:qwen3 bethink serve</code>
        <code>BETHINK_MODEL=openai:gpt-5-mini OPENAI_API_KEY=… bethink serve</code>
      </p>
      <p>
        Until then Bethink is your notebook: <code>/remember</code>, <code>/recall</code> and{" "}
        <code>/forget</code> work right here, and <Link to="/memory">Memory</Link> is all yours.
      </p>
    </section>
  );
}
