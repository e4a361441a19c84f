// A unified diff as coloured lines. Signs stay in the text, so it reads without colour. Big
// files are folded and made only when they are opened; very long ones in pieces.

/** @import { DiffPage } from "./types.d.ts" */

import { button, el, prose } from "./dom.js";
import { count, number, shortCommit } from "./words.js";

const FOLD_LINES = 300;
const FOLD_TOTAL = 2500;
const PIECE_LINES = 1500;

/** @typedef {{ path: string, added: number, removed: number, lines: string[] }} FilePart */

/** @param {string} text @returns {FilePart[]} */
export function cutFiles(text) {
  /** @type {FilePart[]} */
  const files = [];
  /** @type {FilePart | undefined} */
  let file;
  let inHunk = false;
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    if (line.startsWith("diff --git ") || !file) {
      file = { path: pathOf(line), added: 0, removed: 0, lines: [] };
      files.push(file);
      inHunk = false;
      if (line.startsWith("diff --git ")) continue;
    }
    if (line.startsWith("@@")) inHunk = true;
    // `+++` and `---` name the file above the hunks; inside one they are changed lines.
    if (!inHunk) {
      // Git ends a name that holds a space with a tab.
      if (line.startsWith("+++ b/")) file.path = line.slice(6).replace(/\t$/, "");
      else if (!/^(index |--- |\+\+\+ )/.test(line)) file.lines.push(line);
      continue;
    }
    if (line.startsWith("+")) file.added++;
    else if (line.startsWith("-")) file.removed++;
    file.lines.push(line);
  }
  return files;
}

/** @param {string} line */
function pathOf(line) {
  const at = line.lastIndexOf(" b/");
  return line.startsWith("diff --git ") && at > 0 ? line.slice(at + 3) : "changes";
}

/** @param {DiffPage} page @returns {HTMLElement} */
export function renderDiff(page) {
  const files = cutFiles(page.text ?? "");
  const told = page.files ?? [];
  // A name in the text may hold what ends a name there: `q b/README` is not README.
  if (told.length === files.length) files.forEach((file, at) => (file.path = told[at]?.path ?? ""));
  const total = files.reduce((sum, file) => sum + file.lines.length, 0);
  if (files.length === 0) return withoutText(page);
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const shown = files.map((file) =>
    renderFile(file, total <= FOLD_TOTAL && file.lines.length <= FOLD_LINES),
  );
  return el(
    "div",
    { class: "diff" },
    el(
      "p",
      { class: "diff-sum small soft" },
      `${count(files.length, "file")}, `,
      el("span", { class: "good" }, `+${number(added)}`),
      " ",
      el("span", { class: "bad" }, `−${number(removed)}`),
      between(page),
    ),
    page.note ? el("p", { class: "small warn" }, prose(page.note)) : null,
    page.cut
      ? el(
          "p",
          { class: "small warn" },
          prose("The diff is long: only its beginning is shown. `git diff` shows all of it."),
        )
      : null,
    files.length > 1
      ? el(
          "ul",
          { class: "diff-files" },
          files.map((file, at) =>
            el(
              "li",
              null,
              el(
                "button",
                {
                  type: "button",
                  class: "diff-jump mono",
                  on: {
                    click: () => {
                      const node = /** @type {HTMLDetailsElement} */ (shown[at]);
                      node.open = true;
                      node.scrollIntoView({ block: "start" });
                      node.querySelector("summary")?.focus({ preventScroll: true });
                    },
                  },
                },
                file.path,
              ),
              sums(file),
            ),
          ),
        )
      : null,
    shown,
  );
}

/** @param {DiffPage} page */
function between({ from, to }) {
  return from && to
    ? el("span", { class: "mono dim" }, ` ${shortCommit(from)} → ${shortCommit(to)}`)
    : null;
}

/** No lines to show: why, and which files differ all the same. @param {DiffPage} page */
function withoutText(page) {
  const files = page.files ?? [];
  const note = page.note || (files.length > 0 ? "Only the names are known." : "No file differs.");
  return el(
    "div",
    { class: "diff" },
    el("p", { class: "dim" }, prose(note), between(page)),
    files.length > 0
      ? el(
          "ul",
          { class: "diff-files" },
          files.map((file) => el("li", null, el("span", { class: "mono" }, file.path), sums(file))),
        )
      : null,
  );
}

/** @param {{ added: number, removed: number }} file */
function sums(file) {
  return el(
    "span",
    { class: "diff-sums" },
    el("span", { class: "good" }, `+${number(file.added)}`),
    el("span", { class: "bad" }, `−${number(file.removed)}`),
  );
}

/** @param {FilePart} file @param {boolean} open */
function renderFile(file, open) {
  const node = el(
    "details",
    { class: "diff-file" },
    el(
      "summary",
      null,
      el("span", { class: "mono cut" }, file.path),
      sums(file),
      open
        ? null
        : el("span", { class: "dim small" }, `folded, ${count(file.lines.length, "line")}`),
    ),
  );
  let made = false;
  const make = () => {
    if (made) return;
    made = true;
    const lines = el("div", {
      class: "diff-lines",
      tabindex: "0",
      role: "group",
      "aria-label": `Changes in ${file.path}`,
    });
    node.append(lines);
    writeLines(lines, file.lines, 0, { old: 0, now: 0 });
  };
  node.addEventListener("toggle", () => node.open && make());
  if (open) {
    node.open = true;
    make();
  }
  return node;
}

/**
 * What a line is, and its numbers before and after; `next` goes on behind it.
 * @param {string} line @param {{ old: number, now: number }} next
 */
export function numbered(line, next) {
  const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
  if (hunk) {
    next.old = Number(hunk[1]);
    next.now = Number(hunk[2]);
    return { kind: "hunk", left: "", right: "" };
  }
  if (line.startsWith("+")) return { kind: "add", left: "", right: String(next.now++) };
  if (line.startsWith("-")) return { kind: "del", left: String(next.old++), right: "" };
  if (line.startsWith(" ") || line === "")
    return { kind: "same", left: String(next.old++), right: String(next.now++) };
  return { kind: "hunk", left: "", right: "" };
}

/**
 * @param {HTMLElement} into
 * @param {string[]} lines
 * @param {number} from
 * @param {{ old: number, now: number }} next
 */
function writeLines(into, lines, from, next) {
  const piece = document.createDocumentFragment();
  const end = Math.min(lines.length, from + PIECE_LINES);
  for (let at = from; at < end; at++) {
    const line = lines[at] ?? "";
    const { kind, left, right } = numbered(line, next);
    piece.append(
      el(
        "div",
        { class: `dl ${kind}` },
        el("span", { class: "dn", "aria-hidden": "true" }, left),
        el("span", { class: "dn", "aria-hidden": "true" }, right),
        el("span", { class: "dt" }, line || " "),
      ),
    );
  }
  into.append(piece);
  if (end < lines.length) {
    const more = button(
      `Show ${number(Math.min(PIECE_LINES, lines.length - end))} more lines`,
      () => {
        more.remove();
        writeLines(into, lines, end, next);
      },
    );
    into.append(more);
  }
}
