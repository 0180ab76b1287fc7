// Everything that is remembered, to be read, searched, corrected, taken back and forgotten.
import { Brain, Plus, Search, SearchX } from "lucide-react";
import { useCallback, useState } from "react";
import { api } from "../../api/client";
import { Button } from "../../kit/Button";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useFocusAfter } from "../../kit/useFocusAfter";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { count } from "../../services/words";
import { HealthReport } from "./HealthReport";
import { Keeping } from "./Keeping";
import { MemoryForm } from "./MemoryForm";
import { MemoryHead } from "./MemoryHead";
import { MemoryList } from "./MemoryList";
import { Review } from "./Review";
import { Timeline } from "./Timeline";
import { type Filter, useMemories } from "./useMemories";
import { useMemoryActions } from "./useMemoryActions";
import { categories, states } from "./words";

type ToolsProps = { filter: Filter; onFilter: (patch: Partial<Filter>) => void };

function MemoryTools({ filter, onFilter }: ToolsProps) {
  return (
    <search className="memory-tools">
      <label className="search">
        <Search size={16} aria-hidden />
        <span className="visually-hidden">Search memory</span>
        <input
          type="search"
          className="input"
          placeholder="Search by words or meaning"
          value={filter.query}
          onChange={(event) => onFilter({ query: event.target.value })}
        />
      </label>
      <select
        className="input"
        aria-label="Category"
        value={filter.category}
        onChange={(event) => onFilter({ category: event.target.value })}
      >
        <option value="">All categories</option>
        {Object.entries(categories).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <select
        className="input"
        aria-label="State"
        value={filter.query.trim() ? "active" : filter.state}
        disabled={Boolean(filter.query.trim())}
        onChange={(event) => onFilter({ state: event.target.value })}
      >
        {states.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </search>
  );
}

/** One memory by its address, as a link from an answer leads to it. */
function OneMemory({ id }: { id: string }) {
  const { memoryNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => api.memory(id, signal), [id]);
  const { value: memory, problem, read } = useRead(ask);
  useNews(memoryNews, () => read());
  const actions = useMemoryActions();
  return (
    <div className="page memory-room">
      <div className="page-inner">
        <MemoryHead />
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      </div>
      {memory && !problem && (
        <MemoryList items={[memory]} actions={actions} onMore={done}>
          <Timeline memory={memory} />
        </MemoryList>
      )}
    </div>
  );
}

const done = () => Promise.resolve();

export default function MemoryRoom({ memory }: { memory: string | null }) {
  switch (memory) {
    case null:
      return <AllMemories />;
    case "review":
      return <Review />;
    case "health":
      return <HealthReport />;
    default:
      return <OneMemory key={memory} id={memory} />;
  }
}

function AllMemories() {
  const [filter, setFilter] = useState<Filter>({ query: "", category: "", state: "active" });
  const [adding, setAdding] = useState(false);
  const opener = useFocusAfter<HTMLButtonElement>(adding);
  const { memories, more, read } = useMemories(filter);
  const actions = useMemoryActions();
  const { items, total, status, problem } = memories;
  const narrowed = Boolean(filter.query || filter.category || filter.state !== "active");
  const add = () => setAdding(true);
  return (
    <div className="page memory-room">
      <div className="page-inner">
        <MemoryHead>
          <Button ref={opener} icon={Plus} onClick={add}>
            Add
          </Button>
          <Keeping />
        </MemoryHead>
        <MemoryTools filter={filter} onFilter={(patch) => setFilter({ ...filter, ...patch })} />
        {adding && <MemoryForm onSave={actions.add} onClose={() => setAdding(false)} />}
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {status === "loading" && <Skeleton lines={7} label="Loading memories" />}
        {status === "ready" && items.length > 0 && (
          <p className="memory-count" role="status">
            {count(total, "memory", "memories")}
            {filter.query && ", best match first"}
          </p>
        )}
      </div>
      {status === "ready" &&
        !items.length &&
        !adding &&
        (narrowed ? <NoneFound /> : <NoneYet onAdd={add} />)}
      {items.length > 0 && <MemoryList items={items} actions={actions} onMore={more} />}
    </div>
  );
}

function NoneFound() {
  return (
    <Empty icon={SearchX} title="No matches">
      <p>Try other words, another category or another state.</p>
    </Empty>
  );
}

function NoneYet({ onAdd }: { onAdd: () => void }) {
  return (
    <Empty icon={Brain} title="No memories yet">
      <p>
        Tell Bethink something about yourself in Chat, write <code>/remember</code> there, or add a
        memory here. On this page you can read, correct, undo and forget every memory.
      </p>
      <Button icon={Plus} onClick={onAdd}>
        Add a memory
      </Button>
    </Empty>
  );
}
