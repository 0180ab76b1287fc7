// What was known at the end of an earlier month: the list and the profile show it.
import { History, X } from "lucide-react";
import { useState } from "react";
import type { MemoryNumbers } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import styles from "./memory.module.css";

/** The last days of all months from the first that is known until the one before this. */
export function monthEnds(first: string | undefined, now: Date): string[] {
  const [year = 0, month = 0] = (first ?? "").split("-").map(Number);
  const ends: string[] = [];
  if (!year || !month) return ends;
  for (
    let at = new Date(Date.UTC(year, month, 0));
    at < new Date(Date.UTC(now.getFullYear(), now.getMonth(), 1));
    at = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 2, 0))
  ) {
    ends.push(at.toISOString().slice(0, 10));
  }
  return ends;
}

/** The end of a month in words. */
export const monthName = (day: string): string =>
  new Date(`${day}T12:00`).toLocaleDateString(locale(), { month: "long", year: "numeric" });

type SliderProps = {
  asOf: string;
  numbers: MemoryNumbers | null;
  onChange: (asOf: string) => void;
};

export function TimeSlider({ asOf, numbers, onChange }: SliderProps) {
  const [open, setOpen] = useState(false);
  const ends = monthEnds(numbers?.first_at?.slice(0, 7), new Date());
  if (!ends.length) return null;
  if (!open && !asOf) {
    return (
      <div className={styles.time}>
        <Button look="quiet" icon={History} onClick={() => setOpen(true)}>
          {t("An earlier time")}
        </Button>
      </div>
    );
  }
  const at = asOf ? ends.indexOf(asOf) : ends.length;
  const words = asOf
    ? t("What was known at the end of {month}", { month: monthName(asOf) })
    : t("Now");
  return (
    <div className={styles.time}>
      <label>
        <span>{words}</span>
        <input
          type="range"
          aria-label={t("Time")}
          aria-valuetext={words}
          min={0}
          max={ends.length}
          value={at < 0 ? ends.length : at}
          onChange={({ target }) => onChange(ends[Number(target.value)] ?? "")}
        />
      </label>
      <IconButton
        icon={X}
        label={t("Back to now")}
        onClick={() => {
          setOpen(false);
          onChange("");
        }}
      />
    </div>
  );
}
