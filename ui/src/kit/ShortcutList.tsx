// All shortcuts by group; each can be changed, and one switch turns all of them off.
import { RotateCcw } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../i18n";
import {
  type Binding,
  bindings,
  groupName,
  inTheWay,
  isTaken,
  type KeyId,
  printed,
} from "../keys/bindings";
import { pressed } from "../keys/keys";
import { SEQUENCE_MS } from "../keys/match";
import { useApp } from "../services/context";
import { rooms, useRooms } from "../services/rooms";
import { useStore } from "../services/store";
import { Button, IconButton } from "./Button";
import { Switch } from "./Field";
import { Keys } from "./pieces";
import styles from "./shortcuts.module.css";

const groups = [...new Set(bindings.map((binding) => binding.group))];
/** What the composer does in any case. */
const always = () => [
  { combo: "enter", label: t("Send, or open") },
  { combo: "shift+enter", label: t("New line") },
  { combo: "↑", label: t("Edit the last message, if the composer is empty") },
  { combo: "/", label: t("Commands, at the start of a message") },
];

export function ShortcutList() {
  const { keys } = useApp();
  const { on, own } = useStore(keys.store);
  const here = useRooms();
  const gone = rooms.filter((room) => !here.includes(room)).map(({ key }) => key);
  const [changing, setChanging] = useState<KeyId | null>(null);
  return (
    <>
      <Switch label={t("Use the shortcuts")} checked={on} onChange={keys.turn} />
      <div className={styles.groups}>
        {groups.map((group) => (
          <section key={group} aria-label={groupName(group)}>
            <h3>{groupName(group)}</h3>
            <ul>
              {bindings
                .filter((each) => each.group === group && !gone.includes(each.id))
                .map((binding) => (
                  <Row
                    key={binding.id}
                    id={binding.id}
                    binding={binding}
                    isChanging={changing === binding.id}
                    onChange={() => setChanging(binding.id)}
                    onDone={() => setChanging(null)}
                  />
                ))}
              {group === "chat" &&
                always().map(({ combo, label }) => (
                  <li key={combo}>
                    <span>{label}</span>
                    <Keys combo={combo} />
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
      {Object.keys(own).length > 0 && (
        <div className={styles.foot}>
          <Button icon={RotateCcw} onClick={() => keys.reset()}>
            {t("All as they were")}
          </Button>
        </div>
      )}
    </>
  );
}

type RowProps = {
  id: KeyId;
  binding: Binding;
  isChanging: boolean;
  onChange: () => void;
  onDone: () => void;
};

function Row({ id, binding, isChanging, onChange, onDone }: RowProps) {
  const { keys } = useApp();
  const { own } = useStore(keys.store);
  const { label, also } = binding;
  const combo = own[id] ?? binding.combo;
  if (isChanging) return <Recorder id={id} label={label} onDone={onDone} />;
  return (
    <li>
      <span>{label}</span>
      {own[id] !== undefined && (
        <IconButton
          icon={RotateCcw}
          size={14}
          label={t("As it was: {name}", { name: label })}
          onClick={() => keys.reset(id)}
        />
      )}
      <button type="button" className={styles.keys} data-tip={t("Change")} onClick={onChange}>
        {combo ? <Keys combo={combo} /> : <small>{t("none")}</small>}
        <span className="visually-hidden">
          {t("Change the shortcut of “{name}”", { name: label })}
        </span>
      </button>
      {also && <Keys combo={also} />}
    </li>
  );
}

/** Waits for the new combination: one with a modifier, one key, or two after each other. */
function Recorder({ id, label, onDone }: { id: KeyId; label: string; onDone: () => void }) {
  const { keys } = useApp();
  const [combo, setCombo] = useState("");
  const [why, setWhy] = useState("");
  const { own } = useStore(keys.store);
  const other = combo ? inTheWay(own, id, combo) : null;
  const otherName = bindings.find((each) => each.id === other)?.label ?? "";
  useEffect(() => {
    let first: { combo: string; at: number } | null = null;
    const press = (event: KeyboardEvent) => {
      // The buttons beside it are reached and pressed as ever.
      if (event.key === "Tab" || (event.target as Element).closest("[data-answer]")) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "Escape") return onDone();
      const now = pressed(event);
      if (now === null) return;
      if (isTaken(now)) return setWhy(t("The browser or the page needs this one. Press another."));
      setWhy("");
      const isPlain = !now.includes("+");
      const isSecond = isPlain && first && event.timeStamp - first.at < SEQUENCE_MS;
      setCombo(isSecond && first ? `${first.combo} ${now}` : now);
      first = isPlain && !isSecond ? { combo: now, at: event.timeStamp } : null;
    };
    addEventListener("keydown", press, true);
    return () => removeEventListener("keydown", press, true);
  }, [onDone]);
  const take = (next: string) => {
    keys.bind(id, next);
    onDone();
  };
  return (
    <li className={styles.recorder}>
      <span>{label}</span>
      <output className={styles.keys} aria-live="polite">
        {combo ? <Keys combo={combo} /> : t("Press the keys…")}
        <span className="visually-hidden">{printed(combo, false).join(" ")}</span>
      </output>
      {(why || other) && (
        <p role="alert">
          {why || t("It does “{name}” now, which would have none.", { name: otherName })}
        </p>
      )}
      <div className={styles.answers} data-answer>
        <Button look="quiet" onClick={() => take("")}>
          {t("No shortcut")}
        </Button>
        <Button onClick={onDone}>{t("Cancel")}</Button>
        <Button look="primary" disabled={!combo} onClick={() => take(combo)}>
          {other ? t("Use it here") : t("Save")}
        </Button>
      </div>
    </li>
  );
}
