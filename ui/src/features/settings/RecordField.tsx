// Entries under names, such as prices by model and rules by tool: a list, and a dialog for one of them.
import { Pencil, Plus, Trash2 } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import type { Schema } from "../../api/settings";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Control } from "./Setting";
import styles from "./Setting.module.css";
import { resolved, widgetOf } from "./schema";
import type { WidgetProps } from "./widgets";
import { choiceName, valueWords } from "./words";

type Entries = Readonly<Record<string, unknown>>;

/** An entry in a line. */
function entryWords(value: unknown, name: string): string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return typeof value === "string" ? choiceName(value, name) : valueWords(value);
  return Object.entries(value)
    .filter(([, each]) => each !== null && each !== "")
    .map(([key, each]) => `${key.replaceAll("_", " ")}: ${valueWords(each, key)}`)
    .join(", ");
}

export function RecordField(props: WidgetProps & { entry: Schema }) {
  const { name, title, disabled, entry, onPut } = props;
  const entries = (props.value ?? {}) as Entries;
  const [editing, setEditing] = useState<string | null>(null);
  const without = (key: string) =>
    Object.fromEntries(Object.entries(entries).filter(([each]) => each !== key));
  return (
    <div className={styles.entries}>
      {Object.keys(entries).length > 0 && (
        <ul aria-label={title}>
          {Object.entries(entries).map(([key, value]) => (
            <li key={key}>
              <div>
                <strong>{key}</strong>
                <small>{entryWords(value, name)}</small>
              </div>
              {!disabled && (
                <>
                  <IconButton
                    icon={Pencil}
                    size={16}
                    label={t("Edit {name}", { name: key })}
                    onClick={() => setEditing(key)}
                  />
                  <IconButton
                    icon={Trash2}
                    size={16}
                    label={t("Remove {name}", { name: key })}
                    onClick={() => onPut(without(key))}
                  />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {!disabled && (
        <span>
          <Button icon={Plus} onClick={() => setEditing("")}>
            {t("Add")}
            <span className="visually-hidden"> {t("to {title}", { title })}</span>
          </Button>
        </span>
      )}
      {editing !== null && (
        <EntryDialog
          {...props}
          entry={entry}
          entryName={editing}
          value={entries[editing]}
          onClose={() => setEditing(null)}
          onSave={(key, value) => {
            setEditing(null);
            onPut({ ...without(editing), [key]: value });
          }}
        />
      )}
    </div>
  );
}

type EntryProps = WidgetProps & {
  entry: Schema;
  entryName: string;
  onClose: () => void;
  onSave: (key: string, value: unknown) => void;
};

function EntryDialog({ title, name, entry, entryName, value, onClose, onSave }: EntryProps) {
  const [key, setKey] = useState(entryName);
  const [next, setNext] = useState(value ?? startOf(entry));
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (key.trim()) onSave(key.trim(), next);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="body" onSubmit={save}>
        <label className="field">
          {t("Name")}
          <input
            className="input"
            data-first
            autoComplete="off"
            spellCheck={false}
            required
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        <EntryFields name={name} entry={entry} value={next} onChange={setNext} />
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!key.trim()}>
            {t("Save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function startOf(entry: Schema): unknown {
  const { schema } = resolved(entry);
  if (schema.properties) return {};
  if (schema.enum) return schema.enum[0];
  return schema.type === "array" ? [] : "";
}

type FieldsProps = {
  name: string;
  entry: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
};

/** The fields of one entry: one for each of its parts, or a single one. */
export function EntryFields({ name, entry, value, onChange }: FieldsProps) {
  const id = useId();
  const { schema } = resolved(entry);
  const $defs = entry.$defs ?? schema.$defs;
  const shared = { disabled: false, invalid: false };
  if (!schema.properties) {
    const only = { ...shared, name, title: t("Value"), value, describedBy: id };
    return <Control {...only} widget={widgetOf(entry)} onPut={onChange} />;
  }
  const parts = (value ?? {}) as Entries;
  return Object.entries(schema.properties).map(([part, each]) => {
    const inner = $defs ? { ...each, $defs } : each;
    const title = each.title ?? part.replaceAll("_", " ");
    return (
      <div key={part} className="field">
        {title}
        <Control
          {...shared}
          name={part}
          title={title}
          value={parts[part] ?? each.default}
          describedBy={id}
          widget={widgetOf(inner)}
          onPut={(next) => onChange({ ...parts, [part]: next })}
        />
      </div>
    );
  });
}
