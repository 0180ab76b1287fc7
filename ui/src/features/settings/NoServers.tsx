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
      () => toasts.show("The browser does not let this page copy; select the text instead."),
    );
  return (
    <section className="no-servers" aria-labelledby="no-servers">
      <h2 id="no-servers">No tool server is set up</h2>
      <p className="note">
        Any MCP server gives the model more tools: files, calendars, code, whatever it offers. Put
        it into <code>bethink.toml</code> in the data directory, and start Bethink again. A program
        is started with your rights, so name only what you trust.
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
        A file with <code>mcpServers</code> as other programs have it works, too: name it in{" "}
        <code>mcp_servers_file</code>.
      </p>
    </section>
  );
}
