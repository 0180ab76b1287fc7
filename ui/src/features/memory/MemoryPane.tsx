// The list pane: where one can go, what is searched and shown, and the memories themselves.
import { Brain, Plus, SearchX } from "lucide-react";

import { api } from "../../api/client";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { ListTools } from "../../kit/ListTools";
import { usePanes } from "../../kit/Panes";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { TabLinks } from "../../kit/Tabs";
import { useFocusAfter } from "../../kit/useFocusAfter";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { DataMenu } from "./DataMenu";
import { MemoryFilters, narrowedBy } from "./MemoryFilters";
import { MemoryList } from "./MemoryList";
import styles from "./memory.module.css";
import { TimeSlider } from "./TimeSlider";
import { type Filter, type Memories, useMemories } from "./useMemories";
import { useMemoryActions } from "./useMemoryActions";

type PaneProps = {
  /** What is open beside it: a memory's id or the name of a view. */
  here: string | null;
  filter: Filter;
  onFilter: (patch: Partial<Filter>) => void;
  adding: boolean;
  onAdd: () => void;
  onOpen: (id: string) => void;
  onEdit: (id: string) => void;
};

const askNumbers = (signal: AbortSignal) => api.memoryNumbers(signal);

export function MemoryPane({ here, filter, onFilter, adding, onAdd, onOpen, onEdit }: PaneProps) {
  const { memoryNews } = useApp();
  const opener = useFocusAfter<HTMLButtonElement>(adding);
  const { memories, more, read } = useMemories(filter);
  const numbers = useRead(askNumbers);
  useNews(memoryNews, numbers.look);
  const actions = useMemoryActions();
  const { items, status, problem } = memories;
  const narrowed = narrowedBy(filter) > 0 || Boolean(filter.query.trim() || filter.asOf);
  return (
    <div className={styles.pane}>
      <header className={styles.head}>
        <h1>{t("Memory")}</h1>
        <IconButton ref={opener} icon={Plus} label={t("Add")} onClick={onAdd} />
        <DataMenu />
      </header>
      <div className={styles.views}>
        <Views here={here} waiting={numbers.value?.states.suggested ?? 0} />
      </div>
      <div className={styles.tools}>
        <ListTools
          label={t("Search memory")}
          placeholder={t("Search")}
          query={filter.query}
          onQuery={(query) => onFilter({ query })}
          narrowed={narrowedBy(filter)}
          filters={() => (
            <MemoryFilters filter={filter} onFilter={onFilter} numbers={numbers.value} />
          )}
        />
      </div>
      <TimeSlider
        asOf={filter.asOf}
        numbers={numbers.value}
        onChange={(asOf) => onFilter({ asOf })}
      />
      {problem && (
        <div className={styles.notice}>
          <ProblemNotice problem={problem} onRetry={() => void read()} />
        </div>
      )}
      {status === "loading" && (
        <div className={styles.notice}>
          <Skeleton lines={7} label={t("Loading memories")} />
        </div>
      )}
      {status === "ready" && <Count memories={memories} />}
      {status === "ready" &&
        !items.length &&
        (narrowed ? <NoneFound /> : <NoneYet onAdd={onAdd} />)}
      {items.length > 0 && (
        <MemoryList
          memories={memories}
          filter={filter}
          here={here}
          actions={actions}
          onMore={more}
          onOpen={onOpen}
          onEdit={onEdit}
        />
      )}
    </div>
  );
}

/** Views that stand within another one's. */
const WITHIN: Record<string, string> = { tidying: "health", numbers: "health", people: "profile" };

/** The other looks at memory. */
function Views({ here, waiting }: { here: string | null; waiting: number }) {
  // Where nothing is open the profile stands beside the list.
  const usual = usePanes()?.phone ? null : "profile";
  const shown = (here && WITHIN[here]) ?? here ?? usual;
  return (
    <TabLinks
      label={t("Views of memory")}
      current={`/memory/${shown}`}
      tabs={[
        { to: "/memory/profile", label: t("Profile") },
        { to: "/memory/graph", label: t("Graph") },
        { to: "/memory/review", label: t("Review"), count: waiting },
        { to: "/memory/health", label: t("Health") },
      ]}
    />
  );
}

/** How many are shown, or how many answer. */
function Count({ memories }: { memories: Memories }) {
  const { items, total, answering } = memories;
  if (!items.length) return null;
  const words =
    answering === null
      ? t("{count, plural, one {# memory} other {# memories}}", { count: total })
      : answering
        ? t("{count, plural, one {# memory answers} other {# memories answer}}, best first", {
            count: answering,
          })
        : t("Nothing answers that. The nearest are:");
  return (
    <p className={styles.count} role="status">
      {words}
    </p>
  );
}

function NoneFound() {
  return (
    <Empty icon={SearchX} title={t("No matches")}>
      <p>{t("Try other words, fewer filters or another time.")}</p>
    </Empty>
  );
}

function NoneYet({ onAdd }: { onAdd: () => void }) {
  return (
    <Empty icon={Brain} title={t("No memories yet")}>
      <p>
        {t(
          "Tell Bethink something about yourself in Chat, or add a memory here. You can read, correct, undo and forget each of them.",
        )}
      </p>
      <Button icon={Plus} onClick={onAdd}>
        {t("Add a memory")}
      </Button>
    </Empty>
  );
}
