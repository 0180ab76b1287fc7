import { useState } from "react";
import type { ModelFile } from "../../../api/settings";
import { t, told } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Confirm } from "../../../kit/Dialog";
import { Progress } from "../../../kit/Field";
import { bytes } from "../../../services/words";
import styles from "./ModelFiles.module.css";
import { isAddress } from "./useModelFiles";

type RowProps = {
  file: ModelFile;
  canUse: boolean;
  onUse: () => void;
  onAgain: () => Promise<unknown>;
  onRemove: () => Promise<unknown>;
};

/** How much of it is here, in words. */
function amount({ bytes: here, total }: ModelFile): string {
  if (total === null || total === here) return bytes(here);
  return t("{here} of {total}", { here: bytes(here), total: bytes(total) });
}

export function ModelFileRow({ file, canUse, onUse, onAgain, onRemove }: RowProps) {
  const { name, state, problem, total } = file;
  const [asked, setAsked] = useState(false);
  const isArriving = state === "downloading";
  const isDownload = isAddress(file.source);
  const named = <span className="visually-hidden"> {name}</span>;
  return (
    <li className={styles.row}>
      <div className={styles.what}>
        <strong>{name}</strong>
        {(file.bytes > 0 || isArriving) && (
          <small>
            {amount(file)}
            {state === "cancelled" && ` · ${t("Cancelled")}`}
            {state === "ready" && !isDownload && ` · ${file.source}`}
          </small>
        )}
        {isArriving && (
          <Progress
            bare
            label={t("Downloading {name}", { name })}
            value={total ? file.bytes / total : null}
            words={amount(file)}
          />
        )}
        {problem && (
          <p className={styles.problem} role="status">
            {told(problem)}
          </p>
        )}
      </div>
      <div className={styles.deeds}>
        {state === "ready" && (
          <Button look="primary" disabled={!canUse} onClick={onUse}>
            {t("Use")}
            {named}
          </Button>
        )}
        {!isArriving && state !== "ready" && (
          <Button onClick={() => void onAgain()}>
            {state === "cancelled" ? t("Continue") : t("Try again")}
            {named}
          </Button>
        )}
        <Button
          look="quiet"
          onClick={() => (isArriving || !isDownload ? void onRemove() : setAsked(true))}
        >
          {isArriving ? t("Cancel") : t("Remove")}
          {named}
        </Button>
      </div>
      {asked && (
        <Confirm
          title={t("Remove “{name}”?", { name })}
          action={t("Remove")}
          onClose={() => setAsked(false)}
          onConfirm={() => void onRemove()}
        >
          <p>{t("What was downloaded of it is deleted from this machine.")}</p>
        </Confirm>
      )}
    </li>
  );
}
