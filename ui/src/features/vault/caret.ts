// Where in a text field a character stands, in pixels within the field.

const COPIED = ["font", "letterSpacing", "lineHeight", "padding", "border", "boxSizing"] as const;

/** Below the character at `index`; kept within the field. */
export function caretIn(area: HTMLTextAreaElement, index: number): { top: number; left: number } {
  const style = getComputedStyle(area);
  const copy = document.createElement("div");
  for (const name of COPIED) copy.style[name] = style[name];
  Object.assign(copy.style, {
    position: "absolute",
    visibility: "hidden",
    whiteSpace: "pre-wrap",
    overflowWrap: "anywhere",
    width: `${area.clientWidth}px`,
  });
  copy.textContent = area.value.slice(0, index);
  const mark = document.createElement("span");
  mark.textContent = "\u200b";
  copy.append(mark);
  area.parentElement?.append(copy);
  const top = mark.offsetTop + mark.offsetHeight - area.scrollTop;
  const left = mark.offsetLeft;
  copy.remove();
  return {
    top: Math.max(0, Math.min(top, area.clientHeight - 40)),
    left: Math.max(8, Math.min(left, area.clientWidth - 260)),
  };
}
