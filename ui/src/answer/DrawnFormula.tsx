// KaTeX builds the elements itself, and its styles go through the DOM: nothing of a formula is ever read as HTML.
import katex from "katex";
import "katex/dist/katex.css";
import "katex/contrib/copy-tex";
import { memo, useLayoutEffect, useRef, useState } from "react";
import { t } from "../i18n";
import css from "./Formula.module.css";

type FormulaProps = { tex: string; isDisplay: boolean };

/** Bounds of what a formula may ask for: ems, and macros that are expanded. */
const MOST_EMS = 40;
const MOST_MACROS = 500;

export default memo(function DrawnFormula({ tex, isDisplay }: FormulaProps) {
  const place = useRef<HTMLSpanElement>(null);
  const [fault, setFault] = useState<string | null>(null);
  useLayoutEffect(() => {
    if (!place.current) return;
    try {
      katex.render(tex, place.current, {
        displayMode: isDisplay,
        maxSize: MOST_EMS,
        maxExpand: MOST_MACROS,
        strict: "ignore",
        trust: false,
      });
      setFault(null);
    } catch (error) {
      place.current.replaceChildren();
      setFault(error instanceof Error ? error.message : String(error));
    }
  }, [tex, isDisplay]);
  return (
    <>
      <span ref={place} hidden={fault !== null} className={isDisplay ? css.display : css.inline} />
      {fault !== null && (
        <code className={css.fault} title={t("This formula has a mistake: {fault}", { fault })}>
          {tex}
        </code>
      )}
    </>
  );
});
