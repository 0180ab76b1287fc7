import { expect, test } from "vitest";
import { faceOf } from "./attached";

test("only pictures that cannot carry a script are shown by themselves", () => {
  const faces = ["image/png", "image/webp", "image/svg+xml", "text/html", "text/csv", ""].map(
    (media_type) => faceOf({ media_type }),
  );
  expect(faces).toEqual(["picture", "picture", "file", "table", "file", "file"]);
});
