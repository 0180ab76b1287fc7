import { LogOut } from "lucide-react";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

/** Who is signed in, where there are users. */
export function Account() {
  const { account, toasts } = useApp();
  const session = useStore(account.session);
  if (!session?.user) return null;
  return (
    <section aria-labelledby="account">
      <h2 id="account">Account</h2>
      <div className="setting">
        <span>
          Signed in as <strong>{session.user.name}</strong>
        </span>
        <Button icon={LogOut} onClick={() => account.signOut().catch(toasts.fault)}>
          Sign out
        </Button>
      </div>
    </section>
  );
}
