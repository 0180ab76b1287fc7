// Single memories as an answer shows them: what was used, what was changed.
import { Undo2 } from "lucide-react";
import { useEffect, useState } from "react";
import { addressOf, changeName, kindName } from "../../answer/parts";
import { api, asProblem } from "../../api/client";
import { IconButton } from "../../kit/Button";
import { Link } from "../../kit/pieces";
import type { Change, RecalledItem } from "../../run/reduce";
import type { Session } from "../../run/session";
import { shortDate, sourceName } from "../../services/words";
import { useUndo } from "./useUndo";

/** A server that is away tells nothing of what it has. */
const isGone = (error: unknown): boolean => asProblem(error).status === 404;

/** What a stored answer does not repeat about a memory is read when somebody looks. */
function useWhole(item: RecalledItem): RecalledItem & { gone?: boolean } {
  const [whole, setWhole] = useState<RecalledItem & { gone?: boolean }>(item);
  useEffect(() => {
    setWhole(item);
    if (item.text || item.kind !== "fact") return;
    let current = true;
    api.memory(item.id).then(
      (memory) => {
        const at = Date.parse(memory.created_at) * 1000;
        if (current) setWhole({ ...item, text: memory.content, at });
      },
      (error) => current && isGone(error) && setWhole({ ...item, gone: true }),
    );
    return () => {
      current = false;
    };
  }, [item]);
  return whole;
}

/** What was changed, read when a stored answer does not say it. */
function useChangedText({ text, ids: [id] }: Change): string {
  const [read, setRead] = useState<string | null>(null);
  useEffect(() => {
    if (text || !id) return;
    let current = true;
    api.memory(id).then(
      (memory) => current && setRead(memory.content),
      (error) => current && isGone(error) && setRead("No longer in memory"),
    );
    return () => {
      current = false;
    };
  }, [text, id]);
  return text ?? read ?? "…";
}

/** Where a memory came from: `conversation:<id>` leads there. */
function Source({ source }: { source: string }) {
  const [kind = "", id] = source.split(/[:#]/, 2);
  const words = sourceName(kind);
  return <> · {kind === "conversation" && id ? <Link to={`/c/${id}`}>{words}</Link> : words}</>;
}

type RecalledProps = { item: RecalledItem; number?: number };

/** One memory that an answer was given; `number` is how the answer names it, 0 where it does not. */
export function RecalledLine({ item, number = 0 }: RecalledProps) {
  const whole = useWhole(item);
  const { text, title, at, kind, score, source, gone, doubt, valid_until: until } = whole;
  const words = text ?? (gone ? "No longer in memory" : kindName(kind));
  const address = gone ? null : addressOf(whole);
  return (
    <li>
      <span>
        {number > 0 && <sup className="cite">{number} </sup>}
        {address ? <Link to={address}>{words}</Link> : words}
      </span>
      <small>
        {[title || kindName(kind), at && shortDate(at / 1000)].filter(Boolean).join(" · ")}
        {source && !title && <Source source={source} />}
        {score > 0 ? ` · ${Math.round(score * 100)} % match` : " · always included"}
        {until && ` · until ${shortDate(until / 1000)}`}
        {doubt && ` · ${doubt}`}
      </small>
    </li>
  );
}

type ChangeProps = { change: Change; undone: ReadonlySet<string>; session: Session };

export function ChangeLine({ change, undone, session }: ChangeProps) {
  const undo = useUndo(session);
  const text = useChangedText(change);
  const token = change.undo;
  const isUndone = Boolean(token && undone.has(token));
  return (
    <li className={isUndone ? "undone" : ""}>
      <span>{text}</span>
      <small>{isUndone ? "Undone" : changeName(change.change)}</small>
      {token && !isUndone && (
        <IconButton
          icon={Undo2}
          size={15}
          label={`Undo: ${text}`}
          onClick={() => void undo(token)}
        />
      )}
    </li>
  );
}
