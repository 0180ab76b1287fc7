import { FileText, Library, X } from "lucide-react";
import { IconButton } from "../../kit/Button";
import type { NamedSource } from "../../run/named";
import { type Store, useStore } from "../../services/store";

/** What of the library the next message is about. */
export function NamedChips({ named }: { named: Store<readonly NamedSource[]> }) {
  const list = useStore(named);
  if (!list.length) return null;
  return (
    <ul className="uploads" aria-label="About these documents">
      {list.map(({ kind, id, name }) => {
        const Icon = kind === "document" ? FileText : Library;
        return (
          <li key={id} className="upload">
            <Icon size={16} strokeWidth={1.75} aria-hidden />
            <span className="words">
              <span className="clip">{name}</span>
              <small>{kind === "document" ? "From your documents" : "Collection"}</small>
            </span>
            <IconButton
              icon={X}
              size={14}
              label={`Remove: ${name}`}
              onClick={() => named.set(list.filter((each) => each.id !== id))}
            />
          </li>
        );
      })}
    </ul>
  );
}
