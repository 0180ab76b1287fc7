import { useEffect, useState } from "react";
import { LazyMarkdown } from "../../answer/LazyMarkdown";
import { api, asProblem, type Problem } from "../../api/client";
import type { Summary } from "../../api/types";
import { t } from "../../i18n";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { fullDate } from "../../services/words";

type SummaryProps = { conversation: string; onClose: () => void };

/** What the model is told of the earlier part of a long conversation, to be read. */
export function SummaryDialog({ conversation, onClose }: SummaryProps) {
  const [summary, setSummary] = useState<Summary | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    api
      .summary(conversation, abort.signal)
      .then(setSummary)
      .catch((error) => !abort.signal.aborted && setProblem(asProblem(error)));
    return () => abort.abort();
  }, [conversation]);
  return (
    <Dialog title={t("Summary of earlier messages")} className="summary-dialog" onClose={onClose}>
      <div className="body">
        {problem && <ProblemNotice problem={problem} />}
        {!problem && !summary && <Skeleton lines={4} label={t("Loading the summary")} />}
        {summary && (
          <>
            <p className="hint">
              {t(
                "{count, plural, one {The model reads this instead of the first message, which is kept.} other {The model reads this instead of the first # messages, which are all kept.}} Written {at}.",
                { count: summary.covered_messages, at: fullDate(Date.parse(summary.at)) },
              )}
            </p>
            <LazyMarkdown text={summary.text} />
          </>
        )}
      </div>
    </Dialog>
  );
}
