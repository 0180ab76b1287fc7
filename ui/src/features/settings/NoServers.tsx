import { Copy } from "lucide-react";
import { IconButton } from "../../kit/Button";
import { useApp } from "../../services/context";
import { EXAMPLE } from "./serverWords";

/** There is no server of tools: how to have one. */
export function NoServers() {
  const { toasts } = useApp();
  const copy = () =>
    navigator.clipboard?.writeText(EXAMPLE).then(
      () => toasts.show("Configuration copied"),
      () => toasts.show("The browser blocked copying. Select the text and copy it yourself."),
    );
  return (
    <section className="no-servers" aria-labelledby="no-servers">
      <h2 id="no-servers">No tool server is set up</h2>
      <p className="note">
        An MCP server gives the model more tools, for example for files, calendars or code. Add it
        to <code>bethink.toml</code> in the data directory and restart Bethink. A program runs with
        your rights, so add only programs that you trust.
      </p>
      <figure className="code">
        <figcaption>
          <span>bethink.toml</span>
          <IconButton icon={Copy} size={15} label="Copy the configuration" onClick={copy} />
        </figcaption>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled with the keyboard */}
        <pre tabIndex={0}>{EXAMPLE}</pre>
      </figure>
      <p className="note">
        You can also use the <code>mcpServers</code> file of another program: name it in{" "}
        <code>mcp_servers_file</code>.
      </p>
    </section>
  );
}
