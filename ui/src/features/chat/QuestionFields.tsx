// The fields of a form that a server asks for, and the values that are typed into them.
import type { QuestionField } from "../../contract/openapi";
import { t } from "../../i18n";
import { Field, Switch } from "../../kit/Field";

export type Typed = Readonly<Record<string, string | boolean | readonly string[]>>;

const TYPES = {
  "": "text",
  email: "email",
  uri: "url",
  date: "date",
  "date-time": "text",
} as const;

/** What stands in the fields at the start. */
export function startOf(fields: readonly QuestionField[]): Typed {
  return Object.fromEntries(
    fields.map((one) => {
      const empty = one.kind === "boolean" ? false : one.kind === "choices" ? [] : "";
      const given = one.default ?? empty;
      return [one.name, typeof given === "number" ? String(given) : given];
    }),
  );
}

/** The values as the server wants them; what is left empty is left out. */
export function valuesOf(fields: readonly QuestionField[], typed: Typed): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const value = typed[name];
    if (value === undefined || value === "") continue;
    const isNumber = kind === "number" || kind === "integer";
    values[name] = isNumber ? Number(value) : value;
  }
  return values;
}

type FieldsProps = {
  fields: readonly QuestionField[];
  typed: Typed;
  onChange: (typed: Typed) => void;
};

export function QuestionFields({ fields, typed, onChange }: FieldsProps) {
  return fields.map((one) => {
    const title = one.title || one.name.replaceAll("_", " ");
    const onValue = (value: Typed[string]) => onChange({ ...typed, [one.name]: value });
    return one.kind === "boolean" ? (
      <Switch
        key={one.name}
        label={title}
        hint={one.description || undefined}
        checked={typed[one.name] === true}
        onChange={onValue}
      />
    ) : (
      <Field
        key={one.name}
        label={`${title}${one.required ? "" : ` (${t("optional")})`}`}
        hint={one.description || undefined}
      >
        {(control) => (
          <Control one={one} control={control} value={typed[one.name] ?? ""} onChange={onValue} />
        )}
      </Field>
    );
  });
}

type ControlProps = {
  one: QuestionField;
  control: { id: string };
  value: Typed[string];
  onChange: (value: Typed[string]) => void;
};

function Control({ one, control, value, onChange }: ControlProps) {
  const choices = one.choices ?? [];
  if (choices.length) {
    const several = one.kind === "choices";
    return (
      <select
        {...control}
        className="input"
        multiple={several}
        required={one.required ?? false}
        value={several ? [...(value as readonly string[])] : (value as string)}
        onChange={({ target }) =>
          onChange(several ? [...target.selectedOptions].map((each) => each.value) : target.value)
        }
      >
        {!several && <option value="">{t("Choose…")}</option>}
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.title}
          </option>
        ))}
      </select>
    );
  }
  const isNumber = one.kind === "number" || one.kind === "integer";
  return (
    <input
      {...control}
      className="input"
      type={isNumber ? "number" : TYPES[one.format ?? ""]}
      step={one.kind === "number" ? "any" : undefined}
      min={isNumber ? (one.least ?? undefined) : undefined}
      max={isNumber ? (one.most ?? undefined) : undefined}
      required={one.required ?? false}
      autoComplete="off"
      value={String(value)}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
