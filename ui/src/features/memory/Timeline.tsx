// What a memory was and what it became: nothing is overwritten, so a correction can be followed back.
import { useEffect, useState } from "react";
import { api } from "../../api/client";
import type { Memory } from "../../api/types";
import { Link } from "../../kit/pieces";
import { fullDate, shortDate } from "../../services/words";
import { Source } from "./Source";
import { stateName, validity } from "./words";

type Known = { of: string; items: readonly Memory[] };

/** The versions of a memory, oldest first; nothing where there is only one. `turn` changes when it changed. */
export function Timeline({ memory }: { memory: Memory }) {
  const [known, setKnown] = useState<Known | null>(null);
  useEffect(() => {
    let asked = true;
    // The memory itself is shown already: without its history the page is still of use.
    api.memoryHistory(memory.id).then(
      ({ items }) => asked && setKnown({ of: memory.id, items }),
      () => undefined,
    );
    return () => {
      asked = false;
    };
  }, [memory]);
  if (known?.of !== memory.id || known.items.length < 2) return null;
  return (
    <section className="timeline">
      <h2>History</h2>
      <ol>
        {known.items.map((version) => (
          <li key={version.id} aria-current={version.id === memory.id ? "true" : undefined}>
            <Version version={version} here={version.id === memory.id} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Version({ version, here }: { version: Memory; here: boolean }) {
  const at = Date.parse(version.created_at);
  const when = validity(version);
  return (
    <>
      <time dateTime={version.created_at} title={fullDate(at)}>
        {shortDate(at)}
      </time>
      <p className={`content ${version.state}`}>
        {here ? version.content : <Link to={`/memory/${version.id}`}>{version.content}</Link>}
      </p>
      <p className="meta">
        <span>{stateName(version.state)}</span>
        {when && <span>{when}</span>}
        <Source source={version.sources[0]} />
      </p>
    </>
  );
}
