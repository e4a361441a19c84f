// A unified diff in files and numbered lines, as git writes it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cutFiles, numbered } from "../../src/web/page/diff.js";

const cut = (...lines) => cutFiles(`${lines.join("\n")}\n`);
const sums = (files) => files.map(({ path, added, removed }) => `${path} +${added} -${removed}`);

const CHANGED = [
  "diff --git a/src/a.rs b/src/a.rs",
  "index 111..222 100644",
  "--- a/src/a.rs",
  "+++ b/src/a.rs",
  "@@ -1,3 +1,3 @@ fn main() {",
  " same",
  "-old",
  "+new",
  "+more",
];

test("no text has no files", () => {
  assert.deepEqual(cutFiles(""), []);
});

test("a file has its path, its sums and the lines of its hunks", () => {
  const [file, ...rest] = cut(...CHANGED);
  assert.deepEqual(rest, []);
  assert.deepEqual(file, { path: "src/a.rs", added: 2, removed: 1, lines: CHANGED.slice(4) });
});

test("each file begins with its own line", () => {
  const second = CHANGED.map((line) => line.replaceAll("src/a.rs", "b.rs"));
  assert.deepEqual(sums(cut(...CHANGED, ...second)), ["src/a.rs +2 -1", "b.rs +2 -1"]);
});

test("a line that is removed or added may look like the name of a file", () => {
  const [file] = cut(...CHANGED, "--- a comment of SQL", "+++ b/other", "-diff --git a/x b/x");
  assert.deepEqual([file.path, file.added, file.removed], ["src/a.rs", 3, 3]);
});

test("a new file, a deleted one, a binary one and a renamed one have their names", () => {
  const files = cut(
    "diff --git a/new b/new", "new file mode 100644", "index 000..111",
    "--- /dev/null", "+++ b/new", "@@ -0,0 +1 @@", "+a",
    "diff --git a/old b/old", "deleted file mode 100644", "index 111..000",
    "--- a/old", "+++ /dev/null", "@@ -1 +0,0 @@", "-a",
    "diff --git a/x.png b/x.png", "index 111..222 100644", "Binary files a/x.png and b/x.png differ",
    "diff --git a/from b/to", "similarity index 100%", "rename from from", "rename to to",
  );
  assert.deepEqual(sums(files), ["new +1 -0", "old +0 -1", "x.png +0 -0", "to +0 -0"]);
  assert.deepEqual(files[2].lines, ["Binary files a/x.png and b/x.png differ"]);
  assert.deepEqual(files[3].lines, ["similarity index 100%", "rename from from", "rename to to"]);
});

test("a name with spaces is without the tab that git ends it with", () => {
  const head = ["diff --git a/my file b/my file", "--- a/my file\t", "+++ b/my file\t"];
  const [file] = cut(...head, "@@ -1 +1 @@", "-a", "+b");
  assert.equal(file.path, "my file");
});

test("a name that holds what ends a name is taken from the line that holds one name only", () => {
  const head = ["diff --git a/q b/README b/q b/README", "--- a/q b/README\t", "+++ b/q b/README\t"];
  const [file] = cut(...head, "@@ -1 +1 @@", "+a");
  assert.equal(file.path, "q b/README");
});

test("text that does not begin with a file's name is shown all the same", () => {
  const [file] = cut("@@ -1 +1 @@", "-a", "+b");
  assert.deepEqual([file.path, file.added, file.removed, file.lines.length], ["changes", 1, 1, 3]);
});

test("a text that is cut anywhere never fails, and keeps what came before", () => {
  const text = `${CHANGED.join("\n")}\n`;
  for (let at = 0; at <= text.length; at++) {
    const files = cutFiles(text.slice(0, at));
    assert.ok(files.length <= 1, `cut at ${at}`);
    if (at > text.indexOf("+more")) assert.equal(files[0].path, "src/a.rs");
  }
});

/** Lines with their numbers before and after. */
function lines(...all) {
  const next = { old: 0, now: 0 };
  return all.map((line) => {
    const { kind, left, right } = numbered(line, next);
    return `${kind} ${left || "-"} ${right || "-"}`;
  });
}

test("lines are numbered before and after, and each hunk begins anew", () => {
  assert.deepEqual(
    lines("@@ -5,3 +7,4 @@ fn", " a", "-b", "+c", "+d", "", "@@ -20 +30 @@", "-e", "+f"),
    ["hunk - -", "same 5 7", "del 6 -", "add - 8", "add - 9", "same 7 10", "hunk - -", "del 20 -", "add - 30"],
  );
});

test("what git says beside the lines has no number and takes none", () => {
  assert.deepEqual(
    lines("@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"),
    ["hunk - -", "del 1 -", "hunk - -", "add - 1", "hunk - -"],
  );
  assert.deepEqual(lines("new file mode 100644", "@@ -0,0 +1,2 @@", "+a"), ["hunk - -", "hunk - -", "add - 1"]);
});

test("a line that begins with signs is not a hunk", () => {
  assert.deepEqual(lines("@@ -1 +1 @@", "-@@ -9 +9 @@", "+@@ -9 +9 @@"), ["hunk - -", "del 1 -", "add - 1"]);
});
