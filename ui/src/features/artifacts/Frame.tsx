import { useEffect, useRef } from "react";
import { t } from "../../i18n";
import css from "./artifacts.module.css";

declare const FRAMES: { artifact: string };

type FrameProps = { format: "html" | "svg"; content: string; title: string };

const HEAD = '<!doctype html><meta charset="utf-8">';
const SVG = `${HEAD}<style>html,body{margin:0;height:100%}body{display:grid;place-items:center}svg{max-width:100%;max-height:100%}</style>`;

/** The document that shows it. */
const documentOf = ({ format, content }: FrameProps) =>
  format === "svg" ? SVG + content : /^\s*<!doctype/i.test(content) ? content : HEAD + content;

/**
 * Runs what an answer made in a frame of an origin of its own, under a policy by which it can load, send and open nothing. It is
 * told to the frame by a message, so that there is no address at which it would run without the frame.
 */
export function Frame(props: FrameProps) {
  // Another text is another frame: nothing of the one before is left.
  return <OneFrame key={props.format + props.content} {...props} />;
}

function OneFrame(props: FrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const text = documentOf(props);
  useEffect(() => {
    const hear = ({ source }: MessageEvent) => {
      const inside = frame.current?.contentWindow;
      if (!inside || source !== inside) return;
      // What runs there then is told nothing more.
      removeEventListener("message", hear);
      inside.postMessage(text, "*");
    };
    addEventListener("message", hear);
    return () => removeEventListener("message", hear);
  }, [text]);
  return (
    <iframe
      ref={frame}
      src={FRAMES.artifact}
      className={css.frame}
      title={t("{title}, running by itself", { title: props.title })}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
    />
  );
}
