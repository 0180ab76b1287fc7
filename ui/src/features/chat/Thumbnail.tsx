import { useEffect, useRef, useState } from "react";
import { request } from "../../api/client";
import { drawWithin } from "./thumbnail";

type ThumbnailProps = {
  /** Where the picture is, or what it is. */
  of: string | Blob;
  /** Empty where its name stands beside it. */
  alt: string;
  className?: string | undefined;
  /** Told where it is no picture, or is not there. */
  onGone: () => void;
};

/** True once somebody is near to where it stands. */
function useNear(element: { current: HTMLElement | null }): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const shown = element.current;
    if (!shown) return;
    const watch = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setNear(true),
      { rootMargin: "400px" },
    );
    watch.observe(shown);
    return () => watch.disconnect();
  }, [element]);
  return near;
}

/** A small drawing of a picture, in a box of its own size, made when it comes into view. */
export function Thumbnail({ of, alt, className, onGone }: ThumbnailProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const near = useNear(canvas);
  const gone = useRef(onGone);
  gone.current = onGone;
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    const place = canvas.current;
    if (!near || !place) return;
    const abort = new AbortController();
    const box = { width: place.clientWidth || 64, height: place.clientHeight || 64 };
    const draw = async () => {
      const content =
        typeof of === "string" ? await (await request(of, { signal: abort.signal })).blob() : of;
      if (!abort.signal.aborted) await drawWithin(place, content, box);
      setDrawn(true);
    };
    draw().catch(() => abort.signal.aborted || gone.current());
    return () => abort.abort();
  }, [near, of]);
  return (
    <canvas
      ref={canvas}
      width={1}
      height={1}
      {...(alt ? { role: "img", "aria-label": alt } : { "aria-hidden": true })}
      aria-busy={!drawn}
      className={className}
    />
  );
}
