import { describe, expect, test } from "vitest";
import { FrameParser } from "./sse";

const parse = (...chunks: string[]) => {
  const parser = new FrameParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
};

describe("FrameParser", () => {
  test("gives the data and the id of a frame", () => {
    expect(parse('id: 3.17\ndata: {"kind":"x"}\n\n')).toEqual([
      { id: "3.17", data: '{"kind":"x"}' },
    ]);
  });

  test("joins a frame that arrives in any pieces", () => {
    const text = 'id: 1.0\ndata: {"a":1}\n\nid: 2.0\ndata: [DONE]\n\n';
    const whole = parse(text);
    for (let cut = 1; cut < text.length; cut += 1) {
      expect(parse(text.slice(0, cut), text.slice(cut))).toEqual(whole);
    }
    expect(parse(...text)).toEqual(whole);
  });

  test("reads the three ends of line alike, also when CR and LF come apart", () => {
    const whole = [{ id: "1", data: "a" }];
    expect(parse("id: 1\r\ndata: a\r\n\r\n")).toEqual(whole);
    expect(parse("id: 1\r", "\ndata: a\r", "\n\r", "\n")).toEqual(whole);
    expect(parse("id: 1\rdata: a\r\r", "data: b")).toEqual(whole);
  });

  test("skips comments and joins the lines of data", () => {
    expect(parse(": keep-alive\n\ndata: a\ndata:b\ndata\n\n")).toEqual([
      { id: null, data: "a\nb\n" },
    ]);
  });

  test("keeps the last id for frames that name none", () => {
    expect(parse("id: 7\ndata: a\n\ndata: b\n\n").map((frame) => frame.id)).toEqual(["7", "7"]);
  });

  test("never gives a frame that was cut off", () => {
    expect(parse("data: a\n\ndata: b\n")).toEqual([{ id: null, data: "a" }]);
  });

  test("ignores a byte order mark at the very beginning", () => {
    expect(parse("\ufeffdata: a\n\n")).toEqual([{ id: null, data: "a" }]);
  });
});
