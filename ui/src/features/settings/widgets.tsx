// One widget for each type of value. A choice is put at once, what is typed when its field is left or with Enter.
import { X } from "lucide-react";
import { type KeyboardEvent, useEffect, useState } from "react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Combobox } from "../../kit/Combobox";
import { Select } from "../../kit/Select";
import styles from "./Setting.module.css";
import type { NumberWidget, Widget } from "./schema";
import { choiceName, unitOf, valueWords } from "./words";

export type WidgetProps = {
  name: string;
  title: string;
  value: unknown;
  disabled: boolean;
  /** Ids of what describes it. */
  describedBy: string;
  invalid: boolean;
  onPut: (value: unknown) => void;
};

type Of<K extends Widget["kind"]> = WidgetProps & { widget: Extract<Widget, { kind: K }> };

/** What assistive technology is told of every control. */
const aria = ({ title, describedBy, invalid }: WidgetProps) => ({
  "aria-label": title,
  "aria-describedby": describedBy,
  ...(invalid && { "aria-invalid": true }),
});

export function SwitchWidget(props: WidgetProps) {
  const on = props.value === true;
  return (
    <input
      type="checkbox"
      role="switch"
      className="switch"
      checked={on}
      aria-checked={on}
      disabled={props.disabled}
      {...aria(props)}
      onChange={(event) => props.onPut(event.target.checked)}
    />
  );
}

export function ChoiceWidget(props: Of<"choice">) {
  const { widget, value, name } = props;
  const isBoolean = typeof widget.options[0] === "boolean";
  const put = (text: string) => {
    if (text === "") props.onPut(null);
    else props.onPut(isBoolean ? text === "true" : text);
  };
  return (
    <span className={styles.choice}>
      <Select
        label={props.title}
        look="wide"
        value={value === null || value === undefined ? "" : String(value)}
        disabled={props.disabled}
        onChange={put}
        options={[
          ...(widget.optional ? [{ value: "", label: t("Not set") }] : []),
          ...widget.options.map((option) => ({
            value: String(option),
            label: choiceName(option, name),
          })),
        ]}
      />
    </span>
  );
}

export function ChecksWidget(props: Of<"checks">) {
  const { widget, value, onPut } = props;
  const chosen = Array.isArray(value) ? value.map(String) : [];
  return (
    <fieldset className={styles.checks} aria-label={props.title} disabled={props.disabled}>
      {widget.options.map((option) => (
        <label key={option}>
          <input
            type="checkbox"
            checked={chosen.includes(option)}
            onChange={({ target }) =>
              onPut(
                widget.options.filter((each) =>
                  each === option ? target.checked : chosen.includes(each),
                ),
              )
            }
          />
          {choiceName(option)}
        </label>
      ))}
    </fieldset>
  );
}

/** What is typed, until it is put; what was refused stays to be mended. */
function useTyped(value: string, put: (text: string) => void) {
  const [typed, setTyped] = useState(value);
  const [last, setLast] = useState(value);
  if (value !== last) {
    setLast(value);
    setTyped(value);
  }
  const commit = () => {
    if (typed.trim() !== value) put(typed.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.nativeEvent.isComposing) commit();
    if (event.key === "Escape" && typed !== value) {
      event.stopPropagation();
      setTyped(value);
    }
  };
  return { typed, setTyped, commit, onKeyDown };
}

const inputOf = (value: unknown) => (value === null || value === undefined ? "" : String(value));

export function NumberField(props: WidgetProps & { widget: NumberWidget }) {
  const { widget, onPut } = props;
  const { typed, setTyped, commit, onKeyDown } = useTyped(inputOf(props.value), (text) => {
    // What is no number is sent as it is: the server says what is wrong with it.
    if (text === "") onPut(null);
    else onPut(Number.isNaN(Number(text)) ? text : Number(text));
  });
  const unit = unitOf(props.name);
  return (
    <span className={styles.number}>
      <input
        className="input"
        inputMode={widget.whole ? "numeric" : "decimal"}
        autoComplete="off"
        placeholder={widget.optional ? t("Not set") : undefined}
        value={typed}
        disabled={props.disabled}
        {...aria(props)}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={commit}
        onKeyDown={onKeyDown}
      />
      {unit && <span>{unit}</span>}
    </span>
  );
}

/** The bounds of a number in words. */
export function boundsOf({ min, max }: NumberWidget): string {
  const [low, high] = [min, max].map((bound) => valueWords(bound));
  if (min !== undefined && max !== undefined) return t("{low} to {high}", { low, high });
  if (min !== undefined && min > 0) return t("At least {low}", { low });
  return max === undefined ? "" : t("At most {high}", { high });
}

export function TextField(props: Of<"text">) {
  const { widget, onPut } = props;
  const put = (text: string) => onPut(text === "" && widget.optional ? null : text);
  const { typed, setTyped, commit, onKeyDown } = useTyped(inputOf(props.value), put);
  if (widget.examples.length > 0) {
    return (
      <Combobox
        label={props.title}
        value={typed}
        options={widget.examples}
        placeholder={t("Not set")}
        disabled={props.disabled}
        maxLength={widget.maxLength}
        describedBy={props.describedBy}
        invalid={props.invalid}
        onChange={setTyped}
        onDone={(text) => put(text.trim())}
        onLeave={commit}
      />
    );
  }
  return (
    <input
      className="input"
      autoComplete="off"
      spellCheck={false}
      maxLength={widget.maxLength}
      placeholder={t("Not set")}
      value={typed}
      disabled={props.disabled}
      {...aria(props)}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={commit}
      onKeyDown={onKeyDown}
    />
  );
}

/** A list of texts as chips, and a field that adds one. */
export function TextsField(props: Of<"texts">) {
  const { widget, title, onPut } = props;
  const list: readonly unknown[] = Array.isArray(props.value) ? props.value : [];
  const [typed, setTyped] = useState("");
  const add = () => {
    const words = typed
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each && !list.map(String).includes(each));
    setTyped("");
    if (words.length) onPut([...list, ...(widget.numbers ? words.map(Number) : words)]);
  };
  return (
    <div className={styles.texts}>
      {list.length > 0 && (
        <ul aria-label={title}>
          {list.map((each) => (
            <li key={String(each)}>
              <span>{String(each)}</span>
              {!props.disabled && (
                <IconButton
                  icon={X}
                  size={14}
                  label={t("Remove {name}", { name: String(each) })}
                  onClick={() => onPut(list.filter((other) => other !== each))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {!props.disabled && (
        <input
          className="input"
          autoComplete="off"
          spellCheck={false}
          placeholder={t("Add, then Enter")}
          value={typed}
          {...aria(props)}
          aria-label={t("Add to {title}", { title })}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={add}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
            event.preventDefault();
            add();
          }}
        />
      )}
    </div>
  );
}

/** A value without a form of its own, as JSON. */
export function JsonField(props: WidgetProps) {
  const text = JSON.stringify(props.value ?? null, null, 2);
  const [typed, setTyped] = useState(text);
  const [fault, setFault] = useState("");
  useEffect(() => setTyped(text), [text]);
  const commit = () => {
    if (typed.trim() === text) return setFault("");
    try {
      props.onPut(JSON.parse(typed || "null"));
      setFault("");
    } catch {
      setFault(t("This is not valid JSON. Nothing was saved."));
    }
  };
  return (
    <div className={styles.json}>
      <textarea
        className="input"
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        spellCheck={false}
        value={typed}
        disabled={props.disabled}
        {...aria(props)}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={commit}
      />
      {fault && (
        <p role="alert" className={styles.fault}>
          {fault}
        </p>
      )}
    </div>
  );
}
