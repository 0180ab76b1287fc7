// Forgetting for good: what would go is shown before, and what went is told after.
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { api, asProblem, type Problem } from "../../api/client";
import type { ForgetPreview, ForgetWanted, Forgotten } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import styles from "./memory.module.css";

/** What features call their records, as the server counts them. */
function kindName(kind: string): string {
  const known: Record<string, string> = {
    conversations: t("conversations"),
    pages: t("pages"),
    files: t("files"),
    documents: t("documents"),
    people: t("people"),
    tasks: t("tasks"),
    events: t("events"),
    schedules: t("schedules"),
    projects: t("projects"),
    prompts: t("prompts"),
  };
  return known[kind] ?? kind;
}

type ForgetProps = {
  /** What to forget; where it is left out, it is asked for in words. */
  given?: ForgetWanted;
  /** True behind a receipt: something is gone. */
  onClose: (isGone?: boolean) => void;
};

export function ForgetDialog({ given, onClose }: ForgetProps) {
  const { memoryNews } = useApp();
  const [wanted, setWanted] = useState<ForgetWanted | null>(given ?? null);
  const [preview, setPreview] = useState<ForgetPreview | null>(null);
  const [receipt, setReceipt] = useState<Forgotten | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const asked = useRef<ForgetWanted>(undefined);
  const [shown, setShown] = useState<ForgetWanted | null>(null);
  const look = useCallback(async (what: ForgetWanted, ticking = false) => {
    asked.current = what;
    setWanted(what);
    // Who ticks keeps their place: what is shown stays until what is ticked now is known.
    if (!ticking) setPreview(null);
    setProblem(null);
    // What is shown is what was asked for last, whichever answer comes first.
    try {
      const found = await api.forgetPreview(what);
      if (asked.current !== what) return;
      setPreview(found);
      setShown(what);
    } catch (error) {
      if (asked.current === what) setProblem(asProblem(error));
    }
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is given is looked at once
  useEffect(() => {
    if (given) void look(given);
  }, []);
  const forget = async () => {
    if (!wanted || !preview) return;
    setBusy(true);
    try {
      setReceipt(await api.forget(wanted, preview.token));
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  // What is being forgotten is told of: nobody leaves before the receipt.
  const leave = () => busy || onClose();
  // The list is read anew behind the receipt: the row that opened this may be gone then.
  const closeReceipt = () => {
    onClose(true);
    void memoryNews.tell();
  };
  if (receipt) return <ReceiptDialog receipt={receipt} onClose={closeReceipt} />;
  const goes = preview?.kinds.some((kind) => kind.goes && kind.count);
  const nothing = preview && !preview.memories.length && !preview.messages.length && !goes;
  return (
    <Dialog title={t("Forget for good")} onClose={leave} className="forget">
      <div className="body">
        {!given && <Ask onLook={(query) => void look({ query })} />}
        {problem && (
          <ProblemNotice problem={problem} onRetry={wanted ? () => void look(wanted) : undefined} />
        )}
        {wanted && !preview && !problem && (
          <Skeleton lines={3} label={t("Finding what would be forgotten")} />
        )}
        {preview && wanted?.all && (
          <Besides preview={preview} wanted={wanted} onChange={(what) => void look(what, true)} />
        )}
        {nothing && <p>{t("No memories match.")}</p>}
        {preview && !nothing && <Preview preview={preview} byWords={!wanted?.all} />}
        <div className="actions">
          <Button data-first disabled={busy} onClick={leave}>
            {t("Keep")}
          </Button>
          <Button
            look="danger"
            disabled={!preview || shown !== wanted || Boolean(nothing) || busy}
            onClick={() => void forget()}
          >
            {wanted?.all ? t("Forget everything") : t("Forget")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** What else goes with everything: how conversations do, and the kinds that are ticked. */
function Besides({
  preview,
  wanted,
  onChange,
}: {
  preview: ForgetPreview;
  wanted: ForgetWanted;
  onChange: (wanted: ForgetWanted) => void;
}) {
  const conversations = preview.kinds.find(({ kind }) => kind === "conversations");
  const ticked = wanted.kinds ?? [];
  return (
    <fieldset className={styles.wouldGo}>
      <legend>{t("What is forgotten")}</legend>
      <p>
        {t(
          "All memories. Answers no longer use the messages of {count, plural, one {# conversation} other {# conversations}}.",
          { count: conversations?.count ?? 0 },
        )}
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={wanted.conversations === "remove"}
          onChange={({ target }) =>
            onChange({ ...wanted, conversations: target.checked ? "remove" : "keep" })
          }
        />
        {t("Delete these conversations too; otherwise you can still read them")}
      </label>
      {preview.kinds
        .filter(({ kind }) => kind !== "conversations")
        .map(({ kind, count: many, goes, shared, lines }) => (
          <div key={kind}>
            <label className="check">
              <input
                type="checkbox"
                checked={ticked.includes(kind)}
                disabled={!many}
                onChange={({ target }) =>
                  onChange({
                    ...wanted,
                    kinds: target.checked
                      ? [...ticked, kind]
                      : ticked.filter((other) => other !== kind),
                  })
                }
              />
              {t("Also {kind} ({many})", {
                kind: kindName(kind),
                many: many.toLocaleString(locale()),
              })}
            </label>
            {goes && (
              <p className="note">
                {lines.join(", ")}
                {many > lines.length && " …"} {shared}
              </p>
            )}
          </div>
        ))}
    </fieldset>
  );
}

function Ask({ onLook }: { onLook: (query: string) => void }) {
  const [query, setQuery] = useState("");
  const look = (event: FormEvent) => {
    event.preventDefault();
    if (query.trim()) onLook(query.trim());
  };
  return (
    <form className={styles.askForget} onSubmit={look}>
      <label className="field">
        {t("Everything about")}
        <input
          className="input"
          data-first
          value={query}
          placeholder={t("my former employer")}
          onChange={(event) => setQuery(event.target.value)}
        />
      </label>
      <Button type="submit" disabled={!query.trim()}>
        {t("Show what would be forgotten")}
      </Button>
    </form>
  );
}

function Preview({ preview, byWords }: { preview: ForgetPreview; byWords: boolean }) {
  const { memories, versions, messages } = preview;
  return (
    <div className={styles.wouldGo}>
      <h3>{t("{count, plural, one {# memory} other {# memories}}", { count: memories.length })}</h3>
      <ul>
        {memories.map(({ id, content }) => (
          <li key={id}>{content}</li>
        ))}
      </ul>
      {versions.length > 0 && (
        <>
          <h3>
            {t(
              "{count, plural, one {# earlier or later version} other {# earlier or later versions}}",
              {
                count: versions.length,
              },
            )}
          </h3>
          <ul>
            {versions.map(({ id, content }) => (
              <li key={id}>{content}</li>
            ))}
          </ul>
        </>
      )}
      {messages.length > 0 && (
        <>
          <h3>
            {t("In {count, plural, one {# message} other {# messages}}", {
              count: messages.length,
            })}
          </h3>
          <ul>
            {messages.flatMap(({ message, sentences }) =>
              sentences.map((sentence) => <li key={`${message} ${sentence}`}>“{sentence}”</li>),
            )}
          </ul>
        </>
      )}
      {preview.pages.length > 0 && (
        <>
          <h3>
            {t("In {count, plural, one {# page} other {# pages}} of the vault", {
              count: preview.pages.length,
            })}
          </h3>
          <ul>
            {preview.pages.flatMap(({ path, parts }) =>
              parts.map((part) => (
                <li key={`${path} ${part}`}>
                  {path}: “{part}”
                </li>
              )),
            )}
          </ul>
        </>
      )}
      {preview.people.length > 0 && (
        <>
          <h3>
            {t("In {count, plural, one {the record of # person} other {the records of # people}}", {
              count: preview.people.length,
            })}
          </h3>
          <ul>
            {preview.people.flatMap(({ person, name, parts }) =>
              parts.map((part) => (
                <li key={`${person} ${part}`}>
                  {name}: “{part}”
                </li>
              )),
            )}
          </ul>
        </>
      )}
      {byWords &&
        preview.kinds.map(({ kind, count: many, lines }) => (
          <div key={kind}>
            <h3>
              {t("In {kind} ({many})", {
                kind: kindName(kind),
                many: many.toLocaleString(locale()),
              })}
            </h3>
            <ul>
              {lines.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </div>
        ))}
      {preview.has_more && <p>{t("There is more than is shown here. Repeat this afterwards.")}</p>}
      <p>{t("This cannot be undone. To be able to undo it, retract instead.")}</p>
    </div>
  );
}

/** What went, in ids and counts: it quotes nothing. */
function ReceiptDialog({ receipt, onClose }: { receipt: Forgotten; onClose: () => void }) {
  const others = Object.entries(receipt.counts)
    .filter(([kind, many]) => kind !== "facts" && many > 0)
    .map(([kind, many]) => `${kindName(kind)} (${many.toLocaleString(locale())})`);
  return (
    <Dialog title={t("Forgotten")} onClose={onClose}>
      <div className="body">
        <p role="status">
          {t("{count, plural, one {# memory is} other {# memories are}} forgotten for good", {
            count: receipt.forgotten,
          })}
          {receipt.messages.length > 0 &&
            t(
              ", and the sentences about it in {count, plural, one {# message} other {# messages}}",
              { count: receipt.messages.length },
            )}
          .
        </p>
        {others.length > 0 && <p>{t("Also: {what}.", { what: others.join(", ") })}</p>}
        {receipt.doubted.length > 0 && (
          <p>
            {t(
              "{count, plural, one {# memory} other {# memories}} depended on this and may no longer be true. Each is marked.",
              { count: receipt.doubted.length },
            )}
          </p>
        )}
        {receipt.outside.map((what) => (
          <p key={what} className="note">
            {what}
          </p>
        ))}
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Close")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
