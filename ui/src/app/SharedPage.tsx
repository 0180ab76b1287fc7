// What somebody sees who has a link to a conversation: no sign-in, no list, nothing to press.
import { Link2Off } from "lucide-react";
import { useEffect, useState } from "react";
import { Transcript } from "../answer/Transcript";
import { asProblem, type Problem } from "../api/client";
import { type SharedConversation, sharesApi } from "../api/shares";
import { t } from "../i18n";
import { Button } from "../kit/Button";
import { Empty, Skeleton } from "../kit/pieces";
import { fullDate } from "../services/words";
import styles from "./shared.module.css";

function noteOf({ created_at, expires_at }: SharedConversation): string {
  const at = fullDate(Date.parse(created_at));
  if (!expires_at) return t("A conversation as it was on {at}", { at });
  const until = fullDate(Date.parse(expires_at));
  return t("A conversation as it was on {at}. The link ends on {until}.", { at, until });
}

export default function SharedPage() {
  const [shown, setShown] = useState<SharedConversation | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const read = () => {
    setProblem(null);
    sharesApi.read(location.pathname).then(setShown, (error) => setProblem(asProblem(error)));
  };
  useEffect(read, []);
  useEffect(() => {
    document.title = shown ? `${shown.title} · Bethink` : "Bethink";
  }, [shown]);
  if (problem) {
    return (
      <main className={styles.shared}>
        <h1 className="visually-hidden">{t("Shared conversation")}</h1>
        <Empty
          icon={Link2Off}
          title={problem.status === 404 ? t("This link shows nothing") : problem.title}
        >
          <p>
            {problem.status === 404
              ? t("It ended, it was revoked, or it is not complete. Ask whoever gave it to you.")
              : problem.detail}
          </p>
          {problem.status !== 404 && <Button onClick={read}>{t("Try again")}</Button>}
        </Empty>
      </main>
    );
  }
  if (!shown) {
    return (
      <main className={styles.shared}>
        <h1 className="visually-hidden">{t("Shared conversation")}</h1>
        <Skeleton lines={7} label={t("Loading the conversation")} />
      </main>
    );
  }
  const messages = shown.messages.map((said, at) => ({
    ...said,
    key: `${at}`,
    at: Date.parse(said.at),
    speaker: said.speaker ?? (said.role === "user" ? t("Question") : t("Answer")),
  }));
  return (
    <main className={styles.shared}>
      <Transcript title={shown.title} note={noteOf(shown)} messages={messages} />
      <p className={styles.foot}>{t("Shared from Bethink. What is written here can be wrong.")}</p>
    </main>
  );
}
