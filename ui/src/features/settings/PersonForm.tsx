import { type FormEvent, useState } from "react";
import { api, asProblem } from "../../api/client";
import type { UserShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { MIN_PASSWORD } from "./keyWords";

type PersonFormProps = { onAdded: (user: UserShown) => void; onClose: () => void };

/** Adds a user, who has a memory of their own. */
export function PersonForm({ onAdded, onClose }: PersonFormProps) {
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const add = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    setBusy(true);
    try {
      const password = String(given.get("password") ?? "");
      onAdded(
        await api.addUser({
          name: String(given.get("name") ?? ""),
          admin: given.has("admin"),
          ...(password ? { password } : {}),
        }),
      );
    } catch (error) {
      setFault(asProblem(error).detail || asProblem(error).title);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Add a user" onClose={onClose}>
      <form className="body" onSubmit={(event) => void add(event)}>
        <p>A user has a separate memory and separate conversations, which nobody else sees.</p>
        <label className="field">
          Name
          <input
            className="input"
            name="name"
            data-first
            maxLength={64}
            autoCapitalize="none"
            autoComplete="off"
            required
          />
        </label>
        <label className="field">
          Password, at least {MIN_PASSWORD} characters
          <input
            className="input"
            name="password"
            type="password"
            minLength={MIN_PASSWORD}
            maxLength={1000}
            autoComplete="new-password"
          />
        </label>
        <p className="note">
          Without a password they need a key: <code>bethink users key add NAME</code>.
        </p>
        <fieldset className="checks">
          <legend>Rights</legend>
          <label>
            <input type="checkbox" name="admin" />
            <strong>Administrator</strong>
            <span>Manages users</span>
          </label>
        </fieldset>
        <p role="alert" className="form-fault">
          {fault}
        </p>
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={busy}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
