import { Monitor, Moon, Sun } from "lucide-react";
import { Segmented } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

/** How the pages look, chosen on this device. */
export function Looks() {
  const { look } = useApp();
  const { theme, answers } = useStore(look.store);
  return (
    <section aria-labelledby="looks">
      <h2 id="looks">Appearance</h2>
      <div className="setting">
        <span>Theme</span>
        <Segmented
          label="Theme"
          value={theme}
          onChange={(value) => look.choose({ theme: value })}
          options={[
            { value: "system", label: "System", icon: Monitor },
            { value: "light", label: "Light", icon: Sun },
            { value: "dark", label: "Dark", icon: Moon },
          ]}
        />
      </div>
      <div className="setting">
        <span>Font of answers</span>
        <Segmented
          label="Font of answers"
          value={answers}
          onChange={(value) => look.choose({ answers: value })}
          options={[
            { value: "sans", label: "Sans" },
            { value: "serif", label: "Serif" },
          ]}
        />
      </div>
    </section>
  );
}
