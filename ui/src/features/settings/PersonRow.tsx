import type { UserShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { count } from "../../services/words";

type PersonRowProps = {
  user: UserShown;
  isMe: boolean;
  onPassword: () => void;
  onDisable: () => void;
  onEnable: () => void;
};

/** One user; nobody can lock themselves out here. */
export function PersonRow({ user, isMe, onPassword, onDisable, onEnable }: PersonRowProps) {
  const hidden = <span className="visually-hidden"> {user.name}</span>;
  return (
    <li className={user.disabled ? "revoked" : "live"}>
      <div className="about">
        <p className="key-name">
          <strong>{user.name}</strong> {isMe && <span>(you)</span>}
        </p>
        <p className="facts">
          <span className="state">{user.disabled ? "Disabled" : "Enabled"}</span>
          <span>{user.admin ? "administrator" : "user"}</span>
          <span>{count(user.live_keys, "active key")}</span>
          <span>{user.has_password ? "has a password" : "no password"}</span>
          <span>
            since{" "}
            <time dateTime={user.created_at}>{new Date(user.created_at).toLocaleDateString()}</time>
          </span>
        </p>
      </div>
      <div className="actions">
        <Button onClick={onPassword}>Set password{hidden}</Button>
        {user.disabled ? (
          <Button onClick={onEnable}>Enable{hidden}</Button>
        ) : (
          !isMe && <Button onClick={onDisable}>Disable{hidden}</Button>
        )}
      </div>
    </li>
  );
}
