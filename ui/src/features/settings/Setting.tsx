// One setting in any place: its sentence, its widget, where its value comes from, and a way back.
import { Check, Lock, RotateCw } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import type { SettingShown } from "../../api/settings";
import { t, told } from "../../i18n";
import { RecordField } from "./RecordField";
import { SecretField } from "./SecretField";
import styles from "./Setting.module.css";
import { choicesIn, type Widget, widgetOf } from "./schema";
import { faultOf, useSettings } from "./useSettings";
import {
  boundsOf,
  ChecksWidget,
  ChoiceWidget,
  JsonField,
  NumberField,
  SwitchWidget,
  TextField,
  TextsField,
  type WidgetProps,
} from "./widgets";
import { choiceName, largeWords, setBy, Told, valueWords } from "./words";

const RECEIPT_MS = 20_000;
const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** The widget of a type. */
export function Control(props: WidgetProps & { widget: Widget }) {
  const { widget } = props;
  switch (widget.kind) {
    case "switch":
      return <SwitchWidget {...props} />;
    case "choice":
      return <ChoiceWidget {...props} widget={widget} />;
    case "checks":
      return <ChecksWidget {...props} widget={widget} />;
    case "number":
      return <NumberField {...props} widget={widget} />;
    case "text":
      return <TextField {...props} widget={widget} />;
    case "texts":
      return <TextsField {...props} widget={widget} />;
    case "record":
      return <RecordField {...props} entry={widget.entry} />;
    case "json":
      return <JsonField {...props} />;
  }
}

/** What was refused of these stays typed; the others show at once what was chosen. */
const TYPED: readonly Widget["kind"][] = ["number", "text", "json"];
const WIDE: readonly Widget["kind"][] = ["checks", "texts", "record", "json"];

/** Saves one setting, and remembers for a while how it was. */
function useChange({ name, value, source, secret }: SettingShown) {
  const { save } = useSettings();
  const [fault, setFault] = useState("");
  const [before, setBefore] = useState<{ value: unknown } | null>(null);
  // What is being saved: the next change goes on from it.
  const [wanted, setWanted] = useState<{ value: unknown } | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const put = async (next: unknown, isUndo = false) => {
    const was = { value: source === "kept" ? value : null };
    const mine = next === null ? null : { value: next };
    setWanted(mine);
    const problem = await save({ [name]: next });
    setWanted((now) => (now === mine ? null : now));
    setFault(problem ? faultOf(problem, name) : "");
    if (problem) return;
    clearTimeout(timer.current);
    setBefore(isUndo || secret ? null : was);
    timer.current = setTimeout(() => setBefore(null), RECEIPT_MS);
  };
  return { fault, before, wanted, put };
}

export function Setting({
  setting,
  isFound = false,
}: {
  setting: SettingShown;
  isFound?: boolean;
}) {
  const { name, title, description, schema, value, editable, secret, source } = setting;
  const { fault, before, wanted, put } = useChange(setting);
  const { find } = useSettings();
  // Its widget and the other settings have words for what a file has names for.
  const nameOf = (code: string) =>
    choicesIn(schema).has(code) ? choiceName(code, name) : told(find(code)?.title ?? "");
  const id = useId();
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!isFound) return;
    place.current?.scrollIntoView({ block: "center" });
    place.current?.querySelector<HTMLElement>(":is(input, select, textarea, button)")?.focus();
  }, [isFound]);
  const widget: Widget = secret
    ? { kind: "text", maxLength: undefined, optional: true, examples: [] }
    : widgetOf(schema);
  const props: WidgetProps = {
    name,
    title: told(title),
    value: wanted && !TYPED.includes(widget.kind) ? wanted.value : value,
    disabled: !editable,
    describedBy: `${id}-says ${id}-foot`,
    invalid: fault !== "",
    onPut: (next) => void put(next),
  };
  const shape = WIDE.includes(widget.kind)
    ? styles.wide
    : widget.kind === "switch"
      ? styles.inline
      : "";
  return (
    <li
      ref={place}
      className={`${styles.setting} ${shape} ${isFound ? styles.found : ""}`}
      data-setting={name}
    >
      <div className={styles.words}>
        <p className={styles.title}>{told(title)}</p>
        <p id={`${id}-says`}>
          <Told text={description} nameOf={nameOf} />
          {widget.kind === "number" && boundsOf(widget) && ` ${boundsOf(widget)}.`}
        </p>
      </div>
      <div className={styles.control}>
        {secret ? (
          <SecretField {...props} isSet={setting.is_set} />
        ) : (
          <Control {...props} widget={widget} />
        )}
      </div>
      <Foot
        id={`${id}-foot`}
        setting={setting}
        fault={fault}
        undo={before && (() => void put(before.value, true))}
        onReset={source === "kept" && !isSame(value, setting.default) ? () => void put(null) : null}
      />
    </li>
  );
}

type FootProps = {
  id: string;
  setting: SettingShown;
  fault: string;
  undo: (() => void) | null;
  onReset: (() => void) | null;
};

function Foot({ id, setting, fault, undo, onReset }: FootProps) {
  const { all } = useSettings();
  const waits = all?.pending_restart?.includes(setting.name) ?? false;
  const locked = setBy(setting);
  const hidden = <span className="visually-hidden"> {told(setting.title)}</span>;
  return (
    <div id={id} className={styles.foot}>
      {fault && (
        <p role="alert" className={styles.fault}>
          {fault}
        </p>
      )}
      {largeWords(setting.name, setting.value) && (
        <span className={styles.large}>= {largeWords(setting.name, setting.value)}</span>
      )}
      {locked && (
        <span className={styles.locked}>
          <Lock size={13} aria-hidden />
          {locked}
        </span>
      )}
      {setting.restart && (
        <span className={waits ? styles.restart : undefined}>
          <RotateCw size={13} aria-hidden />
          {waits
            ? t("Saved. It takes effect when Bethink is started again.")
            : t("Takes effect when Bethink is started again.")}
        </span>
      )}
      <span role="status" className={styles.receipt}>
        {undo && !fault && (
          <>
            <Check size={13} aria-hidden />
            {t("Saved")}
          </>
        )}
      </span>
      {undo && !fault && (
        <button type="button" onClick={undo}>
          {t("Undo")}
          {hidden}
        </button>
      )}
      {onReset && (
        <button type="button" onClick={onReset}>
          {setting.secret
            ? t("Remove")
            : t("Reset to {value}", { value: valueWords(setting.default, setting.name) })}
          {hidden}
        </button>
      )}
    </div>
  );
}
