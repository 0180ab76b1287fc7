import { useState } from "react";
import { settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { useApp } from "../../services/context";

/** Takes a server away, after it was asked. */
export function RemoveServer({ name, onRemoved }: { name: string; onRemoved: () => void }) {
  const { toasts } = useApp();
  const [asked, setAsked] = useState(false);
  const remove = async () => {
    try {
      await settingsApi.deleteServer(name);
      toasts.show(t("“{name}” was removed", { name }));
      onRemoved();
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <>
      <Button look="quiet" onClick={() => setAsked(true)}>
        {t("Remove")}
        <span className="visually-hidden"> {name}</span>
      </Button>
      {asked && (
        <Confirm
          title={t("Remove “{name}”?", { name })}
          action={t("Remove")}
          onClose={() => setAsked(false)}
          onConfirm={() => void remove()}
        >
          <p>
            {t("Its tools are not offered to the model any more, and its sign-in is forgotten.")}
          </p>
        </Confirm>
      )}
    </>
  );
}
