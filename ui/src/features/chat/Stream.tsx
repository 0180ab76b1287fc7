import { ArrowDown, Unplug } from "lucide-react";
import { useEffect, useLayoutEffect, useRef } from "react";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import type { Session, SessionView } from "../../run/session";
import { TurnView } from "./TurnView";
import { useFollow } from "./useFollow";

type StreamProps = { session: Session; view: SessionView; onPutBack: (text: string) => void };

/** The turns, oldest first. It follows the answer while the reader is at its end. */
export function Stream({ session, view, onPutBack }: StreamProps) {
  const page = useRef<HTMLDivElement>(null);
  const { turns, older } = view;
  const { away, toEnd } = useFollow(page, turns);
  const firstKey = turns[0]?.key;
  const height = useRef(0);
  const first = useRef(firstKey);
  useLayoutEffect(() => {
    const element = page.current;
    if (!element) return;
    // Older turns were put on top: what is being read stays where it is.
    if (first.current !== firstKey) element.scrollTop += element.scrollHeight - height.current;
    first.current = firstKey;
    height.current = element.scrollHeight;
  });
  const count = turns.length;
  const sent = useRef(count);
  useEffect(() => {
    if (count > sent.current && turns.at(-1)?.key.startsWith("local-")) toEnd();
    sent.current = count;
  }, [count, turns, toEnd]);
  return (
    <div className="stream-frame">
      <section className="stream scroll" ref={page} aria-label="Messages" tabIndex={-1}>
        <div className="column turns">
          {older && (
            <Button
              className="older"
              disabled={view.loadingOlder}
              onClick={() => void session.loadOlder()}
            >
              {view.loadingOlder ? "Reading…" : "Show earlier messages"}
            </Button>
          )}
          {turns.map((turn, i) => (
            <TurnView
              key={turn.key}
              turn={turn}
              session={session}
              undone={view.undone}
              running={view.running && i === turns.length - 1}
              last={i === turns.length - 1}
              onPutBack={onPutBack}
            />
          ))}
          {view.interrupted && turns.at(-1)?.run.end !== "interrupted" && (
            <Notice tone="ask">
              <strong>This answer was interrupted</strong>
              <span>{view.interrupted}</span>
            </Notice>
          )}
          {view.link === "reconnecting" && (
            <p className="reconnecting">
              <Unplug size={16} aria-hidden />
              The connection broke. The answer goes on and will appear here.
            </p>
          )}
        </div>
      </section>
      {away && (
        <Button icon={ArrowDown} className="to-end" onClick={toEnd}>
          To the end
        </Button>
      )}
    </div>
  );
}
