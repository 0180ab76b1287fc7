import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { Diff } from "./Diff";
import { differing } from "./diffLines";
import { both, type Draft } from "./draft";
import vault from "./vault.module.css";

type ConflictProps = {
  draft: Draft;
  onChoose: (which: "mine" | "theirs" | "both") => void;
  onLeave: () => void;
};

/** Somebody else wrote the page meanwhile: both texts are here, and one is chosen. */
export function Conflict({ draft, onChoose, onLeave }: ConflictProps) {
  const { theirs, text } = draft;
  if (!theirs) return null;
  if (!theirs.page) {
    return (
      <Notice tone="ask">
        <strong>{t("This page was deleted or moved by another program")}</strong>
        <span>{t("Its text is now only in this editor.")}</span>
        <span className={vault.ways}>
          <Button onClick={() => onChoose("mine")}>{t("Save it again")}</Button>
          <Button look="quiet" onClick={onLeave}>
            {t("Discard it")}
          </Button>
        </span>
      </Notice>
    );
  }
  const canMerge = both(draft) !== null;
  return (
    <Notice tone="ask">
      <strong>{t("This page was changed elsewhere while you edited it")}</strong>
      <span>
        {t(
          "Nothing is lost: your text is in the editor, the other text is in the file. Differences:",
        )}
      </span>
      <Diff
        lines={differing(theirs.page.text, text)}
        label={t("The other text, marked as removed, and yours, marked as added")}
      />
      {canMerge && <span>{t("The changes are in different places, so both can be kept.")}</span>}
      <span className={vault.ways}>
        {canMerge && (
          <Button look="primary" onClick={() => onChoose("both")}>
            {t("Keep both")}
          </Button>
        )}
        <Button onClick={() => onChoose("mine")}>{t("Keep mine")}</Button>
        <Button onClick={() => onChoose("theirs")}>{t("Use theirs")}</Button>
      </span>
    </Notice>
  );
}
