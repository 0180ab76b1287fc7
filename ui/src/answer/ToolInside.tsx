import { Globe } from "lucide-react";
import { t } from "../i18n";
import { Link } from "../kit/pieces";
import type { ToolPart } from "../run/reduce";
import { Arguments } from "./Arguments";
import { codeIn, originOf, pretty, sourcesIn, titleOfTool } from "./parts";
import { ResourceLinks } from "./ResourceLinks";
import raw from "./raw.module.css";
import css from "./ToolInside.module.css";

function Raw({ tool }: { tool: ToolPart }) {
  return (
    <details className={raw.raw}>
      <summary>{t("Raw")}</summary>
      <pre
        className={raw.text}
      >{`${tool.name} ${tool.call}\n${pretty(tool.arguments)}\n\n${tool.error ? `${tool.error}\n` : ""}${pretty(tool.text)}`}</pre>
    </details>
  );
}

/** What went into a call and what came out of it. */
export function ToolInside({ tool }: { tool: ToolPart }) {
  const { server } = titleOfTool(tool);
  const isCode = codeIn(tool.arguments, tool.name) !== null;
  return (
    <div className={css.inside}>
      <Arguments text={tool.arguments} tool={tool.name} />
      {tool.state === "unknown" && (
        <p className={css.result}>
          {t("The call was started, but its outcome is unknown. It is not repeated automatically.")}
        </p>
      )}
      {tool.untrusted && tool.text && (
        <p className={css.outside}>
          <Globe size={14} aria-hidden />
          {originOf(tool).words}
        </p>
      )}
      {tool.text && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long result is scrolled with the keyboard
        <p className={isCode ? `${css.result} ${css.output}` : css.result} tabIndex={0} data-result>
          {sourcesIn(tool.text).map(({ text, address, at }) =>
            address ? (
              <Link key={at} to={address}>
                {text}
              </Link>
            ) : (
              text
            ),
          )}
        </p>
      )}
      {server && <ResourceLinks server={server} text={tool.text} />}
      <Raw tool={tool} />
    </div>
  );
}
