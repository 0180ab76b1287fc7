import { UserPlus } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { UserPatch, UserShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { PasswordForm } from "./PasswordForm";
import { PersonForm } from "./PersonForm";
import { PersonRow } from "./PersonRow";
import room from "./Room.module.css";
import styles from "./Tools.module.css";

const ask = (signal: AbortSignal) => api.users(signal);

/** Who may come in, for administrators. */
export function People({ me }: { me: string }) {
  const { toasts } = useApp();
  const { value, problem, read } = useRead(ask);
  const [adding, setAdding] = useState(false);
  const [asked, setAsked] = useState<{ user: UserShown; about: "password" | "disable" } | null>(
    null,
  );
  const change = async (user: UserShown, patch: UserPatch, said: string) => {
    try {
      await api.changeUser(user.id, patch);
      toasts.show(said);
      await read();
    } catch (error) {
      toasts.fault(error);
    }
  };
  const close = () => setAsked(null);
  return (
    <section className={room.part} aria-labelledby="people">
      <header>
        <h2 id="people">{t("Users")}</h2>
        <Button icon={UserPlus} onClick={() => setAdding(true)}>
          {t("Add a user")}
        </Button>
      </header>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={3} label={t("Loading the users")} />}
      {value && (
        <ul className={styles.people} aria-labelledby="people">
          {value.items.map((user) => (
            <PersonRow
              key={user.id}
              user={user}
              isMe={user.id === me}
              onPassword={() => setAsked({ user, about: "password" })}
              onDisable={() => setAsked({ user, about: "disable" })}
              onEnable={() =>
                void change(user, { disabled: false }, t("{name} is enabled", { name: user.name }))
              }
            />
          ))}
        </ul>
      )}
      {adding && (
        <PersonForm
          onClose={() => setAdding(false)}
          onAdded={(user) => {
            setAdding(false);
            if (user) toasts.show(t("{name} was added", { name: user.name }));
            void read();
          }}
        />
      )}
      {asked?.about === "password" && (
        <PasswordForm
          user={asked.user}
          isMe={asked.user.id === me}
          onClose={close}
          onSet={() => {
            close();
            toasts.show(t("{name} has a new password", { name: asked.user.name }));
            void read();
          }}
        />
      )}
      {asked?.about === "disable" && (
        <Confirm
          title={t("Disable {name}?", { name: asked.user.name })}
          action={t("Disable")}
          onClose={close}
          onConfirm={() =>
            void change(
              asked.user,
              { disabled: true },
              t("{name} is disabled", { name: asked.user.name }),
            )
          }
        >
          <p>
            {t(
              "They are signed out and their keys stop working within a second. Their data is kept, and you can enable them again.",
            )}
          </p>
        </Confirm>
      )}
    </section>
  );
}
