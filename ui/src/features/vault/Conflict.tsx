import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { Diff } from "./Diff";
import { differing } from "./diffLines";
import { both, type Draft } from "./draft";

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
        <strong>This page was deleted or moved by another program</strong>
        <span>What you see here is only on your screen now.</span>
        <span className="choices">
          <Button onClick={() => onChoose("mine")}>Write it again</Button>
          <Button look="quiet" onClick={onLeave}>
            Let it go
          </Button>
        </span>
      </Notice>
    );
  }
  const canMerge = both(draft) !== null;
  return (
    <Notice tone="ask">
      <strong>Somebody else changed this page while you wrote</strong>
      <span>Nothing is lost: your text is in the editor, theirs is in the file. What differs:</span>
      <Diff
        lines={differing(theirs.page.text, text)}
        label="Theirs, marked as removed, and yours, marked as added"
      />
      {canMerge && <span>You wrote in different places, so both can be kept.</span>}
      <span className="choices">
        {canMerge && (
          <Button look="primary" onClick={() => onChoose("both")}>
            Keep both
          </Button>
        )}
        <Button onClick={() => onChoose("mine")}>Keep mine</Button>
        <Button onClick={() => onChoose("theirs")}>Take theirs</Button>
      </span>
    </Notice>
  );
}
