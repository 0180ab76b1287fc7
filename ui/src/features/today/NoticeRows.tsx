import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { shortDate } from "../../services/words";
import { Part } from "./Part";
import styles from "./Today.module.css";

/** What was told and not seen yet. */
export function NoticeRows() {
  const { notices } = useApp();
  const unseen = useStore(notices.unseen);
  return (
    <Part title={t("New")} many={unseen.length}>
      {unseen.map((notice) => (
        <li key={notice.id} className={styles.row}>
          <span>
            <strong>{notice.title}</strong>
            {notice.text && notice.text !== notice.title && ` ${notice.text}`}
          </span>
          <small>
            <time dateTime={notice.at}>{shortDate(Date.parse(notice.at))}</time>
          </small>
          {notice.link && <Button onClick={() => notices.open(notice)}>{t("Open")}</Button>}
          <Button look="quiet" onClick={() => void notices.seen(notice.id)}>
            {t("Seen")}
          </Button>
        </li>
      ))}
    </Part>
  );
}
