// Forgetting for good: what would go is shown before, and what went is told after.
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { api, asProblem, type Problem } from "../../api/client";
import type { ForgetPreview, ForgetWanted, Forgotten } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { count } from "../../services/words";

type ForgetProps = {
  /** What to forget; where it is left out, it is asked for in words. */
  given?: ForgetWanted;
  onClose: () => void;
};

export function ForgetDialog({ given, onClose }: ForgetProps) {
  const { memoryNews } = useApp();
  const [wanted, setWanted] = useState<ForgetWanted | null>(given ?? null);
  const [preview, setPreview] = useState<ForgetPreview | null>(null);
  const [receipt, setReceipt] = useState<Forgotten | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const asked = useRef<ForgetWanted>(undefined);
  const look = useCallback(async (what: ForgetWanted) => {
    asked.current = what;
    setWanted(what);
    setPreview(null);
    setProblem(null);
    // What is shown is what was asked for last, whichever answer comes first.
    try {
      const found = await api.forgetPreview(what);
      if (asked.current === what) setPreview(found);
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
    onClose();
    void memoryNews.tell();
  };
  if (receipt) return <ReceiptDialog receipt={receipt} onClose={closeReceipt} />;
  const nothing = preview && !preview.memories.length && !preview.messages.length;
  return (
    <Dialog title="Forget for good" onClose={leave} className="forget">
      <div className="body">
        {!given && <Ask onLook={(query) => void look({ query })} />}
        {problem && (
          <ProblemNotice problem={problem} onRetry={wanted ? () => void look(wanted) : undefined} />
        )}
        {wanted && !preview && !problem && <Skeleton lines={3} label="Looking for what would go" />}
        {nothing && <p>Nothing that is remembered fits.</p>}
        {preview && !nothing && <Preview preview={preview} />}
        <div className="actions">
          <Button autoFocus={Boolean(given)} disabled={busy} onClick={leave}>
            Keep
          </Button>
          <Button
            look="fault"
            disabled={!preview || Boolean(nothing) || busy}
            onClick={() => void forget()}
          >
            Forget
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function Ask({ onLook }: { onLook: (query: string) => void }) {
  const [query, setQuery] = useState("");
  const look = (event: FormEvent) => {
    event.preventDefault();
    if (query.trim()) onLook(query.trim());
  };
  return (
    <form className="ask-forget" onSubmit={look}>
      <label className="field">
        Everything about
        <input
          className="input"
          // biome-ignore lint/a11y/noAutofocus: the dialog was opened to write in it
          autoFocus
          value={query}
          placeholder="my former employer"
          onChange={(event) => setQuery(event.target.value)}
        />
      </label>
      <Button type="submit" disabled={!query.trim()}>
        Show what would go
      </Button>
    </form>
  );
}

function Preview({ preview }: { preview: ForgetPreview }) {
  const { memories, versions, messages } = preview;
  return (
    <div className="would-go">
      <h3>{count(memories.length, "memory", "memories")}</h3>
      <ul>
        {memories.map(({ id, content }) => (
          <li key={id}>{content}</li>
        ))}
      </ul>
      {versions.length > 0 && (
        <>
          <h3>{count(versions.length, "earlier or later version")}</h3>
          <ul>
            {versions.map(({ id, content }) => (
              <li key={id}>{content}</li>
            ))}
          </ul>
        </>
      )}
      {messages.length > 0 && (
        <>
          <h3>What was said in {count(messages.length, "message")}</h3>
          <ul>
            {messages.flatMap(({ message, sentences }) =>
              sentences.map((sentence) => <li key={`${message} ${sentence}`}>“{sentence}”</li>),
            )}
          </ul>
        </>
      )}
      {preview.has_more && <p>More answers this than is shown: ask again afterwards.</p>}
      <p>This cannot be undone. To keep a way back, retract instead.</p>
    </div>
  );
}

/** What went, in ids and counts: it quotes nothing. */
function ReceiptDialog({ receipt, onClose }: { receipt: Forgotten; onClose: () => void }) {
  return (
    <Dialog title="Forgotten" onClose={onClose}>
      <div className="body">
        <p role="status">
          {count(receipt.forgotten, "memory is", "memories are")} gone for good
          {receipt.messages.length > 0 &&
            `, and what said it in ${count(receipt.messages.length, "message")}`}
          .
        </p>
        {receipt.doubted.length > 0 && (
          <p>
            {count(receipt.doubted.length, "memory", "memories")} rested on that and may not hold
            any more; each says so.
          </p>
        )}
        {receipt.outside.map((what) => (
          <p key={what} className="note">
            {what}
          </p>
        ))}
        <div className="actions">
          <Button autoFocus onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
