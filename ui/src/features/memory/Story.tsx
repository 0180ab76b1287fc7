// What a memory was and what it became: nothing is overwritten, so each change can be followed and taken back.
import { diffWords } from "diff";
import { useEffect, useState } from "react";
import { type MemoryEvent, type MemoryHistory, memoryApi } from "../../api/memory";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { fullDate, shortDate } from "../../services/words";
import styles from "./memory.module.css";
import { Part } from "./Part";
import type { MemoryActions } from "./useMemoryActions";
import { changeName, sourceName, stateName, validity } from "./words";

type Known = { of: Memory; story: MemoryHistory };

const addressOf = ({ id }: Memory) => `/memory/${encodeURIComponent(id)}`;

/** While it is being edited nothing is taken back: what is saved then is a step that is not told yet. */
type StoryProps = { memory: Memory; actions: MemoryActions; editing: boolean };

export function Story({ memory, actions, editing }: StoryProps) {
  const { router } = useApp();
  const [known, setKnown] = useState<Known | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    // The memory itself is shown already: without its story the page is still of use.
    memoryApi.story(memory.id, abort.signal).then(
      (story) => setKnown({ of: memory, story }),
      () => undefined,
    );
    return () => abort.abort();
  }, [memory]);
  /** What is true once a step is taken back may be another version: that one is shown. */
  const takeBack = async (token: string) => {
    if (!(await actions.takeBack(token))) return;
    const { items } = await memoryApi.story(memory.id);
    const isTrue = ({ state }: Memory) => state === "active";
    const now = items.findLast(isTrue);
    if (now && !items.some((item) => item.id === memory.id && isTrue(item))) {
      router.goOn(addressOf(memory), addressOf(now), true);
    }
  };
  if (known?.of.id !== memory.id) return null;
  const { items } = known.story;
  // A step that changed two versions is told, and taken back, at the newer one.
  const told = new Set<string>();
  const events = known.story.events.filter(({ undo, change }) => {
    const key = `${change} ${undo}`;
    if (undo && told.has(key)) return false;
    told.add(key);
    return true;
  });
  return (
    <section className={styles.story} aria-label={t("Story")}>
      <Part>{t("Story")}</Part>
      <ol>
        {items.toReversed().map((version, place) => (
          <li key={version.id} aria-current={version.id === memory.id ? "true" : undefined}>
            <Version
              version={version}
              before={items[items.length - 2 - place]}
              here={version.id === memory.id}
              isOnly={items.length === 1}
            />
            <Events
              events={events.filter((event) => event.memory === version.id)}
              onUndo={editing ? null : (token) => void takeBack(token)}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

type VersionProps = {
  version: Memory;
  /** What it took the place of. */
  before: Memory | undefined;
  here: boolean;
  isOnly: boolean;
};

function Version({ version, before, here, isOnly }: VersionProps) {
  if (isOnly) return null;
  const when = validity(version);
  const replaces = before && [...version.supersedes, ...version.corrects].includes(before.id);
  const text = replaces ? <Diff from={before.content} to={version.content} /> : version.content;
  const [source] = version.sources;
  return (
    <>
      <p className={`${styles.said} ${styles[version.state] ?? ""}`}>
        {here ? text : <Link to={addressOf(version)}>{text}</Link>}
      </p>
      <p className={styles.meta}>
        {[stateName(version.state), when, source && sourceName(source.kind)]
          .filter(Boolean)
          .join(" · ")}
      </p>
    </>
  );
}

/** What was taken out and what came in, word by word. */
function Diff({ from, to }: { from: string; to: string }) {
  return diffWords(from, to).map(({ value, added, removed }, place) => {
    const key = `${place} ${value}`;
    if (added) return <ins key={key}>{value}</ins>;
    return removed ? <del key={key}>{value}</del> : <span key={key}>{value}</span>;
  });
}

function Events({
  events,
  onUndo,
}: {
  events: readonly MemoryEvent[];
  onUndo: ((token: string) => void) | null;
}) {
  return (
    <ul className={styles.events}>
      {events.map(({ at, change, undo }, place) => (
        <li key={`${at} ${change} ${undo}`}>
          <span>{changeName(change)}</span>
          <time dateTime={at} title={fullDate(Date.parse(at))}>
            {shortDate(Date.parse(at))}
          </time>
          {onUndo && undo && place === 0 && (
            <Button look="quiet" onClick={() => onUndo(undo)}>
              {t("Undo")}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
