import { Clock3, Send, Trash2 } from "lucide-react";
import { t } from "../i18n";
import { IconButton } from "../kit/Button";
import { Popover } from "../kit/Popover";
import { useApp } from "../services/context";
import { isOld } from "../services/outbox";
import { useStore } from "../services/store";
import { shortDate } from "../services/words";
import styles from "./outgoing.module.css";

/** Says that something waits to be sent, what it is, and why; each can be sent or taken back. */
export function Outgoing() {
  const { outbox } = useApp();
  const waiting = useStore(outbox.store);
  if (!waiting.length) return null;
  const count = waiting.length;
  return (
    <div className={styles.row} role="status">
      <Popover
        label={t("Waiting to be sent")}
        face={
          <>
            <Clock3 size={14} aria-hidden />
            {t("{count, plural, one {# thing waits} other {# things wait}} to be sent", { count })}
          </>
        }
      >
        {() => <List />}
      </Popover>
    </div>
  );
}

function List() {
  const { outbox } = useApp();
  const waiting = useStore(outbox.store);
  const why = (each: (typeof waiting)[number]) =>
    each.problem ??
    (isOld(each, Date.now())
      ? t("Written {when}. Days in words are taken from today if you send it.", {
          when: shortDate(each.at),
        })
      : t("Sent when Bethink is back"));
  return (
    <ul className={styles.list}>
      {waiting.map((each) => (
        <li key={each.id}>
          <span>
            {each.words}
            <small>{why(each)}</small>
          </span>
          <IconButton
            icon={Send}
            size={16}
            label={t("Send “{words}” now", { words: each.words })}
            onClick={() => void outbox.send(each.id)}
          />
          <IconButton
            icon={Trash2}
            size={16}
            label={t("Take back “{words}”", { words: each.words })}
            onClick={() => void outbox.remove(each.id)}
          />
        </li>
      ))}
    </ul>
  );
}
