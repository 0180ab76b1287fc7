import { type ReactNode, useState } from "react";
import type { ImportChoice as Choice, ImportShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Segmented } from "../../kit/pieces";
import styles from "./Import.module.css";
import { holdsTalk } from "./importWords";

type Into = ImportShown["into"];
type Topics = ImportShown["topics"];

const places = (): readonly { value: Into; label: string }[] => [
  { value: "conversations", label: t("Conversations") },
  { value: "vault", label: t("Pages") },
  { value: "both", label: t("Both") },
];
const ways = (): readonly { value: Topics; label: string }[] => [
  { value: "keywords", label: t("By words") },
  { value: "meaning", label: t("By meaning") },
  { value: "none", label: t("None") },
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
    <div className={styles.choice}>
      {talk && (
        <div className={styles.line}>
          <span>{t("Import as")}</span>
          <Segmented
            label={t("Import {name} as", { name: one.name })}
            value={into}
            options={places()}
            onChange={setInto}
          />
        </div>
      )}
      {into !== "conversations" && (
        <div className={styles.line}>
          <span>{t("Topic pages")}</span>
          <Segmented
            label={t("Topic pages of {name}", { name: one.name })}
            value={topics}
            options={ways()}
            onChange={setTopics}
          />
        </div>
      )}
      <div className={styles.actions}>
        <Button
          look="primary"
          disabled={busy}
          onClick={() => onApply({ into, topics: into === "conversations" ? "none" : topics })}
        >
          {one.state === "stopped" ? t("Continue") : t("Import")}
          <span className="visually-hidden"> {one.name}</span>
        </Button>
        {children}
      </div>
    </div>
  );
}
