import { Autocomplete as Base } from "@base-ui/react/autocomplete";
import { ChevronDown } from "lucide-react";
import { t } from "../i18n";
import styles from "./floating.module.css";
import { useLayer } from "./layer";

type ComboboxProps = {
  /** Its name for assistive technology; inside a `Field`, whose label names it, it can be left out. */
  label?: string;
  value: string;
  /** What is offered while somebody types; what is typed may be none of them. */
  options: readonly string[];
  onChange: (value: string) => void;
  /** Enter, or an option that is chosen. */
  onDone?: (value: string) => void;
  /** It has lost the focus. */
  onLeave?: () => void;
  id?: string;
  placeholder?: string;
  disabled?: boolean;
  /** What stands there while nothing is offered. */
  none?: string;
  maxLength?: number | undefined;
  describedBy?: string | undefined;
  invalid?: boolean;
};

/** A field for words of one's own, with a list of known ones that narrows while they are typed. */
export function Combobox(props: ComboboxProps) {
  const {
    label,
    value,
    options,
    onChange,
    onDone,
    id,
    placeholder,
    disabled = false,
    none,
    onLeave,
  } = props;
  const layer = useLayer();
  return (
    <Base.Root
      items={[...options]}
      value={value}
      disabled={disabled}
      openOnInputClick
      onValueChange={(next, { reason }) => {
        onChange(next);
        if (reason === "item-press") onDone?.(next);
      }}
    >
      <span className={styles.combo}>
        <Base.Input
          {...(id ? { id } : {})}
          aria-label={label}
          className="input"
          placeholder={placeholder}
          maxLength={props.maxLength}
          autoComplete="off"
          aria-describedby={props.describedBy}
          {...(props.invalid && { "aria-invalid": true })}
          onBlur={onLeave}
          onKeyDown={(event) => {
            const isList = event.currentTarget.getAttribute("aria-activedescendant");
            if (event.key === "Enter" && !isList) onDone?.(event.currentTarget.value);
          }}
        />
        {options.length > 0 && (
          <Base.Trigger aria-label={t("Show all")} tabIndex={-1}>
            <ChevronDown size={14} aria-hidden />
          </Base.Trigger>
        )}
      </span>
      <Base.Portal {...(layer ? { container: layer } : {})}>
        <Base.Positioner
          align="start"
          sideOffset={4}
          collisionPadding={8}
          className={styles.floating}
        >
          <Base.Popup className={`${styles.popup} ${styles.choices}`}>
            <Base.Empty>{none && <div className={styles.none}>{none}</div>}</Base.Empty>
            <Base.List>
              {(option: string) => (
                <Base.Item key={option} value={option} className={styles.item}>
                  <span className={styles.words}>{option}</span>
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
