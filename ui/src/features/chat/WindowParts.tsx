import { Button } from "../../kit/Button";
import type { Window } from "../../run/reduce";
import { tokens } from "../../services/words";

const parts: readonly [name: Exclude<keyof Window, "window">, words: string][] = [
  ["system", "Instructions"],
  ["tools", "Tools"],
  ["memory", "Memory"],
  ["summary", "Summary of earlier messages"],
  ["history", "Messages"],
];
/** How many tokens of the window are taken. */
export const usedOf = (filled: Window): number =>
  parts.reduce((sum, [name]) => sum + filled[name], 0);

type PartsProps = { filled: Window; used: number; onSummary: () => void };

/** What fills the model’s window. */
export function WindowParts({ filled, used, onSummary }: PartsProps) {
  return (
    <section>
      <h2>What the context window contains</h2>
      <div className="window-bar" aria-hidden>
        {parts.map(([name]) => (
          <i
            key={name}
            className={`of-${name}`}
            style={{ width: `${(100 * filled[name]) / filled.window}%` }}
          />
        ))}
      </div>
      <dl className="figures">
        {parts
          .filter(([name]) => filled[name] > 0)
          .map(([name, words]) => (
            <div key={name}>
              <dt>
                <i className={`swatch of-${name}`} aria-hidden />
                {words}
              </dt>
              <dd>{tokens(filled[name])}</dd>
            </div>
          ))}
        <div>
          <dt>Free</dt>
          <dd>
            {tokens(Math.max(0, filled.window - used))} of {tokens(filled.window)}
          </dd>
        </div>
      </dl>
      {filled.summary > 0 && (
        <>
          <p>Earlier messages are summarised for the model. They all stay in this conversation.</p>
          <Button onClick={onSummary}>Read the summary</Button>
        </>
      )}
    </section>
  );
}
