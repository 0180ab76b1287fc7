import { ArrowUpRight, Ghost } from "lucide-react";
import { NoModel } from "../../answer/NoModel";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

const withModel = [
  "Remember that I prefer trains to planes",
  "What do you know about me?",
  "Plan a quiet weekend by the sea with me",
];
const without = ["/remember I live in Paris", "/recall where I live", "/help"];

function greeting(hour: number): string {
  if (hour < 5) return "Still up?";
  if (hour < 12) return "Good morning.";
  return hour < 18 ? "Good afternoon." : "Good evening.";
}

/** A page on which nothing has been said yet. */
export function Welcome(props: { temporary: boolean; onChoose: (text: string) => void }) {
  const { temporary, onChoose } = props;
  const { health } = useApp();
  const { settings } = useStore(health.store);
  const noModel = settings !== null && !settings.model;
  const known = settings !== null;
  return (
    <div className="welcome scroll">
      <div className="column">
        {temporary ? (
          <>
            <p className="hello">
              <Ghost size={24} strokeWidth={1.5} aria-hidden /> Temporary chat
            </p>
            <p className="ask">This chat is not listed, searched or remembered.</p>
          </>
        ) : (
          <>
            <p className="hello">{greeting(new Date().getHours())}</p>
            <p className="ask">How can I help?</p>
          </>
        )}
        {known && !temporary && (
          <ul className="samples" aria-label="Suggestions">
            {(noModel ? without : withModel).map((text) => (
              <li key={text}>
                <button type="button" onClick={() => onChoose(text)}>
                  {text}
                  <ArrowUpRight size={16} aria-hidden />
                </button>
              </li>
            ))}
          </ul>
        )}
        {noModel && <NoModel />}
      </div>
    </div>
  );
}
