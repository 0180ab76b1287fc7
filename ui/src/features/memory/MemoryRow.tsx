import { Ellipsis, Eraser, Pencil, Pin, PinOff, TriangleAlert, Undo2 } from "lucide-react";
import { useState } from "react";
import type { Memory } from "../../api/types";
import { IconButton } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { Link } from "../../kit/pieces";
import { fullDate, shortDate } from "../../services/words";
import { ForgetDialog } from "./ForgetDialog";
import { MemoryForm } from "./MemoryForm";
import { Source } from "./Source";
import type { MemoryActions } from "./useMemoryActions";
import { categoryName, doubtName, stateName, validity } from "./words";

const STEPS = 5;

function Importance({ value }: { value: number }) {
  const full = Math.round(value * STEPS);
  return (
    <span
      role="img"
      className="importance"
      aria-label={`Importance ${full} of ${STEPS}`}
      title={`Importance ${full} of ${STEPS}`}
    >
      {Array.from({ length: STEPS }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: five dots in a row
        <i key={i} className={i < full ? "on" : ""} />
      ))}
    </span>
  );
}

/** What speaks against a memory, with the way to it. */
function Doubts({ memory }: { memory: Memory }) {
  return memory.doubts.map(({ kind, memory: other }) => (
    <span key={`${kind} ${other}`} className="doubt">
      <TriangleAlert size={12} aria-hidden />
      {other ? <Link to={`/memory/${other}`}>{doubtName(kind)}</Link> : doubtName(kind)}
    </span>
  ));
}

type RowProps = {
  memory: Memory;
  actions: MemoryActions;
  editing: boolean;
  onEdit: (on: boolean) => void;
};

export function MemoryRow({ memory, actions, editing, onEdit }: RowProps) {
  const [asking, setAsking] = useState(false);
  const created = Date.parse(memory.created_at);
  const active = memory.state === "active";
  const when = validity(memory);
  const forget = {
    label: "Forget for good",
    icon: Eraser,
    run: () => setAsking(true),
    fault: true,
  };
  const changes = [
    { label: "Edit", icon: Pencil, run: () => onEdit(true) },
    memory.pinned
      ? { label: "Unpin", icon: PinOff, run: () => void actions.pin(memory) }
      : { label: "Pin", icon: Pin, run: () => void actions.pin(memory) },
    { label: "Retract", icon: Undo2, run: () => void actions.retract(memory.id) },
  ];
  if (editing) {
    const save = (draft: Parameters<MemoryActions["add"]>[0]) => actions.edit(memory.id, draft);
    return <MemoryForm memory={memory} onSave={save} onClose={() => onEdit(false)} />;
  }
  return (
    <article
      data-row={memory.id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: rows are walked with j and k
      tabIndex={0}
      aria-label={memory.content}
      onDoubleClick={() => active && onEdit(true)}
    >
      <div>
        <p className="content">{memory.content}</p>
        <div className="meta">
          {memory.pinned && (
            <span>
              <Pin size={12} aria-hidden /> pinned
            </span>
          )}
          <Doubts memory={memory} />
          {!active && <span>{stateName(memory.state).toLowerCase()}</span>}
          {when && <span>{when}</span>}
          {memory.category && <span>{categoryName(memory.category)}</span>}
          <Importance value={memory.importance} />
          <time dateTime={memory.created_at} title={fullDate(created)}>
            {shortDate(created)}
          </time>
          <Source source={memory.sources[0]} />
          {memory.sources.length > 1 && <span>and {memory.sources.length - 1} more</span>}
        </div>
      </div>
      <div className="row-actions">
        {active && <IconButton icon={Pencil} size={16} label="Edit" onClick={() => onEdit(true)} />}
        <Menu
          icon={Ellipsis}
          label={`More for “${memory.content.slice(0, 60)}”`}
          items={active ? [...changes, forget] : [forget]}
        />
      </div>
      {asking && <ForgetDialog given={{ ids: [memory.id] }} onClose={() => setAsking(false)} />}
    </article>
  );
}
