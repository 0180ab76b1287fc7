import { bindings } from "../keys/bindings";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { Keys } from "./pieces";

const groups = [...new Set(bindings.map((binding) => binding.group))];
const always = [
  { combo: "enter", label: "Send, or open" },
  { combo: "shift+enter", label: "New line" },
  { combo: "↑", label: "Edit the last message, if the composer is empty" },
  { combo: "/", label: "Commands, at the start of a message" },
];

/** All shortcuts by group, and the one switch that turns them off. */
export function ShortcutList() {
  const { keys } = useApp();
  const { on } = useStore(keys.store);
  return (
    <>
      <label className="setting">
        <span>Use the shortcuts</span>
        <input
          type="checkbox"
          role="switch"
          className="switch"
          checked={on}
          aria-checked={on}
          onChange={(event) => keys.turn(event.target.checked)}
        />
      </label>
      <div className="shortcut-groups">
        {groups.map((group) => (
          <div key={group}>
            <h3>{group}</h3>
            <dl>
              {[
                ...bindings.filter((each) => each.group === group),
                ...(group === "Chat" ? always : []),
              ].map(({ combo, label }) => (
                <div key={combo}>
                  <dt>{label}</dt>
                  <dd>
                    <Keys combo={combo} />
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
      </div>
    </>
  );
}
