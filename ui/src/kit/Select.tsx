import { CSPProvider } from "@base-ui/react/csp-provider";
import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronDown, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Field } from "./Field";
import styles from "./floating.module.css";
import { useLayer } from "./layer";

export type Option<T extends string> = {
  value: T;
  label: string;
  icon?: LucideIcon;
  /** A quiet second line. */
  hint?: string;
  disabled?: boolean;
};
export type OptionGroup<T extends string> = { label: string; options: readonly Option<T>[] };

type SelectProps<T extends string> = {
  /** Its name for assistive technology; inside a `Field`, whose label names it, it can be left out. */
  label?: string;
  value: T;
  options: readonly Option<T>[] | readonly OptionGroup<T>[];
  onChange: (value: T) => void;
  /** `quiet` has no border; `wide` is as wide as its place. */
  look?: "plain" | "quiet" | "wide";
  id?: string;
  disabled?: boolean;
  /** It has the focus when its dialog opens. */
  isFirst?: boolean;
  /** What the button shows, if it is not the label of what is chosen. */
  face?: ReactNode;
};

/** One of a few choices, each with an icon and a second line if it needs them. Use a Combobox for many. */
export function Select<T extends string>(props: SelectProps<T>) {
  const {
    label,
    value,
    options,
    onChange,
    look = "plain",
    id,
    disabled = false,
    isFirst,
    face,
  } = props;
  const layer = useLayer();
  const groups: readonly OptionGroup<T>[] = options.every((each) => "options" in each)
    ? (options as readonly OptionGroup<T>[])
    : [{ label: "", options: options as readonly Option<T>[] }];
  const chosen = groups.flatMap((group) => group.options).find((each) => each.value === value);
  const Icon = chosen?.icon;
  return (
    // The page's policy refuses the style element by which it would hide a scrollbar.
    <CSPProvider disableStyleElements>
      <Base.Root
        value={value}
        disabled={disabled}
        modal={false}
        onValueChange={(next) => next !== null && onChange(next as T)}
      >
        <Base.Trigger
          {...(id ? { id } : {})}
          data-first={isFirst || undefined}
          aria-label={label}
          className={`${styles.trigger} ${look === "plain" ? "" : styles[look]}`}
        >
          {Icon && <Icon size={16} aria-hidden />}
          <span className={`${styles.words} clip`}>{face ?? chosen?.label ?? value}</span>
          <ChevronDown size={14} aria-hidden />
        </Base.Trigger>
        <Base.Portal {...(layer ? { container: layer } : {})}>
          <Base.Positioner
            alignItemWithTrigger={false}
            align="start"
            sideOffset={4}
            collisionPadding={8}
            className={styles.floating}
          >
            <Base.Popup className={`${styles.popup} ${styles.choices}`} aria-label={label}>
              {groups.map((group) => (
                <Base.Group key={group.label}>
                  {group.label && (
                    <Base.GroupLabel className={styles.head}>{group.label}</Base.GroupLabel>
                  )}
                  {group.options.map((option) => (
                    <Row key={option.value} option={option} />
                  ))}
                </Base.Group>
              ))}
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
    </CSPProvider>
  );
}

type FieldProps<T extends string> = Omit<SelectProps<T>, "label" | "look" | "id"> & {
  label: ReactNode;
  hint?: ReactNode;
};

/** The same with its label above it, as wide as its place. */
export function SelectField<T extends string>({ label, hint, ...rest }: FieldProps<T>) {
  return (
    <Field label={label} hint={hint}>
      {({ id }) => <Select id={id} look="wide" {...rest} />}
    </Field>
  );
}

function Row<T extends string>({ option }: { option: Option<T> }) {
  const { value, label, icon: Icon, hint, disabled = false } = option;
  return (
    <Base.Item value={value} label={label} disabled={disabled} className={styles.item}>
      {Icon && <Icon size={16} aria-hidden />}
      <span className={styles.words}>
        <Base.ItemText>{label}</Base.ItemText>
        {hint && <small>{hint}</small>}
      </span>
      <Base.ItemIndicator>
        <Check size={14} aria-hidden />
      </Base.ItemIndicator>
    </Base.Item>
  );
}
