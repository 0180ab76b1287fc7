import { ChartNetwork, Code, Download, PanelRight } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../i18n";
import { IconButton } from "../kit/Button";
import { Menu } from "../kit/Popover";
import { useAfter } from "../kit/pieces";
import { useApp } from "../services/context";
import { CodeBlock } from "./CodeBlock";
import css from "./Diagram.module.css";
import { addressOf, diagrams, type Picture, pngOf } from "./diagrams";
import { download } from "./download";
import { useDiagramTheme } from "./useDiagramTheme";

const ALT_CHARS = 300;
const WAIT_MS = 300;

type Drawn = { picture: Picture | null; fault: string | null };

/** The picture of a diagram, drawn anew in other colours; the last one stays until the next is there. */
function useDrawn(source: string): Drawn & { paper: string } {
  const theme = useDiagramTheme();
  const [drawn, setDrawn] = useState<Drawn>({ picture: null, fault: null });
  useEffect(() => {
    let isGone = false;
    diagrams.drawn(source, theme).then(
      (picture) => !isGone && setDrawn({ picture, fault: null }),
      (error: Error) => !isGone && setDrawn({ picture: null, fault: error.message }),
    );
    return () => {
      isGone = true;
    };
  }, [source, theme]);
  return { ...drawn, paper: theme.themeVariables.background ?? "" };
}

function Waiting() {
  return (
    <p className={css.waiting} role="status">
      {useAfter(WAIT_MS) && t("Drawing the diagram…")}
    </p>
  );
}

/** A diagram of Mermaid as a picture; `isBeside`, in the pane already. What cannot be drawn is read as it was written. */
export function Diagram({ source, isBeside = false }: { source: string; isBeside?: boolean }) {
  const { pane, toasts } = useApp();
  const { picture, fault, paper } = useDrawn(source);
  const [isSource, setSource] = useState(false);
  if (fault !== null) {
    const [first] = fault.split("\n");
    return (
      <div className={css.failed}>
        <CodeBlock language="mermaid" text={source} />
        <p>
          {t("This diagram cannot be drawn; this is its text.")} {first}
        </p>
      </div>
    );
  }
  const png = (made: Picture) =>
    pngOf(made, paper)
      .then((blob) => download("diagram.png", blob))
      .catch(() => toasts.show(t("The browser could not make the picture. Take the SVG.")));
  return (
    <figure className={css.diagram}>
      <figcaption>
        <span>{t("Diagram")}</span>
        <span className={css.tools}>
          <IconButton
            icon={isSource ? ChartNetwork : Code}
            size={15}
            label={isSource ? t("Show the diagram") : t("Show its text")}
            onClick={() => setSource(!isSource)}
          />
          {!isBeside && (
            <IconButton
              icon={PanelRight}
              size={15}
              label={t("Open in pane")}
              onClick={() => pane.show({ format: "mermaid", language: "mermaid", text: source })}
            />
          )}
          {picture && (
            <Menu
              icon={Download}
              size={15}
              label={t("Download the diagram")}
              items={[
                {
                  label: t("As SVG"),
                  icon: Download,
                  run: () => download("diagram.svg", picture.svg, "image/svg+xml"),
                },
                { label: t("As PNG"), icon: Download, run: () => void png(picture) },
              ]}
            />
          )}
        </span>
      </figcaption>
      {isSource && <CodeBlock language="mermaid" text={source} />}
      {!isSource && !picture && <Waiting />}
      {!isSource && picture && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide diagram is scrolled with the keyboard
        <div className={css.picture} tabIndex={0}>
          <img
            src={addressOf(picture.svg)}
            width={Math.ceil(picture.width)}
            height={Math.ceil(picture.height)}
            alt={t("Diagram of: {source}", { source: source.slice(0, ALT_CHARS) })}
          />
        </div>
      )}
    </figure>
  );
}
