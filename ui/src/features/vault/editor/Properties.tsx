// The front matter of a page as a small form. What it does not understand stays as it is written.
import type { EditorView } from "@codemirror/view";
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { t } from "../../../i18n";
import { Button, IconButton } from "../../../kit/Button";
import styles from "./Editor.module.css";
import { asText, propertiesIn } from "./front";
import { frontEnd, linesWith, type Property } from "./properties";

/** Replaces lines of the front matter; what is behind them stays. */
function write(view: EditorView, from: number, to: number, lines: readonly string[]): void {
  const { doc } = view.state;
  const start = doc.line(from + 2).from;
  const end = doc.line(to + 2).from;
  const insert = lines.map((line) => `${line}\n`).join("");
  view.dispatch({ changes: { from: start, to: end, insert }, userEvent: "input" });
}

const shown = (value: Property["value"]): string =>
  value === null ? "" : typeof value === "string" ? value : value.join(", ");

function Value({ view, property }: { view: EditorView; property: Property }) {
  const { value, name, from, to } = property;
  const [typed, setTyped] = useState<string | null>(null);
  if (value === null) return <code title={t("Change it as text")}>{property.raw}</code>;
  const isList = typeof value !== "string";
  const done = () => {
    if (typed === null || typed === shown(value)) return setTyped(null);
    const items = typed.split(",").map((one) => one.trim());
    write(view, from, to, linesWith(property, isList ? items.filter(Boolean) : typed.trim()));
    setTyped(null);
  };
  return (
    <input
      className="input"
      aria-label={name}
      value={typed ?? shown(value)}
      placeholder={isList ? t("Separated by commas") : t("Empty")}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={done}
      onKeyDown={(event) => {
        if (event.key === "Enter") done();
        if (event.key === "Escape") setTyped(null);
      }}
    />
  );
}

function Adding({ view, known }: { view: EditorView; known: readonly Property[] }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <Button look="quiet" icon={Plus} onClick={() => setName("")}>
        {t("Add property")}
      </Button>
    );
  }
  const wanted = name.trim();
  const isFit = /^[A-Za-z_][\w -]*$/.test(wanted) && !known.some((one) => one.name === wanted);
  const add = (event: FormEvent) => {
    event.preventDefault();
    if (!isFit) return;
    const isList = /^(tags|aliases)$/i.test(wanted);
    const at = known.at(-1)?.to ?? 0;
    write(view, at, at, linesWith({ name: wanted, style: "inline" }, isList ? [] : ""));
    setName(null);
  };
  return (
    <form onSubmit={add}>
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because its button was pressed
        autoFocus
        className="input"
        aria-label={t("Name of the property")}
        placeholder={t("Name")}
        value={name}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && setName(null)}
      />
      <Button type="submit" disabled={!isFit}>
        {t("Add")}
      </Button>
    </form>
  );
}

/** `text` is another one whenever the page changed. */
export function Properties({ view, text }: { view: EditorView; text: string }) {
  const [isText, setText] = useState(false);
  if (!text.replace(/^\uFEFF/, "").startsWith("---") || !frontEnd(view.state.doc)) return null;
  const properties = propertiesIn(view.state.doc);
  if (!properties) return null;
  const choose = (next: boolean) => {
    setText(next);
    view.dispatch({ effects: asText.of(next) });
  };
  return (
    <section className={styles.properties} aria-label={t("Properties")}>
      {!isText &&
        properties.map((property) => (
          <div key={property.name} className={styles.property}>
            <span className="clip" title={property.name}>
              {property.name}
            </span>
            <Value view={view} property={property} />
            <IconButton
              icon={X}
              size={14}
              label={t("Remove {name}", { name: property.name })}
              onClick={() => write(view, property.from, property.to, [])}
            />
          </div>
        ))}
      <footer>
        {!isText && <Adding view={view} known={properties} />}
        <Button look="quiet" onClick={() => choose(!isText)}>
          {isText ? t("Show properties") : t("Edit as text")}
        </Button>
      </footer>
    </section>
  );
}
