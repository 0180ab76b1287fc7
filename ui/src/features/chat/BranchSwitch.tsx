import { ChevronLeft, ChevronRight } from "lucide-react";
import { useEffect, useRef } from "react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { Siblings } from "../../run/restore";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";
import styles from "./BranchSwitch.module.css";

type BranchSwitchProps = {
  /** What there are several of: "message" or "answer". */
  of: string;
  siblings: Siblings;
  session: Session;
  busy: boolean;
};

/** ‹ 2/3 ›: goes over to what else was said in this place. */
export function BranchSwitch({ of, siblings, session, busy }: BranchSwitchProps) {
  const { toasts } = useApp();
  const group = useRef<HTMLFieldSetElement>(null);
  const { index, branches, position } = siblings;
  const count = branches.length;
  useEffect(() => {
    // The switch that was pressed is gone with its branch: this one stands in its place.
    if (session.switched !== position) return;
    session.switched = null;
    group.current
      ?.querySelector<HTMLElement>("button:not(:disabled)")
      ?.focus({ preventScroll: true });
  });
  const go = (to: number) => void session.choose(siblings, to).catch(toasts.fault);
  return (
    <fieldset
      ref={group}
      className={styles.branches}
      aria-label={of === "answer" ? t("Versions of this answer") : t("Versions of this message")}
    >
      <IconButton
        icon={ChevronLeft}
        size={15}
        label={
          of === "answer"
            ? t("Earlier version of this answer")
            : t("Earlier version of this message")
        }
        disabled={busy || index === 0}
        onClick={() => go(index - 1)}
      />
      <span aria-hidden>
        {index + 1}/{count}
      </span>
      <span className="visually-hidden">
        {t("Version {number} of {count}", { number: index + 1, count })}
      </span>
      <IconButton
        icon={ChevronRight}
        size={15}
        label={
          of === "answer" ? t("Later version of this answer") : t("Later version of this message")
        }
        disabled={busy || index === count - 1}
        onClick={() => go(index + 1)}
      />
    </fieldset>
  );
}
