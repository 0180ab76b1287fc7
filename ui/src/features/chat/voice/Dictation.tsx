import { Check, LoaderCircle, Mic, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { t } from "../../../i18n";
import { Button, IconButton } from "../../../kit/Button";
import styles from "./Dictation.module.css";
import { type Dictating, useDictation } from "./useDictation";

type DictationProps = { onText: (text: string) => void; onEnd: () => void };

const BARS = 24;
const BAR_MS = 70;

/** How loud it was in the last seconds, the newest at the end. */
function Level({ level }: { level: () => number }) {
  const bars = useRef<HTMLSpanElement>(null);
  const read = useRef(level);
  read.current = level;
  useEffect(() => {
    const past = Array<number>(BARS).fill(0);
    const timer = setInterval(() => {
      past.push(read.current());
      past.shift();
      const shown = bars.current?.children ?? [];
      for (const [i, bar] of [...shown].entries()) {
        (bar as HTMLElement).style.scale = `1 ${Math.max(0.08, past[i] ?? 0)}`;
      }
    }, BAR_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <span ref={bars} className={styles.level} aria-hidden>
      {Array.from({ length: BARS }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars never change their places
        <i key={i} />
      ))}
    </span>
  );
}

function Seconds() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((each) => each + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const rest = String(seconds % 60).padStart(2, "0");
  return <span className={styles.time}>{`${Math.floor(seconds / 60)}:${rest}`}</span>;
}

/** What is heard, in words for who does not see the bar. */
function statusOf(now: Dictating): string {
  switch (now.state) {
    case "opening":
      return t("Opening the microphone…");
    case "recording":
    case "listening":
      return t("Listening");
    case "writing":
      return t("Writing what you said…");
    case "asking":
      return t(
        "Your browser turns speech into text. It may send what you say to its maker for that. Bethink does not keep it.",
      );
    case "failed":
      return now.reason;
  }
}

/** The bar in which somebody dictates: Insert puts the words where the caret is, Escape throws them away. */
export default function Dictation({ onText, onEnd }: DictationProps) {
  const { now, end, agreed, level } = useDictation(onText);
  const bar = useRef<HTMLDivElement>(null);
  const isHearing = now.state === "recording" || now.state === "listening";
  const isWordy = now.state === "failed" || now.state === "asking";
  // The focus is always in the bar, at what goes on.
  useEffect(() => {
    void now.state;
    const [, goOn] = bar.current?.querySelectorAll<HTMLElement>("button") ?? [];
    (goOn ?? bar.current?.querySelector("button"))?.focus();
  }, [now.state]);
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onEnd();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would begin a part of the form
    <div
      ref={bar}
      role="group"
      aria-label={t("Dictation")}
      className={`${styles.bar} ${now.state === "failed" ? styles.fault : ""}`}
      onKeyDown={press}
    >
      <IconButton
        icon={X}
        size={16}
        label={now.state === "failed" ? t("Close") : t("Cancel the dictation")}
        onClick={onEnd}
      />
      {now.state === "recording" && <Level level={level} />}
      {now.state === "listening" && <Mic size={16} className={styles.live} aria-hidden />}
      {(now.state === "opening" || now.state === "writing") && (
        <LoaderCircle size={16} className={styles.busy} aria-hidden />
      )}
      <span className={isWordy || !isHearing ? styles.words : "visually-hidden"} role="status">
        {statusOf(now)}
      </span>
      {now.state === "listening" && (
        <span className={styles.heard}>{now.text || t("Listening")}</span>
      )}
      {isHearing && <Seconds />}
      {now.state === "asking" && (
        <Button look="primary" onClick={agreed}>
          {t("Dictate")}
        </Button>
      )}
      {isHearing && (
        <Button look="primary" icon={Check} onClick={() => void end()}>
          {t("Insert")}
        </Button>
      )}
    </div>
  );
}
