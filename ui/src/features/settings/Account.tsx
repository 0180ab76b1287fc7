import { LogOut } from "lucide-react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import styles from "./Room.module.css";

/** Who is signed in, where there are users. */
export function Account() {
  const { account, toasts } = useApp();
  const session = useStore(account.session);
  if (!session?.user) return null;
  return (
    <section className={styles.part} aria-labelledby="account">
      <h2 id="account">{t("Account")}</h2>
      <div className={styles.line}>
        <span>{t("Signed in as {name}", { name: session.user.name })}</span>
        <Button icon={LogOut} onClick={() => account.signOut().catch(toasts.fault)}>
          {t("Sign out")}
        </Button>
      </div>
    </section>
  );
}
