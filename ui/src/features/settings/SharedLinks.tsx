import { useState } from "react";
import { type Share, sharesApi } from "../../api/shares";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfChat } from "../../services/router";
import { useRead } from "../../services/useRead";
import { fullDate } from "../../services/words";
import styles from "./Room.module.css";
import lines from "./SharedLinks.module.css";

const day = (at: string) => fullDate(Date.parse(at));

/** Until when it works, how often it was opened, and what of a person it shows beside the words. */
function factsOf(share: Share): string {
  const facts = [
    share.expires_at
      ? t("until {date}", { date: day(share.expires_at) })
      : t("until it is revoked"),
    share.opened_at
      ? t("opened {count, plural, one {once} other {# times}}, last on {date}", {
          count: share.opened,
          date: day(share.opened_at),
        })
      : t("never opened"),
    share.has_memories && t("with memories"),
    share.has_files && t("with files"),
  ];
  return facts.filter(Boolean).join(" · ");
}

/** All conversations that somebody with a link can read. */
export function SharedLinks() {
  const { toasts } = useApp();
  const { value, problem, read } = useRead(sharesApi.list);
  const [asked, setAsked] = useState<Share | null>(null);
  const revoke = async ({ id, title }: Share) => {
    try {
      await sharesApi.revoke(id);
      toasts.show(t("The link to “{title}” shows nothing any more", { title }));
    } catch (error) {
      toasts.fault(error);
    }
    await read();
  };
  return (
    <section className={styles.part} aria-labelledby="shared-links">
      <h2 id="shared-links">{t("Shared links")}</h2>
      <p className={styles.note}>
        {t("Conversations that whoever has the link can read, as they were when you shared them.")}
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={2} label={t("Loading the shared links")} />}
      {value?.items.length === 0 && <p>{t("Nothing is shared.")}</p>}
      {value && value.items.length > 0 && (
        <ul className={lines.links} aria-labelledby="shared-links">
          {value.items.map((share) => (
            <li key={share.id}>
              <span>
                <Link to={addressOfChat(share.conversation)}>{share.title}</Link>
                <small>{factsOf(share)}</small>
              </span>
              <Button look="fault" onClick={() => setAsked(share)}>
                {t("Revoke")}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {asked && (
        <Confirm
          title={t("Revoke this link?")}
          action={t("Revoke")}
          onConfirm={() => void revoke(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            {t(
              "Whoever has the link to “{title}” sees nothing any more. The conversation itself stays.",
              { title: asked.title },
            )}
          </p>
        </Confirm>
      )}
    </section>
  );
}
