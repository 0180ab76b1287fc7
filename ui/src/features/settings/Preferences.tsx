// What one person told of how answers are to be; each field is kept when it is left.
import { Check } from "lucide-react";
import { type ReactNode, useId, useRef, useState } from "react";
import { asProblem } from "../../api/client";
import { type Preferences, settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Combobox } from "../../kit/Combobox";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import { useApp } from "../../services/context";
import { browserZone } from "../../services/days";
import { useStore } from "../../services/store";
import { useRead } from "../../services/useRead";
import styles from "./Preferences.module.css";
import room from "./Room.module.css";
import { faultOf } from "./useSettings";

const ask = (signal: AbortSignal) => settingsApi.preferences(signal);
const MAX_INSTRUCTIONS = 4000;
const MAX_LINE = 200;

/** Languages to answer in, each by its own name; the value is what the model is told. */
export const answerLanguages: readonly string[] = [
  "English",
  "Deutsch",
  "Français",
  "Español",
  "Italiano",
  "Português",
  "Polski",
  "Nederlands",
  "Türkçe",
  "Українська",
  "中文",
  "日本語",
  "العربية",
];

/** Tones to choose from; what is kept is the sentence that the model is told. */
export const tones = (): readonly { label: string; tone: string }[] => [
  { label: t("Short"), tone: "short and to the point" },
  { label: t("Friendly"), tone: "warm and friendly" },
  { label: t("Thorough"), tone: "thorough, with reasons and examples" },
  { label: t("Formal"), tone: "formal and precise" },
];

export function PreferencesForm() {
  const { value, problem, read, change } = useRead(ask, undefined, true);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!value) return <Skeleton lines={6} label={t("Loading what you prefer")} />;
  return <Fields kept={value} onKept={(now) => change(() => now)} />;
}

type Key = Exclude<keyof Preferences, "conversation_days">;
type FieldsProps = { kept: Preferences; onKept: (now: Preferences) => void };

function Fields({ kept, onKept }: FieldsProps) {
  const [saved, setSaved] = useState<Key | null>(null);
  const [fault, setFault] = useState<{ key: Key; text: string } | null>(null);
  const last = useRef(Promise.resolve());
  // One after the other: what is shown is what was kept last.
  const put = (key: Key, value: string) => {
    if (value !== (kept[key] ?? "")) last.current = last.current.then(() => keep(key, value));
  };
  const keep = async (key: Key, value: string) => {
    try {
      onKept(await settingsApi.changePreferences({ [key]: value || null }));
      setSaved(key);
      setFault(null);
    } catch (error) {
      setFault({ key, text: faultOf(asProblem(error), key) });
    }
  };
  const field = (key: Key) => ({
    value: kept[key] ?? "",
    onPut: (value: string) => put(key, value),
    foot: (
      <>
        <span role="status">
          {saved === key && (
            <>
              <Check size={13} aria-hidden /> {t("Saved")}
            </>
          )}
        </span>
        {fault?.key === key && <span role="alert">{fault.text}</span>}
      </>
    ),
  });
  return (
    <section className={room.part} aria-labelledby="answers">
      <h2 id="answers">{t("How answers are")}</h2>
      <Typed
        {...field("instructions")}
        label={t("Your instructions")}
        says={t("What the assistant should know and do in every conversation.")}
        placeholder={t("For example: I am a nurse. Use metric units. Say when you are not sure.")}
        long
      />
      <ToneField {...field("tone")} />
      <Typed
        {...field("language")}
        label={t("Language of answers")}
        says={t("Leave it empty to be answered in the language that you write in.")}
        placeholder={t("As you write")}
        suggestions={answerLanguages}
      />
      <ZonePreference {...field("time_zone")} />
      <ModelField {...field("model")} />
    </section>
  );
}

type FieldProps = { value: string; onPut: (value: string) => void; foot: ReactNode };
type TypedProps = FieldProps & {
  label: string;
  says: string;
  placeholder: string;
  long?: boolean;
  suggestions?: readonly string[];
  children?: ReactNode;
};

/** Kept when its writer leaves it. */
function Typed(props: TypedProps) {
  const { value, onPut, foot, label, says, placeholder, long, suggestions, children } = props;
  const id = useId();
  const [typed, setTyped] = useState(value);
  const [last, setLast] = useState(value);
  if (value !== last) {
    setLast(value);
    setTyped(value);
  }
  const shared = {
    id,
    className: "input",
    placeholder,
    value: typed,
    "aria-describedby": `${id}-says`,
    onChange: ({ target }: { target: { value: string } }) => setTyped(target.value),
    onBlur: () => onPut(typed.trim()),
  };
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <p id={`${id}-says`}>{says}</p>
      {long ? (
        <textarea {...shared} rows={5} maxLength={MAX_INSTRUCTIONS} />
      ) : suggestions ? (
        <Combobox
          id={id}
          value={typed}
          options={suggestions}
          placeholder={placeholder}
          maxLength={MAX_LINE}
          describedBy={`${id}-says`}
          onChange={setTyped}
          onDone={(text) => onPut(text.trim())}
          onLeave={() => onPut(typed.trim())}
        />
      ) : (
        <input
          {...shared}
          autoComplete="off"
          maxLength={MAX_LINE}
          onKeyDown={(event) => event.key === "Enter" && onPut(typed.trim())}
        />
      )}
      {children}
      <div className={styles.foot}>{foot}</div>
    </div>
  );
}

function ToneField({ value, onPut, foot }: FieldProps) {
  return (
    <Typed
      value={value}
      onPut={onPut}
      foot={foot}
      label={t("Tone")}
      says={t("Choose one, or say it in your own words.")}
      placeholder={t("As it comes")}
    >
      <ToneChips value={value} onPut={onPut} />
    </Typed>
  );
}

export function ToneChips({ value, onPut }: Omit<FieldProps, "foot">) {
  return (
    <fieldset className={styles.chips} aria-label={t("Tone")}>
      {tones().map(({ label, tone }) => (
        <button
          key={tone}
          type="button"
          aria-pressed={value === tone}
          onClick={() => onPut(value === tone ? "" : tone)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** All zones that this browser knows, its own first; empty is the server's. */
export function ZoneField(props: { id: string; value: string; onPut: (value: string) => void }) {
  const { id, value, onPut } = props;
  const mine = browserZone();
  const known = [mine, ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== mine)];
  const [typed, setTyped] = useState(value);
  const [last, setLast] = useState(value);
  if (value !== last) {
    setLast(value);
    setTyped(value);
  }
  const settle = (text: string) => {
    const meant = text.trim().toLowerCase().replaceAll(" ", "_");
    const zone = known.find((each) => each.toLowerCase() === meant);
    if (zone === undefined && meant) setTyped(value);
    else onPut(zone ?? "");
  };
  return (
    <Combobox
      id={id}
      value={typed}
      options={known}
      placeholder={t("As the server")}
      none={t("No such time zone.")}
      onChange={setTyped}
      onDone={settle}
      onLeave={() => settle(typed)}
    />
  );
}

function ZonePreference({ value, onPut, foot }: FieldProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{t("Time zone")}</label>
      <p>{t("“Tomorrow at nine” is read by this clock.")}</p>
      <ZoneField id={id} value={value} onPut={onPut} />
      <div className={styles.foot}>{foot}</div>
    </div>
  );
}

function ModelField({ value, onPut, foot }: FieldProps) {
  const { health } = useApp();
  const id = useId();
  const { settings } = useStore(health.store);
  const offered = settings?.models ?? [];
  if (offered.length < 2 && !value) return null;
  const gone = value && !offered.includes(value);
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{t("Your model")}</label>
      <p>{t("It answers in new conversations if nothing else is chosen there.")}</p>
      <Select
        id={id}
        look="wide"
        value={value}
        options={[
          { value: "", label: t("As everybody’s") },
          ...(gone ? [value, ...offered] : offered).map((name) => ({ value: name, label: name })),
        ]}
        onChange={onPut}
      />
      <div className={styles.foot}>{foot}</div>
    </div>
  );
}
