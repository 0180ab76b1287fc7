import { UserPlus } from "lucide-react";
import { useState } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { PersonForm } from "./PersonForm";
import room from "./Room.module.css";

/** Nobody was added yet: what the first user changes, and adding one. */
export function NoUsers() {
  const { account } = useApp();
  const [adding, setAdding] = useState(false);
  return (
    <section className={room.part} aria-labelledby="no-users">
      <h2 id="no-users">{t("No keys are needed yet")}</h2>
      <p className={room.note}>
        {t(
          "This server has no users. It accepts connections from its own machine only, and everybody there can use it.",
        )}
      </p>
      <p className={room.note}>
        {t(
          "The first user that you add owns all existing data and is an administrator. From then on everybody needs a key or a password, also on this page. Each further user has a separate memory.",
        )}
      </p>
      <div className={room.buttons}>
        <Button icon={UserPlus} onClick={() => setAdding(true)}>
          {t("Add the first user")}
        </Button>
      </div>
      {adding && (
        <PersonForm
          isFirst
          onClose={() => setAdding(false)}
          onAdded={() => account.begin("/settings/keys")}
        />
      )}
    </section>
  );
}
