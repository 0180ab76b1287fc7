import { ArrowDown, ArrowUp, Unplug } from "lucide-react";
import { useEffect, useLayoutEffect, useRef } from "react";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { holds, LOCAL } from "../../run/past";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import chat from "./chat.module.css";
import styles from "./Stream.module.css";
import { TurnView } from "./TurnView";
import { useFollow } from "./useFollow";

type StreamProps = { session: Session; view: SessionView };

/** How far before its edge, in pixels, the next page is read. */
const AHEAD_PX = 1200;
/** So many messages before what is held, whoever scrolls back is offered the way to the first one. */
const FAR = 50;

type MoreTurnsProps = { label: string; busy: boolean; held: boolean; onMore: () => void };

/**
 * An edge of what is held: more is read before the reader gets there, or when it is pressed; not while
 * it is `held` by what is read at the other edge.
 */
function MoreTurns({ label, busy, held, onMore }: MoreTurnsProps) {
  const button = useRef<HTMLButtonElement>(null);
  const more = useRef(onMore);
  more.current = onMore;
  useEffect(() => {
    if (held) return;
    const element = button.current;
    const root = element?.closest("[data-stream]") ?? null;
    const margin = `${AHEAD_PX}px 0px`;
    const observer = new IntersectionObserver(
      (entries) => entries.at(-1)?.isIntersecting && more.current(),
      {
        root,
        rootMargin: margin,
      },
    );
    if (element) observer.observe(element);
    return () => observer.disconnect();
  }, [held]);
  return (
    <button
      ref={button}
      type="button"
      className={`button quiet ${styles.older} print-hidden`}
      aria-disabled={busy || held}
      onClick={onMore}
    >
      {busy ? t("Loading…") : label}
    </button>
  );
}

/**
 * Brings the message that somebody came for into view, and gives it the focus: before anything else is
 * painted, or more would be read at the end, and the message let go of again.
 */
function useTarget(view: SessionView, leave: () => void) {
  const { target, turns } = view;
  const shown = useRef<SessionView["target"]>(null);
  useLayoutEffect(() => {
    if (!target || shown.current === target) return;
    const turn = turns.find((each) => holds(each, target.position));
    if (!turn) return;
    shown.current = target;
    leave();
    const row = document.querySelector(`[data-turn="${CSS.escape(turn.key)}"]`);
    const said = turn.stored?.[target.position - (turn.stored[0]?.position ?? 0)];
    const what = said?.role === "user" ? "question" : "answer";
    const place = row?.querySelector<HTMLElement>(`[data-said=${what}]`);
    place?.scrollIntoView({ block: place.clientHeight > innerHeight / 2 ? "start" : "center" });
    place?.focus({ preventScroll: true });
  }, [target, turns, leave]);
}

/** The turns, oldest first. It follows the answer while the reader is at its end. */
export function Stream({ session, view }: StreamProps) {
  const page = useRef<HTMLDivElement>(null);
  const { reachable } = useStore(useApp().health.store);
  const { turns, older, newer, paging, conversation, target } = view;
  const { away, toEnd, leave } = useFollow(page, session, turns);
  useTarget(view, leave);
  const last = turns.at(-1);
  const sent = useRef(last?.key);
  useEffect(() => {
    const isNew = last?.key !== sent.current && last?.key.startsWith(LOCAL);
    sent.current = last?.key;
    if (isNew) toEnd();
  }, [last, toEnd]);
  const total = conversation?.message_count ?? 0;
  const goToEnd = () => {
    if (newer) void session.load().then(toEnd);
    else toEnd();
  };
  const isFar = away && !view.running && older !== null && older > FAR;
  const goToStart = () => void session.show(0);
  return (
    <div className={`${styles.frame} print-flow`}>
      {/* Above what is scrolled: among the turns it would move away while earlier ones are read. */}
      {isFar && (
        <Button icon={ArrowUp} className={`${styles.toStart} print-hidden`} onClick={goToStart}>
          {t("Go to the start")}
        </Button>
      )}
      <section
        ref={page}
        className={`${styles.stream} scroll print-flow`}
        aria-label={t("Messages")}
        tabIndex={-1}
        data-stream
      >
        <div className={`${chat.column} ${styles.turns}`}>
          {older !== null && (
            <MoreTurns
              key={`before ${older}`}
              label={t("Show earlier messages ({count})", {
                count: older.toLocaleString(locale()),
              })}
              busy={paging === "older"}
              held={paging === "newer"}
              onMore={() => void session.loadOlder()}
            />
          )}
          {turns.map((turn, i) => (
            <TurnView
              key={turn.key}
              turn={turn}
              session={session}
              undone={view.undone}
              running={view.running && i === turns.length - 1}
              busy={view.running}
              last={i === turns.length - 1}
              editing={view.editing === turn.key}
              found={target !== null && holds(turn, target.position) ? target.position : null}
            />
          ))}
          {newer && (
            <MoreTurns
              key={`after ${last?.key}`}
              label={t("Show later messages ({count} in all)", {
                count: total.toLocaleString(locale()),
              })}
              busy={paging === "newer"}
              held={paging === "older"}
              onMore={() => void session.loadNewer()}
            />
          )}
          {view.interrupted && last?.run.end !== "interrupted" && (
            <Notice tone="ask">
              <strong>{t("This answer was interrupted")}</strong>
              <span>{view.interrupted}</span>
            </Notice>
          )}
          {view.link === "reconnecting" && (
            <p className={styles.reconnecting}>
              <Unplug size={16} aria-hidden />
              {reachable
                ? t("Connection lost. The answer continues on the server and will appear here.")
                : t(
                    "Bethink is not responding. The answer so far is kept; this page reconnects when the server responds again.",
                  )}
            </p>
          )}
        </div>
      </section>
      {(away || newer) && (
        <Button icon={ArrowDown} className={`${styles.toEnd} print-hidden`} onClick={goToEnd}>
          {t("Go to the end")}
        </Button>
      )}
    </div>
  );
}
