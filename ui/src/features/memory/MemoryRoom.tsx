// Everything that is remembered: a list, and beside it one memory's story, the profile, the graph, or what needs a look.
import { useCallback, useState } from "react";
import { t } from "../../i18n";
import { Panes } from "../../kit/Panes";
import { PHONE } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { remember, remembered } from "../../services/store";
import { HealthReport } from "./HealthReport";
import { AddPage, MemoryDetail } from "./MemoryDetail";
import { MemoryGraph } from "./MemoryGraph";
import { MemoryPane } from "./MemoryPane";
import { OwnNumbers } from "./OwnNumbers";
import { People } from "./People";
import { Profile } from "./Profile";
import { Review } from "./Review";
import { Tidying } from "./Tidying";
import { everything, type Filter } from "./useMemories";

const KEY = "bethink.memory.order";

/** Has the row of a memory take the focus, or the list if it is not there. */
export function focusRow(id: string): void {
  requestAnimationFrame(() => {
    const row = document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
    (row ?? document.querySelector<HTMLElement>("[data-rows]"))?.focus({ preventScroll: true });
  });
}

export default function MemoryRoom({ memory }: { memory: string | null }) {
  const { router } = useApp();
  const [filter, setFilter] = useState<Filter>(() => ({
    ...everything,
    order: remembered<Pick<Filter, "order">>(KEY, { order: "newest" }).order,
  }));
  const change = (patch: Partial<Filter>) => {
    if (patch.order) remember(KEY, { order: patch.order });
    setFilter((now) => ({ ...now, ...patch }));
  };
  const [adding, setAdding] = useState(false);
  const [editing, setEditing] = useState<string | null>(null);
  const [shown, setShown] = useState(memory);
  // What is opened takes the place of what was to be added.
  if (shown !== memory) {
    setShown(memory);
    setAdding(false);
  }
  const open = useCallback(
    (id: string) => {
      setAdding(false);
      router.go(`/memory/${encodeURIComponent(id)}`);
    },
    [router],
  );
  const edit = (id: string) => {
    open(id);
    setEditing(id);
  };
  const leave = () => {
    setAdding(false);
    router.go("/memory");
  };
  return (
    <Panes
      name="memory"
      listLabel={t("Memories")}
      isOpen={memory !== null || adding}
      onBack={leave}
      list={
        <MemoryPane
          here={memory}
          filter={filter}
          onFilter={change}
          adding={adding}
          onAdd={() => setAdding(true)}
          onOpen={open}
          onEdit={edit}
        />
      }
    >
      {adding ? (
        <AddPage onClose={() => setAdding(false)} />
      ) : (
        <View
          memory={memory}
          asOf={filter.asOf}
          editing={editing !== null && editing === memory}
          onEdit={(id) => {
            setEditing(id);
            // A correction has another address than what it corrects.
            const [, , open] = router.path.get().split("/");
            if (id === null && open) focusRow(decodeURIComponent(open));
          }}
          onSearch={(query) => {
            change({ ...everything, query });
            // On a phone the list takes turns with the graph.
            if (matchMedia(PHONE).matches) leave();
          }}
        />
      )}
    </Panes>
  );
}

type ViewProps = {
  memory: string | null;
  asOf: string;
  editing: boolean;
  onEdit: (id: string | null) => void;
  onSearch: (query: string) => void;
};

function View({ memory, asOf, editing, onEdit, onSearch }: ViewProps) {
  switch (memory) {
    case null:
    case "profile":
      return <Profile asOf={asOf} />;
    case "review":
      return <Review />;
    case "health":
      return <HealthReport />;
    case "people":
      return <People />;
    case "numbers":
      return <OwnNumbers />;
    case "tidying":
      return <Tidying />;
    case "graph":
      return <MemoryGraph onSearch={onSearch} />;
    default:
      return <MemoryDetail key={memory} id={memory} editing={editing} onEdit={onEdit} />;
  }
}
