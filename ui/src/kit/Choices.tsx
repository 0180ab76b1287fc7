import { Combobox as Base } from "@base-ui/react/combobox";
import { Check, X } from "lucide-react";
import { useRef } from "react";
import { t } from "../i18n";
import styles from "./choices.module.css";
import floating from "./floating.module.css";
import { useLayer } from "./layer";

export type Choice = { id: string; name: string; hint?: string };

type ChoicesProps = {
  /** Its name for assistive technology, also while its list hides all else from that. */
  label: string;
  value: readonly Choice[];
  /** What may be chosen. */
  options: readonly Choice[];
  onChange: (value: readonly Choice[]) => void;
  id?: string;
  describedBy?: string | undefined;
  placeholder?: string;
  disabled?: boolean;
  /** What stands there if nothing fits what is typed. */
  none: string;
};

/** Several of many known ones: a field with a chip for each that is chosen, and a list that narrows while one types. */
export function Choices(props: ChoicesProps) {
  const { label, value, options, onChange, id, describedBy, placeholder, none } = props;
  const { disabled = false } = props;
  const layer = useLayer();
  const field = useRef<HTMLDivElement>(null);
  return (
    <Base.Root<Choice, true>
      multiple
      autoHighlight
      disabled={disabled}
      items={[...options]}
      value={value}
      itemToStringLabel={({ name }) => name}
      isItemEqualToValue={(one, other) => one.id === other.id}
      // Escape leaves; it takes nothing away.
      onValueChange={(next, { reason }) => reason !== "escape-key" && onChange(next)}
    >
      <Base.InputGroup ref={field} className={`input ${styles.field}`}>
        <Base.Chips className={styles.chips}>
          {value.map(({ id: key, name }) => (
            <Base.Chip key={key} className={styles.chip} aria-label={name}>
              <span className="clip">{name}</span>
              <Base.ChipRemove aria-label={t("Remove: {name}", { name })}>
                <X size={14} aria-hidden />
              </Base.ChipRemove>
            </Base.Chip>
          ))}
          <Base.Input
            {...(id ? { id } : {})}
            aria-label={label}
            aria-describedby={describedBy}
            placeholder={value.length ? undefined : placeholder}
          />
        </Base.Chips>
      </Base.InputGroup>
      <Base.Portal {...(layer ? { container: layer } : {})}>
        <Base.Positioner
          anchor={field}
          align="start"
          sideOffset={4}
          collisionPadding={8}
          className={floating.floating}
        >
          <Base.Popup className={`${floating.popup} ${floating.choices}`}>
            <Base.Empty>
              <div className={floating.none}>{none}</div>
            </Base.Empty>
            <Base.List>
              {(option: Choice) => (
                <Base.Item key={option.id} value={option} className={floating.item}>
                  <span className={floating.words}>
                    {option.name}
                    {option.hint && <small>{option.hint}</small>}
                  </span>
                  <Base.ItemIndicator>
                    <Check size={14} aria-hidden />
                  </Base.ItemIndicator>
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
