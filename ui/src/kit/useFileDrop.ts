import { type DragEvent, useRef, useState } from "react";

const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");

/** Files dragged over an element and dropped there. `over` is true while they hang above it. */
export function useFileDrop(onDrop: (dropped: DataTransfer) => void) {
  const [over, setOver] = useState(false);
  // Entering a child is told before leaving its parent.
  const depth = useRef(0);
  const move = (event: DragEvent, by: number) => {
    if (!hasFiles(event)) return;
    depth.current = Math.max(0, depth.current + by);
    setOver(depth.current > 0);
  };
  const handlers = {
    onDragEnter: (event: DragEvent) => move(event, 1),
    onDragLeave: (event: DragEvent) => move(event, -1),
    onDragOver: (event: DragEvent) => hasFiles(event) && event.preventDefault(),
    onDrop: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth.current = 0;
      setOver(false);
      onDrop(event.dataTransfer);
    },
  };
  return { over, handlers };
}
