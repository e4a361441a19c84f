// Server-sent events are cut out of text that comes in any pieces.

import assert from "node:assert/strict";
import { test } from "node:test";

import { events } from "../../src/web/page/stream.js";

/** The events in a text that comes in these pieces. @param {string[]} pieces */
function read(...pieces) {
  const found = [];
  const parse = events((name, data) => found.push([name, data]));
  for (const piece of pieces) parse(piece);
  return found;
}

test("an event has a name and data, and ends with an empty line", () => {
  assert.deepEqual(read("event: delta\ndata: {}\n\n"), [["delta", "{}"]]);
  assert.deepEqual(read("event: delta\ndata: {}\n"), []);
});

test("an event without a name is a message, also after one with a name", () => {
  assert.deepEqual(read("event: a\ndata: 1\n\ndata: 2\n\n"), [["a", "1"], ["message", "2"]]);
});

test("a name without data is no event, and names no other", () => {
  assert.deepEqual(read("event: a\n\ndata: 2\n\n"), [["message", "2"]]);
});

test("data over several lines is joined, and one space after the colon is left out", () => {
  assert.deepEqual(read("data: a\ndata:b\ndata:  c\ndata:\n\n"), [["message", "a\nb\n c\n"]]);
});

test("comments, numbers and waiting times are passed over", () => {
  assert.deepEqual(read(": alive\n\nid: 4\nretry: 100\ndata: 1\n\n:\n\n"), [["message", "1"]]);
});

test("lines may end as on Windows", () => {
  assert.deepEqual(read("event: a\r\ndata: 1\r\n\r\n"), [["a", "1"]]);
});

test("wherever the text is cut in two, the events are the same", () => {
  const named = "event: delta\r\ndata: {\"a\": \"b: c\"}\r\n\r\nevent: gone\ndata:\n\n";
  const text = `: hello\n\n${named}data: x\ndata: y\n\n`;
  const all = read(text);
  assert.equal(all.length, 3);
  for (let at = 0; at <= text.length; at++) {
    assert.deepEqual(read(text.slice(0, at), text.slice(at)), all, `cut at ${at}`);
  }
  assert.deepEqual(read(...text), all);
});

test("a line in many pieces is put together once", () => {
  const pieces = Array.from({ length: 5000 }, () => "x".repeat(20));
  assert.deepEqual(read("data: ", ...pieces, "\n\n"), [["message", "x".repeat(100_000)]]);
});
