import { type ComponentType, lazy, Suspense } from "react";
import css from "./Formula.module.css";

type FormulaProps = { tex: string; isDisplay: boolean };

/** TeX as it was written. */
function Source({ tex, isDisplay }: FormulaProps) {
  return <code className={isDisplay ? css.display : undefined}>{tex}</code>;
}

// KaTeX comes with the first formula; if it does not arrive, formulas are read as they were written.
const Drawn = lazy<ComponentType<FormulaProps>>(() =>
  import("./DrawnFormula").catch(() => ({ default: Source })),
);

/** A formula, drawn once it is wanted. */
export function Formula(props: FormulaProps) {
  if (typeof document === "undefined") return <Source {...props} />;
  return (
    <Suspense fallback={<Source {...props} />}>
      <Drawn {...props} />
    </Suspense>
  );
}
