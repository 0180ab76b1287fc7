import { Copy, Link2 } from "lucide-react";
import { type FormEvent, useCallback, useState } from "react";
import { useCopy } from "../../../answer/useCopy";
import { asProblem } from "../../../api/client";
import { type Share, sharesApi } from "../../../api/shares";
import type { Conversation } from "../../../api/types";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Dialog } from "../../../kit/Dialog";
import { Field, Switch } from "../../../kit/Field";
import { ProblemNotice } from "../../../kit/pieces";
import { Select } from "../../../kit/Select";
import { useRead } from "../../../services/useRead";
import { fullDate } from "../../../services/words";
import styles from "./share.module.css";

type Days = "1" | "7" | "30" | "365" | "never";

const daysOptions = (): { value: Days; label: string }[] => [
  { value: "1", label: t("1 day") },
  { value: "7", label: t("7 days") },
  { value: "30", label: t("30 days") },
  { value: "365", label: t("1 year") },
  { value: "never", label: t("Until I revoke it") },
];

/** The link, which is told once. */
function Made({ share }: { share: Share }) {
  const copy = useCopy();
  const link = `${location.origin}${share.path}`;
  return (
    <div className={styles.made} role="status">
      <p>
        {t(
          "Whoever has this link can read the conversation as it is now. The link is shown only once.",
        )}
      </p>
      <div className={styles.link}>
        <input
          className="input"
          readOnly
          value={link}
          aria-label={t("Link")}
          onFocus={(event) => event.target.select()}
        />
        <Button icon={Copy} look="primary" onClick={() => copy(link, t("Link copied"))}>
          {t("Copy link")}
        </Button>
      </div>
    </div>
  );
}

function Shared({ share, onRevoke }: { share: Share; onRevoke: () => void }) {
  const until = share.expires_at
    ? t("until {date}", { date: fullDate(Date.parse(share.expires_at)) })
    : t("until it is revoked");
  const more = [share.has_memories && t("with memories"), share.has_files && t("with files")];
  return (
    <li>
      <span>
        {t("Link …{hint} of {date}", {
          hint: share.hint,
          date: fullDate(Date.parse(share.created_at)),
        })}
        <small>{[until, ...more.filter(Boolean)].join(" · ")}</small>
      </span>
      <Button look="fault" onClick={onRevoke}>
        {t("Revoke")}
      </Button>
    </li>
  );
}

type ShareDialogProps = { conversation: Conversation; onClose: () => void };

/** Shares a conversation as it is now, and revokes what was shared before. */
export default function ShareDialog({ conversation, onClose }: ShareDialogProps) {
  const [days, setDays] = useState<Days>("30");
  const [memories, setMemories] = useState(false);
  const [files, setFiles] = useState(false);
  const [made, setMade] = useState<Share | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const { id } = conversation;
  const { value, problem, read } = useRead(useCallback(() => sharesApi.of(id), [id]));
  const acting = async (act: () => Promise<void>) => {
    setBusy(true);
    setFault(null);
    try {
      await act();
      await read();
    } catch (error) {
      const { detail, title } = asProblem(error);
      setFault(detail || title);
    }
    setBusy(false);
  };
  const share = (event: FormEvent) => {
    event.preventDefault();
    const until = days === "never" ? null : Number(days);
    void acting(async () => setMade(await sharesApi.add(id, { days: until, memories, files })));
  };
  const revoke = (one: Share) =>
    acting(async () => {
      await sharesApi.revoke(one.id);
      if (made?.id === one.id) setMade(null);
    });
  return (
    <Dialog title={t("Share this conversation")} onClose={onClose}>
      <form className={`body ${styles.share}`} onSubmit={share}>
        {made ? (
          <Made share={made} />
        ) : (
          <>
            <p>
              {t(
                "A link shows the conversation as it is now, to read only. What is said later is not in it. The answers themselves may mention what you told Bethink.",
              )}
            </p>
            <Field label={t("The link works for")}>
              {({ id: field }) => (
                <Select id={field} value={days} options={daysOptions()} onChange={setDays} />
              )}
            </Field>
            <Switch
              label={t("Show the memories that answers used")}
              checked={memories}
              onChange={setMemories}
            />
            <Switch label={t("Show attached files")} checked={files} onChange={setFiles} />
          </>
        )}
        {fault && <p role="alert">{fault}</p>}
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {value && value.items.length > 0 && (
          <section>
            <h3>{t("Links to this conversation")}</h3>
            <ul className={styles.links}>
              {value.items.map((one) => (
                <Shared key={one.id} share={one} onRevoke={() => void revoke(one)} />
              ))}
            </ul>
          </section>
        )}
        <div className="actions">
          <Button onClick={onClose}>{made ? t("Done") : t("Cancel")}</Button>
          {!made && (
            <Button look="primary" type="submit" icon={Link2} disabled={busy}>
              {t("Make a link")}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
