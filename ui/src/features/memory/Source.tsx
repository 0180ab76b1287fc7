import type { MemorySource } from "../../api/types";
import { Link } from "../../kit/pieces";
import { sourceName } from "../../services/words";

/** Where a memory came from, with the way to the conversation it was said in. */
export function Source({ source }: { source: MemorySource | undefined }) {
  if (!source) return null;
  const name = sourceName(source.kind);
  const talk = source.kind === "conversation" && source.id;
  return <span>{talk ? <Link to={`/c/${source.id}`}>{name}</Link> : name}</span>;
}
