// Small pieces without a life of their own.
import { CircleAlert, CircleHelp, Info, type LucideIcon } from "lucide-react";
import { type AnchorHTMLAttributes, type ReactNode, useEffect, useId, useState } from "react";
import type { Problem } from "../api/client";
import { t } from "../i18n";
import { isMac, type KeyId, printed } from "../keys/bindings";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { Button } from "./Button";
import empty from "./empty.module.css";
import segmented from "./segmented.module.css";

type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { to: string };

/** A link within the interface: a real address, without loading the page anew. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const { router } = useApp();
  return (
    <a
      {...rest}
      href={to}
      onClick={(event) => {
        onClick?.(event);
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        router.go(to);
      }}
    />
  );
}

/** The keys of a combination as keycaps. */
export function Keys({ combo }: { combo: string }) {
  return (
    <span className="kbds">
      {printed(combo, isMac()).map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  );
}

/** The keycaps of what somebody has bound to this; nothing if it has none, or shortcuts are off. */
export function KeysOf({ id }: { id: KeyId }) {
  const { keys } = useApp();
  const { on } = useStore(keys.store);
  const combo = keys.comboOf(id);
  return on && combo ? <Keys combo={combo} /> : null;
}

const tones: Record<"plain" | "ask" | "fault", LucideIcon> = {
  plain: Info,
  ask: CircleHelp,
  fault: CircleAlert,
};

export function Notice({
  tone = "plain",
  children,
}: {
  tone?: keyof typeof tones;
  children: ReactNode;
}) {
  const Icon = tones[tone];
  return (
    <div className={`notice ${tone}`} role={tone === "fault" ? "alert" : undefined}>
      <Icon size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}

/** What happened, what to do, and a way to do it again. */
export function ProblemNotice({
  problem,
  onRetry,
}: {
  problem: Problem;
  onRetry?: (() => void) | undefined;
}) {
  return (
    <Notice tone="fault">
      <strong>{problem.title}</strong>
      {problem.detail && <span>{problem.detail}</span>}
      {onRetry && (
        <span>
          <Button onClick={onRetry}>{t("Try again")}</Button>
        </span>
      )}
    </Notice>
  );
}

/** True once `ms` have passed since this part was first shown. */
export function useAfter(ms: number): boolean {
  const [passed, setPassed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setPassed(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return passed;
}

const SKELETON_AFTER_MS = 300;
const widths = ["72%", "90%", "58%", "81%", "66%", "88%", "50%", "76%"];

/** Stands for text that is on its way, but only when it takes long enough to be noticed. */
export function Skeleton({ lines, label }: { lines: number; label: string }) {
  const shown = useAfter(SKELETON_AFTER_MS);
  return (
    <div className="skeleton" role="status" aria-label={label}>
      {shown && widths.slice(0, lines).map((width) => <i key={width} style={{ width }} />)}
    </div>
  );
}

export function Empty(props: { icon: LucideIcon; title: string; children?: ReactNode }) {
  const { icon: Icon, title, children } = props;
  return (
    <div className={empty.empty}>
      <Icon size={28} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Segmented<T extends string>(props: {
  label: string;
  value: T;
  options: readonly { value: T; label: string; icon?: LucideIcon }[];
  onChange: (value: T) => void;
}) {
  // Radio buttons of one name exclude one another over the whole page; labels may be there twice.
  const group = useId();
  return (
    <fieldset className={segmented.segmented} aria-label={props.label}>
      {props.options.map(({ value, label, icon: Icon }) => (
        <label key={value}>
          <input
            type="radio"
            name={group}
            checked={props.value === value}
            onChange={() => props.onChange(value)}
          />
          {Icon && <Icon size={16} aria-hidden />}
          {label}
        </label>
      ))}
    </fieldset>
  );
}

/** Follows a media query. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const follow = () => setMatches(list.matches);
    follow();
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, [query]);
  return matches;
}

export const PHONE = "(max-width: 760px)";
export const NARROW = "(max-width: 1180px)";
