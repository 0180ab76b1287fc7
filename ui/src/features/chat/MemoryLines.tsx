// Single memories as an answer shows them: what was used, what was changed.
import { Undo2 } from "lucide-react";
import { useEffect, useState } from "react";
import markdown from "../../answer/markdown.module.css";
import { addressOf, changeName, kindName } from "../../answer/parts";
import { plainText } from "../../answer/plainText";
import { api, asProblem } from "../../api/client";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Link } from "../../kit/pieces";
import type { Change, RecalledItem } from "../../run/reduce";
import type { Session } from "../../run/session";
import { routeOf } from "../../services/router";
import { shortDate, sourceName } from "../../services/words";
import styles from "./MemoryLines.module.css";
import { useUndo } from "./useUndo";
import { WrongMemory } from "./WrongMemory";

/** A server that is away tells nothing of what it has. */
const isGone = (error: unknown): boolean => asProblem(error).status === 404;

type Whole = RecalledItem & { gone?: boolean };

/** A memory as it is now. */
async function wholeFact(item: RecalledItem): Promise<Whole> {
  const memory = await api.memory(item.id);
  return { ...item, text: memory.content, at: Date.parse(memory.created_at) * 1000 };
}

/** A passage as it was read, in the version that was cited. */
async function wholePassage(item: RecalledItem): Promise<Whole> {
  const address = addressOf(item);
  const route = address ? routeOf(address) : null;
  if (route?.room !== "documents" || route.view !== "document") return item;
  const { document, content, page, at } = route;
  const { documentsApi } = await import("../../api/documents");
  const first = page ?? 1;
  const [{ name }, { count, items }] = await Promise.all([
    documentsApi.get(document),
    documentsApi.pages(document, { content, first, last: first }),
  ]);
  const text = Array.from(items[0]?.text ?? "")
    .slice(...(at ?? []))
    .join("");
  return { ...item, text, title: count > 1 ? `${name}, page ${first}` : name };
}

/** What a stored answer does not repeat about a memory is read when somebody looks. */
function useWhole(item: RecalledItem): Whole {
  const [whole, setWhole] = useState<Whole>(item);
  useEffect(() => {
    setWhole(item);
    const read = { fact: wholeFact, passage: wholePassage }[item.kind];
    if (item.text || !read) return;
    let current = true;
    read(item).then(
      (found) => current && setWhole(found),
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
      (error) => current && isGone(error) && setRead(t("No longer in memory")),
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
  const [mended, setMended] = useState<{ text: string | null } | null>(null);
  const {
    text,
    title,
    at,
    kind,
    score,
    source,
    gone,
    doubt,
    near,
    pasted,
    valid_until: until,
  } = whole;
  const words =
    (text && plainText(text)) ??
    (gone
      ? kind === "passage"
        ? t("No longer in the library")
        : t("No longer in memory")
      : kindName(kind));
  const address = gone ? null : addressOf(whole);
  const isGone = mended?.text === null;
  return (
    <li className={isGone ? styles.undone : ""}>
      <span className={styles.said}>
        {number > 0 && <sup className={markdown.cite}>{number} </sup>}
        {address ? <Link to={address}>{mended?.text ?? words}</Link> : (mended?.text ?? words)}
      </span>
      <small>
        {[title || kindName(kind), at && shortDate(at / 1000)].filter(Boolean).join(" · ")}
        {source && !title && <Source source={source} />}
        {score > 0 && ` · ${t("{percent} % match", { percent: Math.round(score * 100) })}`}
        {score === 0 && kind === "fact" && ` · ${t("always included")}`}
        {until && ` · ${t("until {date}", { date: shortDate(until / 1000) })}`}
        {doubt && ` · ${doubt}`}
        {near && ` · ${t("near, may not answer")}`}
        {pasted && ` · ${t("with a text that you pasted: not your own words")}`}
        {isGone && ` · ${t("no longer used")}`}
      </small>
      {kind === "fact" && text && !gone && !isGone && (
        <WrongMemory
          key={mended?.text ?? text}
          id={item.id}
          text={mended?.text ?? text}
          onChanged={(now) => setMended({ text: now })}
        />
      )}
    </li>
  );
}

type ChangeProps = { change: Change; undone: ReadonlySet<string>; session: Session };

export function ChangeLine({ change, undone, session }: ChangeProps) {
  const undo = useUndo(session);
  const text = useChangedText(change);
  const token = change.undo;
  const isUndone = Boolean(token && undone.has(token));
  const [made, by = ""] = token?.split(":") ?? [];
  const isReplaced = made === "superseded" && !change.ids.includes(by);
  const became = isReplaced ? t("Replaced") : changeName(change.change);
  return (
    <li className={isUndone ? styles.undone : ""}>
      <span>{text}</span>
      <small>{isUndone ? t("Undone") : became}</small>
      {token && !isUndone && !isReplaced && (
        <IconButton
          icon={Undo2}
          size={15}
          label={t("Undo: {text}", { text })}
          onClick={() => void undo(token)}
        />
      )}
    </li>
  );
}
