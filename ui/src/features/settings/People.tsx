import { UserPlus } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { UserPatch, UserShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { PasswordForm } from "./PasswordForm";
import { PersonForm } from "./PersonForm";
import { PersonRow } from "./PersonRow";

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
    <section aria-labelledby="people">
      <div className="calls-head">
        <h2 id="people">Users</h2>
        <Button icon={UserPlus} onClick={() => setAdding(true)}>
          Add a user
        </Button>
      </div>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={3} label="Loading the users" />}
      {value && (
        <ul className="tool-rows key-rows" aria-labelledby="people">
          {value.items.map((user) => (
            <PersonRow
              key={user.id}
              user={user}
              isMe={user.id === me}
              onPassword={() => setAsked({ user, about: "password" })}
              onDisable={() => setAsked({ user, about: "disable" })}
              onEnable={() => void change(user, { disabled: false }, `${user.name} is enabled`)}
            />
          ))}
        </ul>
      )}
      {adding && (
        <PersonForm
          onClose={() => setAdding(false)}
          onAdded={(user) => {
            setAdding(false);
            toasts.show(`${user.name} was added`);
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
            toasts.show(`${asked.user.name} has a new password`);
            void read();
          }}
        />
      )}
      {asked?.about === "disable" && (
        <Confirm
          title={`Disable ${asked.user.name}?`}
          action="Disable"
          onClose={close}
          onConfirm={() =>
            void change(asked.user, { disabled: true }, `${asked.user.name} is disabled`)
          }
        >
          <p>
            They are signed out and their keys stop working within a second. Their data is kept, and
            you can enable them again.
          </p>
        </Confirm>
      )}
    </section>
  );
}
