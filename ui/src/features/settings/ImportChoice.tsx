import { type ReactNode, useState } from "react";
import type { ImportChoice as Choice, ImportShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { Segmented } from "../../kit/pieces";
import { holdsTalk } from "./importWords";

type Into = ImportShown["into"];
type Topics = ImportShown["topics"];

const places: readonly { value: Into; label: string }[] = [
  { value: "conversations", label: "Conversations" },
  { value: "vault", label: "Pages" },
  { value: "both", label: "Both" },
];
const ways: readonly { value: Topics; label: string }[] = [
  { value: "keywords", label: "By words" },
  { value: "meaning", label: "By meaning" },
  { value: "none", label: "None" },
];

type ChoiceProps = {
  one: ImportShown;
  busy: boolean;
  onApply: (choice: Choice) => void;
  /** What else can be done, beside the button. */
  children: ReactNode;
};

/** Where an export is to go, and the button that has it taken in. */
export function ImportChoice({ one, busy, onApply, children }: ChoiceProps) {
  const [into, setInto] = useState<Into>(one.into);
  const [topics, setTopics] = useState<Topics>(one.topics);
  const talk = holdsTalk(one.source);
  return (
    <div className="import-choice">
      {talk && (
        <div className="setting">
          <span>Import as</span>
          <Segmented
            label={`Import ${one.name} as`}
            value={into}
            options={places}
            onChange={setInto}
          />
        </div>
      )}
      {into !== "conversations" && (
        <div className="setting">
          <span>Topic pages</span>
          <Segmented
            label={`Topic pages of ${one.name}`}
            value={topics}
            options={ways}
            onChange={setTopics}
          />
        </div>
      )}
      <div className="actions">
        <Button
          look="primary"
          disabled={busy}
          onClick={() => onApply({ into, topics: into === "conversations" ? "none" : topics })}
        >
          {one.state === "stopped" ? "Continue" : "Import"}
          <span className="visually-hidden"> {one.name}</span>
        </Button>
        {children}
      </div>
    </div>
  );
}
