// Small drawings of pictures. The browser decodes a picture once, beside the page, and keeps only what is drawn.

/** Points of the screen that a drawing is made for; finer screens have twice as many. */
const SHARPNESS = 2;

type Size = { width: number; height: number };

/** The largest size of the same shape within a box; a picture is never made larger. */
export function within(picture: Size, box: Size): Size {
  const scale = Math.min(1, box.width / picture.width, box.height / picture.height);
  return {
    width: Math.max(1, Math.round(picture.width * scale)),
    height: Math.max(1, Math.round(picture.height * scale)),
  };
}

/** Draws a picture within a box, in points of the screen; throws where the bytes are none. */
export async function drawWithin(
  canvas: HTMLCanvasElement,
  content: Blob,
  box: Size,
): Promise<void> {
  const whole = await createImageBitmap(content);
  const sharp = { width: box.width * SHARPNESS, height: box.height * SHARPNESS };
  const { width, height } = within(whole, sharp);
  const small = await createImageBitmap(whole, {
    resizeWidth: width,
    resizeHeight: height,
    resizeQuality: "high",
  });
  whole.close();
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d")?.drawImage(small, 0, 0);
  small.close();
}
