import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { KeyMade, KeyShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { KeyForm } from "./KeyForm";
import { KeyOnce } from "./KeyOnce";
import { KeyRow } from "./KeyRow";
import room from "./Room.module.css";
import styles from "./Tools.module.css";

const ask = (signal: AbortSignal) => api.keys(signal);

/** The keys of who is signed in, the newest first; those that open nothing any more stand last. */
export function KeyList({ rights }: { rights: readonly string[] }) {
  const { toasts } = useApp();
  const { value, problem, read } = useRead(ask);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<KeyMade | null>(null);
  const [leaving, setLeaving] = useState<KeyShown | null>(null);
  const revoke = async (key: KeyShown) => {
    try {
      await api.revokeKey(key.id);
      if (made?.id === key.id) setMade(null);
      toasts.show(t("“{name}” is revoked", { name: key.name }));
      await read();
    } catch (error) {
      toasts.fault(error);
    }
  };
  const isLive = ({ state }: KeyShown) => state === "live";
  const keys = value?.items.toReversed() ?? [];
  return (
    <section className={room.part} aria-labelledby="your-keys">
      <header>
        <h2 id="your-keys">{t("Your keys")}</h2>
        {rights.includes("write") && (
          <Button icon={Plus} onClick={() => setMaking(true)}>
            {t("Create a key")}
          </Button>
        )}
      </header>
      {made && <KeyOnce made={made} onDone={() => setMade(null)} />}
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={4} label={t("Loading your keys")} />}
      {value && !keys.length && <p className={room.note}>{t("You have no keys.")}</p>}
      {keys.length > 0 && (
        <ul className={styles.people} aria-labelledby="your-keys">
          {[...keys.filter(isLive), ...keys.filter((key) => !isLive(key))].map((key) => (
            <KeyRow key={key.id} shown={key} onRevoke={() => setLeaving(key)} />
          ))}
        </ul>
      )}
      {making && (
        <KeyForm
          rights={rights}
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false);
            setMade(key);
            void read();
          }}
        />
      )}
      {leaving && (
        <Confirm
          title={t("Revoke “{name}”?", { name: leaving.name })}
          action={t("Revoke")}
          onClose={() => setLeaving(null)}
          onConfirm={() => void revoke(leaving)}
        >
          <p>
            {t(
              "Programs that use it are refused within a second. Sessions that signed in with it are signed out, maybe this one too. This cannot be undone; create a new key instead.",
            )}
          </p>
        </Confirm>
      )}
    </section>
  );
}
