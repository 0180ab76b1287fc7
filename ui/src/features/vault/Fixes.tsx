import { WandSparkles } from "lucide-react";
import type { VaultChoice } from "../../api/types";
import { t } from "../../i18n";
import { Menu } from "../../kit/Popover";
import type { Finding } from "./CheckPage";

type Way = VaultChoice["way"];

const sentences = (count: number): Record<Way, string> => ({
  lead: t("Point {count} links to the pages they seem to mean", { count }),
  create: t("Create {count} missing pages", { count }),
  unlink: t("Remove {count} links, and keep their text", { count }),
  merge: t("Merge {count} pages", { count }),
  rename: t("Rename {count} pages", { count }),
  mend: t("Fix {count} by one character", { count }),
  aside: t("Keep {count} as plain text", { count }),
  split: t("Split {count} pages at their headings", { count }),
  convert: t("Convert {count} files to UTF-8", { count }),
});

/** The choices of one way, one for each finding; a link is led somewhere only where that is beyond doubt. */
export function ways(found: readonly Finding[]): Map<Way, VaultChoice[]> {
  const all = new Map<Way, VaultChoice[]>();
  for (const { choices } of found) {
    const firsts = new Map<Way, VaultChoice>();
    for (const choice of choices) {
      const isFit = choice.way !== "lead" || choice.is_sure;
      if (isFit && !firsts.has(choice.way)) firsts.set(choice.way, choice);
    }
    for (const [way, choice] of firsts) all.set(way, [...(all.get(way) ?? []), choice]);
  }
  return new Map([...all].filter(([, choices]) => choices.length > 1));
}

type FixesProps = {
  found: readonly Finding[];
  onChoose: (choices: readonly VaultChoice[]) => void;
};

/** Mends all findings of a kind in one way, where there are several; what would change is shown first. */
export function Fixes({ found, onChoose }: FixesProps) {
  const all = [...ways(found)];
  if (!all.length) return null;
  return (
    <Menu
      icon={WandSparkles}
      label={t("Fix all")}
      items={all.map(([way, choices]) => ({
        label: sentences(choices.length)[way],
        run: () => onChoose(choices),
      }))}
    />
  );
}
