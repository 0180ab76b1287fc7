import { ShortcutList } from "../../kit/ShortcutList";
import { Account } from "./Account";
import { Looks } from "./Looks";
import { Setup } from "./Setup";

export function General() {
  return (
    <>
      <p className="note lead">
        Appearance is saved in this browser. All other settings are read when Bethink starts: from
        command-line options, environment variables or <code>bethink.toml</code>.
      </p>
      <Account />
      <Looks />
      <Setup />
      <section aria-labelledby="keys">
        <h2 id="keys">Keyboard</h2>
        <ShortcutList />
      </section>
    </>
  );
}
