// Places the nodes of a large graph, so that the page stays smooth meanwhile. `useLayout` asks.
import { type Drawing, placed } from "./graphLayout";

addEventListener("message", ({ data }: MessageEvent<Pick<Drawing, "spots" | "lines">>) =>
  postMessage(placed(data)),
);
