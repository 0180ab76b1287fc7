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
    onClose();
    void memoryNews.tell();
  };
  if (receipt) return <ReceiptDialog receipt={receipt} onClose={closeReceipt} />;
  const goes = preview?.kinds.some((kind) => kind.goes && kind.count);
  const nothing = preview && !preview.memories.length && !preview.messages.length && !goes;
  return (
    <Dialog title="Forget for good" onClose={leave} className="forget">
      <div className="body">
        {!given && <Ask onLook={(query) => void look({ query })} />}
        {problem && (
          <ProblemNotice problem={problem} onRetry={wanted ? () => void look(wanted) : undefined} />
        )}
        {wanted && !preview && !problem && (
          <Skeleton lines={3} label="Finding what would be forgotten" />
        )}
        {preview && wanted?.all && (
          <Besides preview={preview} wanted={wanted} onChange={(what) => void look(what, true)} />
        )}
        {nothing && <p>No memories match.</p>}
        {preview && !nothing && <Preview preview={preview} byWords={!wanted?.all} />}
        <div className="actions">
          <Button data-first disabled={busy} onClick={leave}>
            Keep
          </Button>
          <Button
            look="fault"
            disabled={!preview || shown !== wanted || Boolean(nothing) || busy}
            onClick={() => void forget()}
          >
            {wanted?.all ? "Forget everything" : "Forget"}
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
    <fieldset className="would-go">
      <legend>What is forgotten</legend>
      <p>
        {" "}
        All memories. Answers no longer use the messages of{" "}
        {count(conversations?.count ?? 0, "conversation")}.{" "}
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={wanted.conversations === "remove"}
          onChange={({ target }) =>
            onChange({ ...wanted, conversations: target.checked ? "remove" : "keep" })
          }
        />
        Delete these conversations too; otherwise you can still read them
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
              Also {kind} ({many})
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
    <form className="ask-forget" onSubmit={look}>
      <label className="field">
        Everything about
        <input
          className="input"
          data-first
          value={query}
          placeholder="my former employer"
          onChange={(event) => setQuery(event.target.value)}
        />
      </label>
      <Button type="submit" disabled={!query.trim()}>
        Show what would be forgotten
      </Button>
    </form>
  );
}

function Preview({ preview, byWords }: { preview: ForgetPreview; byWords: boolean }) {
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
          <h3>In {count(messages.length, "message")}</h3>
          <ul>
            {messages.flatMap(({ message, sentences }) =>
              sentences.map((sentence) => <li key={`${message} ${sentence}`}>“{sentence}”</li>),
            )}
          </ul>
        </>
      )}
      {preview.pages.length > 0 && (
        <>
          <h3>In {count(preview.pages.length, "page")} of the vault</h3>
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
            In the {preview.people.length === 1 ? "record" : "records"} of{" "}
            {count(preview.people.length, "person", "people")}
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
              In {kind} ({many.toLocaleString()})
            </h3>
            <ul>
              {lines.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </div>
        ))}
      {preview.has_more && <p>There is more than is shown here. Repeat this afterwards.</p>}
      <p>This cannot be undone. To be able to undo it, retract instead.</p>
    </div>
  );
}

/** What went, in ids and counts: it quotes nothing. */
function ReceiptDialog({ receipt, onClose }: { receipt: Forgotten; onClose: () => void }) {
  const others = Object.entries(receipt.counts)
    .filter(([kind, many]) => kind !== "facts" && many > 0)
    .map(([kind, many]) => `${kind} (${many.toLocaleString()})`);
  return (
    <Dialog title="Forgotten" onClose={onClose}>
      <div className="body">
        <p role="status">
          {count(receipt.forgotten, "memory is", "memories are")} forgotten for good
          {receipt.messages.length > 0 &&
            `, and the sentences about it in ${count(receipt.messages.length, "message")}`}
          .
        </p>
        {others.length > 0 && <p>Also: {others.join(", ")}.</p>}
        {receipt.doubted.length > 0 && (
          <p>
            {count(receipt.doubted.length, "memory", "memories")} depended on this and may no longer
            be true. Each is marked.
          </p>
        )}
        {receipt.outside.map((what) => (
          <p key={what} className="note">
            {what}
          </p>
        ))}
        <div className="actions">
          <Button data-first onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
