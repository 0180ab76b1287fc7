import { type ReactNode, useId } from "react";
import styles from "./form.module.css";
import { Segmented } from "./pieces";

/** What a control takes to belong to its label, hint and problem. */
export type ControlProps = {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
};

type FieldProps = {
  label: ReactNode;
  /** A sentence that explains; stays while it is filled in. */
  hint?: ReactNode;
  /** What is wrong with it, and what to do. */
  problem?: string | null | undefined;
  /** At the end of the label's line, such as where a value comes from. */
  aside?: ReactNode;
  children: (control: ControlProps) => ReactNode;
};

/** A control with its label, a sentence about it, and what is wrong with it. */
export function Field({ label, hint, problem, aside, children }: FieldProps) {
  const id = useId();
  const about = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div className={styles.field}>
      <div className={styles.head}>
        <label htmlFor={id}>{label}</label>
        {aside}
      </div>
      {children({
        id,
        ...(about ? { "aria-describedby": about } : {}),
        ...(problem ? { "aria-invalid": true } : {}),
      })}
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {problem && (
        <p id={`${id}-problem`} className={styles.problem} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/** One of a few, under a label that can be read. */
export function SegmentedField<T extends string>(props: Parameters<typeof Segmented<T>>[0]) {
  return (
    <div className={styles.field}>
      <span className={styles.head} aria-hidden>
        {props.label}
      </span>
      <Segmented {...props} />
    </div>
  );
}

type SwitchProps = {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: ReactNode;
  disabled?: boolean;
};

/** Something that is on or off, and takes effect at once. */
export function Switch({ label, checked, onChange, hint, disabled = false }: SwitchProps) {
  const id = useId();
  return (
    <div className={styles.switch}>
      <label>
        <span>{label}</span>
        <input
          type="checkbox"
          role="switch"
          className="switch"
          checked={checked}
          aria-checked={checked}
          aria-describedby={hint ? id : undefined}
          disabled={disabled}
          onChange={(event) => onChange(event.target.checked)}
        />
      </label>
      {hint && (
        <p id={id} className={styles.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}

type SliderProps = {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number;
  onChange: (value: number) => void;
  /** The value in words, such as a date; also what a screen reader says. */
  words?: string;
  /** Shows the label to assistive technology alone. */
  bare?: boolean;
  disabled?: boolean;
};

/** A number within bounds, chosen by dragging or the arrow keys. */
export function Slider(props: SliderProps) {
  const { label, value, min, max, step = 1, onChange, words, bare = false, disabled } = props;
  const id = useId();
  const filled = max > min ? ((value - min) / (max - min)) * 100 : 0;
  return (
    <div className={styles.slider}>
      <div className={bare ? "visually-hidden" : styles.head}>
        <label htmlFor={id}>{label}</label>
        <output htmlFor={id}>{words ?? value}</output>
      </div>
      <input
        id={id}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        disabled={disabled}
        aria-valuetext={words}
        style={{ "--filled": `${filled}%` } as object}
        onChange={(event) => onChange(event.target.valueAsNumber)}
      />
    </div>
  );
}

type ProgressProps = {
  label: string;
  /** From 0 to 1; null if nobody knows how long it takes. */
  value: number | null;
  /** How far it is in words: `3 of 12 MB`. */
  words?: string;
  bare?: boolean;
};

/** How far something is that takes a while. */
export function Progress({ label, value, words, bare = false }: ProgressProps) {
  return (
    <div className={styles.progress}>
      {!bare && (
        <div className={styles.head}>
          <span>{label}</span>
          {words && <span className={styles.amount}>{words}</span>}
        </div>
      )}
      <progress
        aria-label={label}
        aria-valuetext={words}
        max={1}
        {...(value === null ? {} : { value: Math.min(1, Math.max(0, value)) })}
      />
    </div>
  );
}
