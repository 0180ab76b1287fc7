import { Component, type ReactNode } from "react";
import { Problem } from "../api/client";
import { t } from "../i18n";
import { ProblemNotice } from "../kit/pieces";

const missing = () =>
  new Problem(
    "missing",
    t("This part of the page cannot be shown"),
    t("It failed to load or stopped with an error. Nothing that was saved is lost."),
    0,
  );

/** What a browser throws where a part of the page could not be fetched; anything else is a fault in it. */
const NOT_FETCHED = /dynamically imported module/;

/** Has a fault logged as ever; that a part did not arrive is told in its place. */
export function told(error: unknown): void {
  if (!(error instanceof Error && NOT_FETCHED.test(error.message))) reportError(error);
}

/** Stands for a part of the page that could not be shown, instead of an empty page. */
export class Missing extends Component<{ children: ReactNode }, { isMissing: boolean }> {
  override state = { isMissing: false };

  static getDerivedStateFromError(): { isMissing: boolean } {
    return { isMissing: true };
  }

  override render(): ReactNode {
    if (!this.state.isMissing) return this.props.children;
    return (
      <div className="page">
        <div className="page-inner">
          <ProblemNotice problem={missing()} onRetry={() => location.reload()} />
        </div>
      </div>
    );
  }
}
