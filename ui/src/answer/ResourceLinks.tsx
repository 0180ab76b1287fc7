// Resources of a server that a tool's result names: each opens by a click, read from that server then.
import { useState } from "react";
import { asProblem } from "../api/client";
import { serversApi } from "../api/servers";
import { t } from "../i18n";
import { Button } from "../kit/Button";
import css from "./ToolInside.module.css";

const LINK = /^\[resource (\S{1,2000}): ?([^\n]{0,1000})\]$/gm;
const SHOWN = 20;

/** The resources that a result names, each once. */
export function resourcesIn(text: string): readonly { uri: string; about: string }[] {
  const found = new Map<string, string>();
  for (const [, uri = "", about = ""] of text.matchAll(LINK)) {
    if (!found.has(uri)) found.set(uri, about);
  }
  return [...found].slice(0, SHOWN).map(([uri, about]) => ({ uri, about }));
}

type LinksProps = { server: string; text: string };

export function ResourceLinks({ server, text }: LinksProps) {
  const found = resourcesIn(text);
  if (!found.length) return null;
  return (
    <ul className={css.resources} aria-label={t("Resources of {server}", { server })}>
      {found.map(({ uri, about }) => (
        <li key={uri}>
          <ResourceLink server={server} uri={uri} about={about || uri} />
        </li>
      ))}
    </ul>
  );
}

function ResourceLink({ server, uri, about }: { server: string; uri: string; about: string }) {
  const [shown, setShown] = useState<string | null>(null);
  const open = async () => {
    try {
      const { parts, cut } = await serversApi.read(server, uri);
      const said = parts.map(
        ({ text, name, media_type }) => text ?? `[${name || uri}, ${media_type}]`,
      );
      setShown([...said, ...(cut ? [t("[more, not shown]")] : [])].join("\n\n"));
    } catch (error) {
      const problem = asProblem(error);
      setShown(problem.detail || problem.title);
    }
  };
  return (
    <>
      <Button
        look="quiet"
        aria-expanded={shown !== null}
        onClick={() => (shown === null ? void open() : setShown(null))}
      >
        {t("Open {what}", { what: about })}
      </Button>
      {shown !== null && <pre className={`${css.result} ${css.output}`}>{shown}</pre>}
    </>
  );
}
