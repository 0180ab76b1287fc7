// What was told in the step before, for the first questions; kept by this tab only.
import { t } from "../../../i18n";

type Told = { name: string; place: string };
const KEY = "bethink.setup.told";

export function keepTold(told: Told): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(told));
  } catch {
    // Without a storage the usual questions are offered.
  }
}

export function toldBefore(): Told {
  try {
    return { name: "", place: "", ...JSON.parse(sessionStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { name: "", place: "" };
  }
}

/** Three questions that fit what is known: of the place, of an import, else for everybody. */
export function sampleQuestions({ name, place }: Told, hasHistory: boolean): string[] {
  const fitting = [
    ...(place ? [t("What could I do in {place} this weekend?", { place })] : []),
    ...(hasHistory ? [t("What did I talk about most in my old conversations?")] : []),
    ...(name || place ? [t("What do you know about me?")] : []),
    t("Remember that I prefer trains to planes"),
    t("Help me plan my week"),
    t("What can you do for me?"),
  ];
  return fitting.slice(0, 3);
}
