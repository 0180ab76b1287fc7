import { useEffect, useRef } from "react";
import { t } from "../../i18n";
import styles from "./CompletionList.module.css";
import type { Mark } from "./completion";
import type { Completion } from "./useCompletion";
import type { Option } from "./useOptions";

type ListProps = {
  id: string;
  mark: Mark;
  options: readonly Option[];
  at: number;
  onChoose: (option: Option) => void;
};

const labels = (): Record<Mark, string> => ({
  "/": t("Commands and prompts"),
  "@": t("Files and documents"),
  "#": t("Pages and collections"),
});

/** The list for what is being named, if anything is. */
export function Completions({ id, completion }: { id: string; completion: Completion }) {
  const { naming, options, current, isEmpty, take } = completion;
  if (!naming) return null;
  if (isEmpty) return <NothingToName mark={naming.mark} />;
  if (!options.length) return null;
  const { mark } = naming;
  return <CompletionList id={id} mark={mark} options={options} at={current} onChoose={take} />;
}

/** What stands there while there is nothing to choose. */
function NothingToName({ mark }: { mark: Mark }) {
  return (
    <p className={`${styles.list} ${styles.none}`} role="status">
      {mark === "@"
        ? t("There are no files or documents yet. Attach a file, or add one in Documents.")
        : t(
            "There are no pages or collections yet. Write one in the vault, or make one in Documents.",
          )}
    </p>
  );
}

/** What a name that is being typed may become; the field below keeps the focus. */
function CompletionList({ id, mark, options, at, onChoose }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector(`[id="${id}-${at}"]`)?.scrollIntoView({ block: "nearest" });
  }, [id, at]);
  return (
    <div
      ref={list}
      id={id}
      role="listbox"
      aria-label={labels()[mark]}
      className={`${styles.list} scroll`}
    >
      {options.map((option, i) => {
        const { icon: Icon, name, takes, about, group } = option;
        const isFirst = group !== options[i - 1]?.group;
        return (
          <div key={option.key} role="presentation">
            {isFirst && (
              <div role="presentation" className={styles.group}>
                {group}
              </div>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field below has the focus and takes the keys */}
            <div
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === at}
              className={styles.option}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => onChoose(option)}
            >
              <Icon size={16} strokeWidth={1.75} aria-hidden />
              <span className={styles.name}>{name}</span>
              {takes && <em>{takes}</em>}
              {about && <small className="clip">{about}</small>}
            </div>
          </div>
        );
      })}
    </div>
  );
}
