import { Copy, Plus } from "lucide-react";
import { useState } from "react";
import { calendarsApi } from "../../api/calendars";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { Notice, ProblemNotice } from "../../kit/pieces";
import planner from "../../planner/planner.module.css";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { shortDate } from "../../services/words";
import styles from "./Calendar.module.css";
import { useAttempt } from "./useAttempt";

/** Addresses at which other programs read this calendar; each is a secret, and can be taken back. */
export function Feeds() {
  const { toasts } = useApp();
  const { value, problem, look, read } = useRead(calendarsApi.feeds);
  const { busy, attempt } = useAttempt(look);
  const [made, setMade] = useState("");
  const [gone, setGone] = useState<string | null>(null);
  const add = () =>
    void attempt(async () => {
      const { path } = await calendarsApi.addFeed("Bethink");
      setMade(path ? new URL(path, location.origin).href : "");
      return null;
    });
  const copy = () =>
    void navigator.clipboard.writeText(made).then(() => toasts.show(t("Copied")), toasts.fault);
  return (
    <section>
      <h2>{t("Feeds")}</h2>
      <p>
        {t("A private address that other calendars subscribe to, to show what is planned here.")}
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {made && (
        <Notice tone="ask">
          <strong>{t("The address, shown this once:")}</strong>
          <code className={styles.feed}>{made}</code>
          <span>
            <Button icon={Copy} onClick={copy}>
              {t("Copy")}
            </Button>
          </span>
        </Notice>
      )}
      <ul className={planner.plainList} aria-label={t("Feeds")}>
        {value?.items.map((feed) => (
          <li key={feed.id} className={styles.feedLine}>
            <span>{feed.name}</span>
            <small>
              {t("made {date}", { date: shortDate(Date.parse(feed.created_at)) })},{" "}
              {feed.used_at
                ? t("read {date}", { date: shortDate(Date.parse(feed.used_at)) })
                : t("never read")}
            </small>
            <Button look="quiet" onClick={() => setGone(feed.id)}>
              {t("Revoke")}
            </Button>
          </li>
        ))}
      </ul>
      <Button icon={Plus} disabled={busy} onClick={add}>
        {t("New feed")}
      </Button>
      {gone && (
        <Confirm
          title={t("Revoke the feed?")}
          action={t("Revoke")}
          onConfirm={() =>
            void attempt(async () => {
              await calendarsApi.removeFeed(gone);
              setMade("");
              return t("The feed is revoked");
            })
          }
          onClose={() => setGone(null)}
        >
          <p>
            {t("Calendars that subscribe to it are told nothing any more. This cannot be undone.")}
          </p>
        </Confirm>
      )}
    </section>
  );
}
