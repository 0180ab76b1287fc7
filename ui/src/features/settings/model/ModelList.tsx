import { useId, useState } from "react";
import type { Problem } from "../../../api/client";
import type { ListedModel } from "../../../api/settings";
import { locale, t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Notice, Skeleton } from "../../../kit/pieces";
import styles from "./Model.module.css";

type ListProps = {
  models: readonly ListedModel[] | null;
  isLoading: boolean;
  problem: Problem | null;
  chosen: string;
  onChoose: (model: string) => void;
  onList: () => void;
};

const MANY = 8;
const MOST = 200;

/** The models of an endpoint; where it does not tell them, a field for a name. */
export function ModelList(props: ListProps) {
  const { models, isLoading, problem, chosen, onChoose, onList } = props;
  if (isLoading) return <Skeleton lines={4} label={t("Loading the models")} />;
  if (models?.length) return <Choices models={models} chosen={chosen} onChoose={onChoose} />;
  return (
    <>
      {problem && (
        <Notice tone="ask">
          <span>{problem.detail || problem.title}</span>
        </Notice>
      )}
      {models && <p className={styles.nothing}>{t("This server tells of no models.")}</p>}
      <div className={styles.byHand}>
        <label className="field">
          {t("Name of the model")}
          <input
            className="input"
            spellCheck={false}
            autoComplete="off"
            value={chosen}
            onChange={(event) => onChoose(event.target.value.trim())}
          />
        </label>
        <Button onClick={onList}>{t("Show its models")}</Button>
      </div>
    </>
  );
}

function Choices({
  models,
  chosen,
  onChoose,
}: Pick<ListProps, "chosen" | "onChoose"> & {
  models: readonly ListedModel[];
}) {
  const [wanted, setWanted] = useState("");
  const group = useId();
  const low = wanted.trim().toLowerCase();
  const fitting = models.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(low));
  return (
    <fieldset className={styles.models}>
      <legend>{t("Model")}</legend>
      {models.length > MANY && (
        <input
          type="search"
          className="input"
          placeholder={t("Search {count} models", { count: models.length })}
          aria-label={t("Search models")}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
      )}
      <div className={`scroll ${styles.options}`}>
        {fitting.slice(0, MOST).map(({ id, name, context_tokens: window }) => (
          <label key={id}>
            <input
              type="radio"
              name={group}
              checked={chosen === id}
              onChange={() => onChoose(id)}
            />
            <span>{name || id}</span>
            {window && (
              <small>{t("{count} tokens", { count: window.toLocaleString(locale()) })}</small>
            )}
          </label>
        ))}
        {!fitting.length && <p className={styles.nothing}>{t("No model matches.")}</p>}
        {fitting.length > MOST && (
          <p className={styles.nothing}>{t("More match. Search for a part of the name.")}</p>
        )}
      </div>
    </fieldset>
  );
}
