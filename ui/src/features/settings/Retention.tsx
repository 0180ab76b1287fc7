// For how long one's conversations are kept, and how many would be deleted before anything is chosen.
import { useCallback, useState } from "react";
import { settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { fullDate } from "../../services/words";
import fields from "./Preferences.module.css";
import styles from "./Room.module.css";

const FOR_EVER = "";
const CHOICES = [7, 30, 90, 183, 365, 730];

export function Retention() {
  const { value, problem, read, change } = useRead(settingsApi.preferences);
  const { toasts } = useApp();
  const kept = String(value?.conversation_days ?? FOR_EVER);
  const [wanted, setWanted] = useState<string | null>(null);
  const put = async () => {
    try {
      const conversation_days = wanted ? Number(wanted) : null;
      const now = await settingsApi.changePreferences({ conversation_days });
      change(() => now);
      setWanted(null);
    } catch (error) {
      toasts.fault(error);
    }
  };
  const chosen = wanted ?? kept;
  const days = [...new Set([...CHOICES, ...(kept ? [Number(kept)] : [])])].sort((a, b) => a - b);
  return (
    <section className={styles.part} aria-labelledby="retention">
      <h2 id="retention">{t("How long conversations are kept")}</h2>
      <p className={styles.note}>
        {t(
          "Counted from the last message. Then they are deleted for good, in the archive too; pinned ones stay, and so does what was remembered.",
        )}
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={2} label={t("Loading what you prefer")} />}
      {value && (
        <div className={fields.field}>
          <Select
            label={t("How long conversations are kept")}
            look="wide"
            value={chosen}
            options={[
              { value: FOR_EVER, label: t("As the settings of this Bethink say") },
              ...days.map((one) => ({
                value: String(one),
                label: t("{count, plural, one {# day} other {# days}}", { count: one }),
              })),
            ]}
            onChange={setWanted}
          />
          <Preview key={chosen} days={chosen} />
          {chosen !== kept && (
            <div className={styles.buttons}>
              <Button look="fault" onClick={() => void put()}>
                {t("Keep them so long")}
              </Button>
              <Button look="quiet" onClick={() => setWanted(null)}>
                {t("Cancel")}
              </Button>
            </div>
          )}
        </div>
      )}
    </section>
  );
}

function Preview({ days }: { days: string }) {
  const ask = useCallback(
    (signal: AbortSignal) => settingsApi.retention(days ? Number(days) : null, signal),
    [days],
  );
  const { value } = useRead(ask);
  if (!value) return null;
  return (
    <p role="status">
      {value.days === null
        ? t("They are kept for ever.")
        : value.oldest === null
          ? t("None would be deleted now.")
          : t(
              "{count, plural, one {# conversation} other {# conversations}} would be deleted within the hour; in the oldest the last message is from {date}.",
              { count: value.count, date: fullDate(Date.parse(value.oldest)) },
            )}
    </p>
  );
}
