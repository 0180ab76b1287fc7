import { Eye, EyeOff } from "lucide-react";
import { type ComponentProps, type FormEvent, useState } from "react";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import styles from "./Setting.module.css";
import type { WidgetProps } from "./widgets";

/** A field for a secret, which is shown only if its writer wants to see it. */
export function SecretInput(props: Omit<ComponentProps<"input">, "type">) {
  const [shown, setShown] = useState(false);
  return (
    <span className={styles.hidden}>
      <input
        {...props}
        type={shown ? "text" : "password"}
        className="input"
        autoComplete="off"
        spellCheck={false}
      />
      <IconButton
        icon={shown ? EyeOff : Eye}
        label={shown ? t("Hide") : t("Show")}
        aria-pressed={shown}
        onClick={() => setShown(!shown)}
      />
    </span>
  );
}

/** A secret is never told again: it is set or not, and can be replaced. */
export function SecretField(props: WidgetProps & { isSet: boolean }) {
  const { title, disabled, describedBy, isSet, onPut } = props;
  const [typing, setTyping] = useState(false);
  const [typed, setTyped] = useState("");
  const put = (event: FormEvent) => {
    event.preventDefault();
    if (typed) onPut(typed);
    setTyping(false);
    setTyped("");
  };
  return (
    <div className={styles.secret}>
      {!typing && <span className={styles.dots}>{isSet ? "••••••••" : t("Not set")}</span>}
      {!typing && !disabled && (
        <Button aria-describedby={describedBy} onClick={() => setTyping(true)}>
          {isSet ? t("Replace") : t("Set")}
          <span className="visually-hidden"> {title}</span>
        </Button>
      )}
      {typing && (
        <form onSubmit={put}>
          <SecretInput
            aria-label={title}
            aria-describedby={describedBy}
            autoFocus
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={(event) => event.key === "Escape" && setTyping(false)}
          />
          <Button type="submit">{t("Save")}</Button>
        </form>
      )}
    </div>
  );
}
