import { Tooltip } from "@base-ui/react/tooltip";
import styles from "./floating.module.css";
import { Keys } from "./pieces";

/** The tip of an element, beside it. */
export default function Tip({ at }: { at: HTMLElement }) {
  const { tip, combo } = at.dataset;
  return (
    <Tooltip.Root open>
      <Tooltip.Portal container={at.closest("dialog") ?? document.body}>
        <Tooltip.Positioner
          anchor={at}
          side="bottom"
          sideOffset={6}
          collisionPadding={8}
          className={styles.floating}
        >
          {/* The name of what it stands at says it already. */}
          <Tooltip.Popup className={styles.tip} aria-hidden>
            {tip}
            {combo && <Keys combo={combo} />}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
