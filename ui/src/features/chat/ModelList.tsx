import { Check, Settings2 } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { type OfferedModel, offeredModels } from "../../api/models";
import { t } from "../../i18n";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import { fitting } from "./completion";
import styles from "./ModelPicker.module.css";
import { factsOf, shortModel } from "./modelWords";

type ListProps = {
  /** The model or assistant of this conversation; null for the usual one. */
  chosen: string | null;
  onChoose: (name: string | null) => void;
};

const SHOWN = 200;
const labels = () => ({ assistant: t("Assistants"), model: t("Models") });

const aboutOf = (one: OfferedModel): string =>
  one.about || (one.kind === "assistant" && one.model ? shortModel(one.model) : one.name);

/** Assistants and models, to be searched and chosen with the keyboard. */
export default function ModelList({ chosen, onChoose }: ListProps) {
  const { value, problem, read } = useRead(offeredModels);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState<number | null>(null);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const isChosen = ({ name, usual }: OfferedModel) =>
    chosen === null ? usual === true : name === chosen;
  const all = value?.items ?? [];
  const fit = fitting(all, query, ({ name, about }) => `${name} ${about ?? ""}`, SHOWN);
  const shown = [...fit].sort((a, b) => a.kind.localeCompare(b.kind));
  const first = query ? 0 : Math.max(0, shown.findIndex(isChosen));
  const current = Math.min(at ?? first, shown.length - 1);
  useEffect(() => {
    list.current?.querySelector(`[id="${id}-${current}"]`)?.scrollIntoView({ block: "nearest" });
  }, [id, current]);
  const choose = (one: OfferedModel | undefined) => one && onChoose(one.usual ? null : one.name);
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const to = { ArrowDown: current + 1, ArrowUp: current - 1 }[event.key];
    if (to !== undefined && shown.length) setAt((to + shown.length) % shown.length);
    else if (event.key === "Enter") choose(shown[current]);
    else return;
    event.preventDefault();
  };
  return (
    <div className={styles.picker}>
      <input
        className="input"
        // biome-ignore lint/a11y/noAutofocus: whoever opens the list chooses in it
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={shown.length ? `${id}-${current}` : undefined}
        aria-label={t("Find a model or an assistant")}
        placeholder={t("Find a model or an assistant")}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(null);
        }}
        onKeyDown={press}
      />
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={3} label={t("Loading the models")} />}
      <div ref={list} id={id} role="listbox" aria-label={t("Who answers")} className={styles.list}>
        {shown.map((one, i) => (
          <ModelRow
            key={`${one.kind} ${one.name}`}
            id={`${id}-${i}`}
            one={one}
            isFirst={one.kind !== shown[i - 1]?.kind}
            isCurrent={i === current}
            isChosen={isChosen(one)}
            onChoose={() => choose(one)}
          />
        ))}
      </div>
      {value && !shown.length && (
        <p className={styles.none}>
          {query ? t("No model or assistant is called that.") : t("No model is set up yet.")}
        </p>
      )}
      <div className={styles.more}>
        <Link className={styles.action} to="/settings/model">
          <Settings2 size={16} aria-hidden />
          {t("Set up another model")}
        </Link>
      </div>
    </div>
  );
}

type RowProps = {
  id: string;
  one: OfferedModel;
  isFirst: boolean;
  isCurrent: boolean;
  isChosen: boolean;
  onChoose: () => void;
};

function ModelRow({ id, one, isFirst, isCurrent, isChosen, onChoose }: RowProps) {
  const facts = factsOf(one);
  return (
    <>
      {isFirst && (
        <div role="presentation" className={styles.group}>
          {labels()[one.kind]}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and takes the keys */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={isCurrent}
        className={styles.option}
        onMouseDown={(event) => event.preventDefault()}
        onClick={onChoose}
      >
        <span className={styles.words}>
          <span className={styles.name}>
            {shortModel(one.name)}
            {one.usual && <small>{t("usual")}</small>}
          </span>
          <small className="clip">{aboutOf(one)}</small>
          {facts.length > 0 && <small>{facts.join(" · ")}</small>}
        </span>
        {isChosen && (
          <>
            <Check size={16} aria-hidden />
            <span className="visually-hidden">{t("answers here")}</span>
          </>
        )}
      </div>
    </>
  );
}
