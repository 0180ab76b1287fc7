import { t } from "../../../i18n";

/** The words of the editor's own parts, in the reader's language. */
export const phrases = (): Record<string, string> => ({
  Completions: t("Suggestions"),
  "Control character": t("Control character"),
  Find: t("Find"),
  Replace: t("Replace"),
  next: t("Next"),
  previous: t("Previous"),
  all: t("Select all"),
  "match case": t("Match case"),
  "by word": t("Whole words"),
  regexp: t("Regular expression"),
  replace: t("Replace"),
  "replace all": t("Replace all"),
  close: t("Close"),
  "current match": t("Current match"),
  "replaced $ matches": t("Replaced: $"),
  "replaced match on line $": t("Replaced on line $"),
  "on line": t("on line"),
  "Go to line": t("Go to line"),
  go: t("Go"),
});
