import { t } from "../../i18n";
import { Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { GrantList } from "./GrantList";
import { GroupSettings } from "./GroupSettings";
import { KeyList } from "./KeyList";
import { NoUsers } from "./NoUsers";
import { People } from "./People";
import room from "./Room.module.css";

/** A person's keys and, for administrators, who may come in. */
export function KeysPage({ found }: { found: string | null }) {
  return (
    <>
      <Keys />
      <GroupSettings groups={["access"]} found={found} />
    </>
  );
}

function Keys() {
  const { account } = useApp();
  const session = useStore(account.session);
  if (!session) return <Skeleton lines={6} label={t("Loading the keys")} />;
  if (!session.user) return <NoUsers />;
  return (
    <>
      <p className={room.note}>
        {t(
          "With a key, a program, a phone or another computer can use Bethink as you. A revoked key is refused within a second.",
        )}
      </p>
      <KeyList rights={session.rights} />
      <GrantList />
      {session.rights.includes("admin") && <People me={session.user.id} />}
    </>
  );
}
