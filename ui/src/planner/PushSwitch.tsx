import { useEffect, useState } from "react";
import { t } from "../i18n";
import { useApp } from "../services/context";
import { type PushState, pushState, turnPushOff, turnPushOn } from "../services/push";

/** Whether this browser is told while no page is open. */
export function PushSwitch() {
  const { toasts } = useApp();
  const [state, setState] = useState<PushState>("unknown");
  useEffect(() => {
    let isHere = true;
    pushState().then(
      (now) => isHere && setState(now),
      () => undefined,
    );
    return () => {
      isHere = false;
    };
  }, []);
  const turn = async (on: boolean) => {
    try {
      setState(await (on ? turnPushOn() : turnPushOff()));
    } catch (error) {
      toasts.fault(error);
    }
  };
  if (state === "unknown") return null;
  if (state === "impossible" || state === "refused") {
    const why = {
      impossible: t("This browser takes no notifications here: they need HTTPS, or this machine."),
      refused: t("This browser was told to refuse notifications of this page."),
    };
    return <p className="small">{why[state]}</p>;
  }
  return (
    <label className="setting">
      <span>{t("Notify this browser while no page is open")}</span>
      <input
        type="checkbox"
        role="switch"
        className="switch"
        checked={state === "on"}
        aria-checked={state === "on"}
        onChange={({ target }) => void turn(target.checked)}
      />
    </label>
  );
}
