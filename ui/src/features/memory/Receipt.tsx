// What one time of tidying up did: which memories became one, what does not agree, what was written and left out.
import { Check, Undo2 } from "lucide-react";
import { useState } from "react";
import { memoryApi, type ReflectionReceipt } from "../../api/memory";
import type { Memory } from "../../api/types";
import { locale, t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import styles from "./memory.module.css";

type ReceiptProps = { receipt: ReflectionReceipt; onDone: () => Promise<void> };

export function Receipt({ receipt, onDone }: ReceiptProps) {
  const { toasts, memoryNews } = useApp();
  const [isBusy, setBusy] = useState(false);
  const act = async (work: () => Promise<unknown>, words: string) => {
    setBusy(true);
    try {
      await work();
      toasts.show(words);
      await memoryNews.tell();
      await onDone();
    } catch (error) {
      toasts.fault(error);
    } finally {
      setBusy(false);
    }
  };
  const { id, at, status, merges, contradictions, insights, memories } = receipt;
  const time = new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });
  return (
    <article className={styles.receipt} aria-labelledby={`receipt-${id}`}>
      <header>
        <h3 id={`receipt-${id}`}>
          <time dateTime={at}>{time}</time>
        </h3>
        <span className={styles.meta}>{statusWords(receipt)}</span>
      </header>
      <p>{summary(receipt)}</p>
      {merges.length > 0 && (
        <Part name={status === "proposed" ? t("Would become one") : t("Became one")}>
          {merges.map(({ kept, gone }) => (
            <li key={gone}>
              <One id={kept} memories={memories} />
              <small>
                {t("took in:")} <One id={gone} memories={memories} />
              </small>
            </li>
          ))}
        </Part>
      )}
      {contradictions.length > 0 && (
        <Part name={t("Do not agree")}>
          {contradictions.map(([one, other]) => (
            <li key={`${one} ${other}`}>
              <One id={one} memories={memories} />
              <One id={other} memories={memories} />
            </li>
          ))}
        </Part>
      )}
      {insights.length > 0 && (
        <Part name={t("Suggested")}>
          {insights.map((one) => (
            <li key={one}>
              <One id={one} memories={memories} />
            </li>
          ))}
        </Part>
      )}
      {details(receipt).map((line) => (
        <p key={line} className={styles.meta}>
          {line}
        </p>
      ))}
      <div className={styles.actions}>
        {status === "proposed" && (
          <Button
            icon={Check}
            disabled={isBusy}
            onClick={() => void act(() => memoryApi.applyReflection(id), t("Applied"))}
          >
            {t("Apply")}
          </Button>
        )}
        {status !== "undone" && (
          <Button
            icon={Undo2}
            disabled={isBusy}
            onClick={() =>
              void act(() => memoryApi.undoReflection(id), t("All of it is taken back"))
            }
          >
            {status === "proposed" ? t("Discard") : t("Undo all of it")}
          </Button>
        )}
        {contradictions.length > 0 && <Link to="/memory/health">{t("Decide in Health")}</Link>}
        {insights.length > 0 && <Link to="/memory/review">{t("Review")}</Link>}
      </div>
    </article>
  );
}

function Part({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <section aria-label={name}>
      <h4>{name}</h4>
      <ul>{children}</ul>
    </section>
  );
}

/** A memory as it is now; one that was forgotten says nothing any more. */
function One({ id, memories }: { id: string; memories: Record<string, Memory> }) {
  const memory = memories[id];
  if (!memory) return <span className={styles.meta}>{t("forgotten since")}</span>;
  return <Link to={`/memory/${encodeURIComponent(id)}`}>{memory.content}</Link>;
}

function statusWords({ status, asked }: ReflectionReceipt): string {
  if (status === "undone") return t("Undone");
  if (status === "proposed") return t("Waits for you");
  return asked ? t("You asked for it") : t("At night");
}

function summary(receipt: ReflectionReceipt): string {
  const { facts, merges, contradictions, insights, profile, faded } = receipt;
  const parts = [
    merges.length &&
      t("{count, plural, one {# duplicate} other {# duplicates}}", { count: merges.length }),
    contradictions.length &&
      t("{count, plural, one {# contradiction} other {# contradictions}}", {
        count: contradictions.length,
      }),
    insights.length &&
      t("{count, plural, one {# suggestion} other {# suggestions}}", { count: insights.length }),
    profile &&
      t("a profile of {count, plural, one {# sentence} other {# sentences}}", { count: profile }),
    faded &&
      t("{count, plural, one {# memory counts} other {# memories count}} differently in search", {
        count: faded,
      }),
  ].filter((part) => typeof part === "string");
  const looked = t("Looked at {count, plural, one {# memory} other {# memories}}", {
    count: facts,
  });
  return `${looked}: ${parts.length ? parts.join(", ") : t("nothing to do")}.`;
}

/** What was left, and what it cost. */
function details({ note, model, tokens, waiting, refused }: ReflectionReceipt): string[] {
  const dropped = refused.merges + refused.sentences + refused.insights;
  return [
    told(note),
    dropped > 0 &&
      t(
        "{count, plural, one {# proposal} other {# proposals}} of the model left out: your memories do not bear it out.",
        { count: dropped },
      ),
    waiting > 0 &&
      t("{count, plural, one {# pair is} other {# pairs are}} left for the next time.", {
        count: waiting,
      }),
    model && t("{model}, {tokens} tokens", { model, tokens: tokens.toLocaleString(locale()) }),
  ].filter((line) => typeof line === "string" && line !== "") as string[];
}
