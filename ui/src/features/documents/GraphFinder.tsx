import { useEffect, useState } from "react";
import { type GraphNode, type GraphShown, graphApi } from "../../api/documents";
import { t } from "../../i18n";
import { FindField } from "../../kit/FindField";
import { useApp } from "../../services/context";
import { type AddressOf, kindOf } from "./graphNet";

const TYPING_PAUSE_MS = 150;
const MOST = 10;

type FinderProps = { shown: GraphShown; collection: string | null; addressOf: AddressOf };

/** Those in view whose name holds the words, then those that answer to them, wherever they are. */
function useFound(words: string, { shown, collection }: FinderProps): readonly GraphNode[] {
  const [found, setFound] = useState<readonly GraphNode[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    setFound([]);
    const timer = setTimeout(() => {
      if (!words) return;
      graphApi.search({ collection, query: words }, abort.signal).then(
        ({ nodes }) => setFound(nodes),
        () => {}, // those in view are there still, and the page tells that the server is not
      );
    }, TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [words, collection]);
  if (!words) return [];
  const named = shown.nodes.filter(({ label }) =>
    label.toLowerCase().includes(words.toLowerCase()),
  );
  return [...new Map([...named, ...found].map((node) => [node.id, node])).values()].slice(0, MOST);
}

/** Finds a node by its name or by what it says, and goes there. */
export function GraphFinder(props: FinderProps) {
  const { router } = useApp();
  const [query, setQuery] = useState("");
  const found = useFound(query.trim(), props);
  return (
    <FindField
      label={t("Find a node")}
      listLabel={t("Nodes")}
      query={query}
      onQuery={setQuery}
      found={found.map(({ id, label, kind }) => ({ id, name: label, says: kindOf(kind).word }))}
      onOpen={(id) => router.go(props.addressOf(id))}
    />
  );
}
