// Arrow keys go where they point: from right to left, the left one leads onward.

/** The key with which the same is reached in a page from left to right. */
export function across(key: string): string {
  if (document.dir !== "rtl") return key;
  return key === "ArrowLeft" ? "ArrowRight" : key === "ArrowRight" ? "ArrowLeft" : key;
}
