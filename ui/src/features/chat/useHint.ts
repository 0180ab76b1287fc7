import { useEffect, useState } from "react";
import { type OfferedModel, offeredModels } from "../../api/models";
import { t } from "../../i18n";
import type { Upload } from "../../run/uploads";
import type { SessionView } from "../../run/view";
import { PICTURES } from "./attached";
import { chosenIn } from "./InstructionsDialog";

/** The model that answers, once it is asked for; null before, and where nobody tells. */
function useAnswering(wanted: boolean, name: string | null): OfferedModel | null {
  const [models, setModels] = useState<readonly OfferedModel[]>([]);
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    offeredModels(abort.signal).then(
      ({ items }) => setModels(items),
      () => undefined,
    );
    return () => abort.abort();
  }, [wanted]);
  return models.find((one) => (name ? one.name === name : one.usual)) ?? null;
}

/** What to know before a message with these files is sent; null where there is nothing. */
export function useHint(
  uploads: readonly Upload[],
  text: string,
  view: SessionView,
): string | null {
  const mine = uploads.filter(({ claimed, problem }) => !claimed && !problem);
  const hasPicture = mine.some(({ mediaType }) => PICTURES.includes(mediaType));
  const model = useAnswering(hasPicture, chosenIn(view).model);
  if (!mine.length) return null;
  if (!text.trim()) {
    return t(
      "{count, plural, one {Describe what to do with it} other {Describe what to do with them}}",
      { count: mine.length },
    );
  }
  if (!mine.every(({ file }) => file)) return t("Sent when the files are uploaded");
  return hasPicture && model?.pictures === false
    ? t("This model is told the names of pictures, but does not see them")
    : null;
}
