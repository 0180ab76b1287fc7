import { ShortcutList } from "../../kit/ShortcutList";
import { Account } from "./Account";
import { Looks } from "./Looks";
import { Setup } from "./Setup";

export function General() {
  return (
    <>
      <p className="note lead">
        The looks are kept in this browser. Everything else is set where Bethink is started: by
        flag, environment or <code>bethink.toml</code>.
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
