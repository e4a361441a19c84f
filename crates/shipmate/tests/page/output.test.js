// What a teammate printed: without escapes of a terminal, each byte once, and the oldest goes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { honest } from "../../src/web/page/dom.js";
import { KEPT_MAX, OutputLog, plain } from "../../src/web/page/outputlog.js";
import { withoutPage } from "./made.js";

globalThis.document = { createTextNode: (text) => ({ text }) };

test("escapes of a terminal are taken out, and the text stays", () => {
  for (const [text, expected] of [
    ["\u001b[1;31mred\u001b[0m", "red"],
    ["\u001b[2K\u001b[1Gline", "line"],
    ["\u001b[?25lhidden", "hidden"],
    ["\u001b]0;a title\u0007text", "text"],
    ["\u001b]8;;https://example.org\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u001b(Bascii", "ascii"],
    ["\u001bMup", "up"],
    ["bell\u0007 and \u0000nothing\u007f", "bell and nothing"],
    ["tab\tstays", "tab\tstays"],
    ["a\r\nb", "a\nb"],
    ["10%\r50%\r100%", "100%"],
    ["10%\r100%\nnext", "100%\nnext"],
    ["größe 日本 🚀", "größe 日本 🚀"],
  ]) {
    assert.equal(plain(text), expected, JSON.stringify(text));
  }
});

test("a line of a million returns is read at once", () => {
  assert.equal(plain(`${"x\r".repeat(1_000_000)}end`), "end");
});

test("marks that write backwards are shown instead of obeyed", () => {
  assert.equal(honest("rm \u202efr-\u202c x"), "rm \\u{202e}fr-\\u{202c} x");
  assert.equal(plain("\u2066a\u2069"), "\\u{2066}a\\u{2069}");
  assert.equal(honest("שלום and text"), "שלום and text");
});

/** The output of a teammate, without its nodes: pieces of text in a list. */
function log() {
  const pieces = [];
  const text = {
    append: (node) => pieces.push(node),
    prepend: (node) => pieces.unshift(node),
    replaceChildren: () => (pieces.length = 0),
    get firstChild() {
      return pieces[0] && { remove: () => pieces.shift() };
    },
  };
  const node = { scrollTop: 0, scrollHeight: 0 };
  const made = withoutPage(OutputLog, { text, node, life: 0, from: 0, to: 0, kept: 0, sizes: [], follows: true });
  const add = (from, words, life = 1) => made.add({ who: "a/b", life, from, text: words });
  return { log: made, add, shown: () => pieces.map((piece) => piece.text).join(""), pieces };
}

test("pieces follow each other, and places are bytes", () => {
  const { log: made, add, shown } = log();
  add(0, "größe\n");
  add(8, "日本");
  assert.deepEqual([shown(), made.from, made.to], ["größe\n日本", 0, 14]);
});

test("what comes twice is shown once, and of an overlap only what is new", () => {
  const { add, shown } = log();
  add(0, "one two ");
  add(0, "one two ");
  add(4, "two three");
  add(2, "e");
  assert.equal(shown(), "one two three");
});

test("after a gap or with a new life it begins anew", () => {
  const { log: made, add, shown } = log();
  add(0, "one");
  add(10, "two");
  assert.deepEqual([shown(), made.from, made.to], ["two", 10, 13]);
  add(0, "three", 2);
  assert.deepEqual([shown(), made.from, made.life], ["three", 0, 2]);
});

test("what came before is put before", () => {
  const { log: made, add, shown } = log();
  add(14, "two");
  made.before({ who: "a/b", life: 1, from: 10, text: "one " });
  assert.deepEqual([shown(), made.from, made.to, made.kept], ["one two", 10, 17, 7]);
  assert.deepEqual(made.sizes, [4, 3]);
});

test("the oldest goes when there is too much, and its place is where the rest begins", () => {
  const { log: made, add, pieces } = log();
  const size = 100_000;
  // Most of it is colour: what is shown is shorter than what was printed.
  const piece = "\u001b[31mx".repeat(size / 6).padEnd(size, ".");
  let at = 0;
  for (; at < 40 * size; at += size) add(at, piece);
  assert.ok(made.kept <= KEPT_MAX, `${made.kept} bytes are kept`);
  assert.equal(made.to, at);
  assert.equal(made.to - made.from, made.kept);
  assert.equal(made.from, at - pieces.length * size, "it can be fetched again without a gap");
});

test("while somebody reads further up nothing goes", () => {
  const { log: made, add } = log();
  made.follows = false;
  for (let n = 0; n < 40; n++) add(n * 100_000, "x".repeat(100_000));
  assert.equal(made.from, 0);
});

test("one piece that is too large alone stays", () => {
  const { log: made, add } = log();
  add(0, "x".repeat(KEPT_MAX + 10));
  assert.deepEqual([made.from, made.kept], [0, KEPT_MAX + 10]);
});
