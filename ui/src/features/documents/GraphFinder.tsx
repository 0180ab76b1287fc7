import { Search } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { type GraphNode, type GraphShown, graphApi } from "../../api/documents";
import { t } from "../../i18n";
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

/** Finds a node by its name or by what it says; arrows choose, Enter goes there. */
export function GraphFinder(props: FinderProps) {
  const { router } = useApp();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const found = useFound(query.trim(), props);
  const go = (node: GraphNode | undefined) => {
    if (!node) return;
    setQuery("");
    router.go(props.addressOf(node.id));
  };
  return (
    <search className="search graph-finder">
      <Search size={16} aria-hidden />
      <input
        className="input"
        type="text"
        role="combobox"
        aria-label={t("Find a node")}
        aria-expanded={found.length > 0}
        aria-controls={list}
        aria-activedescendant={found[at] && `${list}-${at}`}
        placeholder={t("Find a node")}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onBlur={() => setQuery("")}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(found[at]);
          else if (event.key === "Escape" && query) setQuery("");
          else if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else return;
          event.preventDefault();
        }}
      />
      {found.length > 0 && (
        <div id={list} role="listbox" aria-label={t("Nodes")} className="graph-found">
          {found.map((node, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the same
            <div
              key={node.id}
              id={`${list}-${i}`}
              role="option"
              aria-selected={i === at}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => go(node)}
            >
              {node.label} <small>{kindOf(node.kind).word}</small>
            </div>
          ))}
        </div>
      )}
    </search>
  );
}
