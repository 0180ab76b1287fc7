import { FileText, Library, type LucideIcon, NotebookText, X } from "lucide-react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { NamedSource } from "../../run/named";
import { type Store, useStore } from "../../services/store";
import styles from "./Chips.module.css";

export const icons: Record<NamedSource["kind"], LucideIcon> = {
  document: FileText,
  collection: Library,
  page: NotebookText,
};
const origins = (): Record<NamedSource["kind"], string> => ({
  document: t("From your documents"),
  collection: t("Collection"),
  page: t("From your vault"),
});

/** What of the library and the vault the next message is about. */
export function NamedChips({ named }: { named: Store<readonly NamedSource[]> }) {
  const list = useStore(named);
  if (!list.length) return null;
  return (
    <ul className={styles.chips} aria-label={t("About these")}>
      {list.map(({ kind, id, name }) => {
        const Icon = icons[kind];
        return (
          <li key={`${kind}:${id}`} className={styles.chip}>
            <Icon size={16} strokeWidth={1.75} aria-hidden />
            <span className={styles.words}>
              <span className="clip">{name}</span>
              <small>{origins()[kind]}</small>
            </span>
            <IconButton
              icon={X}
              size={14}
              label={t("Remove: {name}", { name })}
              onClick={() => named.set(list.filter((each) => each.id !== id))}
            />
          </li>
        );
      })}
    </ul>
  );
}
