import { Copy } from "lucide-react";
import { useCopy } from "../../answer/useCopy";
import { IconButton } from "../../kit/Button";
import { FIRST_USER } from "./keyWords";

/** Nobody was added yet: what the first user changes, and how to add one. */
export function NoUsers() {
  const copy = useCopy();
  return (
    <section className="no-servers" aria-labelledby="no-users">
      <h2 id="no-users">No keys are needed yet</h2>
      <p className="note">
        This server has no users. It accepts connections from its own machine only, and everybody
        there can use it.
      </p>
      <p className="note">
        The first user that you add owns all existing data and is an administrator. From then on
        everybody needs a key or a password, also on this page: create a key before you close the
        terminal. Each further user has a separate memory.
      </p>
      <figure className="code">
        <figcaption>
          <span>In a terminal on that machine</span>
          <IconButton
            icon={Copy}
            size={15}
            label="Copy the commands"
            onClick={() => copy(FIRST_USER, "Commands copied")}
          />
        </figcaption>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled with the keyboard */}
        <pre tabIndex={0}>{FIRST_USER}</pre>
      </figure>
    </section>
  );
}
