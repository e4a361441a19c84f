// What a teammate printed, as it grows. Places are bytes of the stored output, so that a piece
// that comes twice (after a reconnect) is shown once and a gap is seen. Terminal escapes are
// taken out; the rest is text and nothing else.

/** @import { OutputPiece } from "./types.d.ts" */

import { el, honest } from "./dom.js";

export const KEPT_MAX = 1_500_000;
const NEAR_PX = 48;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Without colours, cursor moves, titles, and lines that were written over. @param {string} text */
export function plain(text) {
  const lines = (
    text
      // eslint-disable-next-line no-control-regex
      .replace(
        /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[[(][0-9;?]*[ -/]*[@-~]|\u001b./g,
        "",
      )
      .replace(/\r\n/g, "\n")
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, "")
  ).split("\n");
  // By hand: an expression for "up to the last return" takes minutes for one very long line.
  return honest(lines.map((line) => line.slice(line.lastIndexOf("\r") + 1)).join("\n"));
}

export class OutputLog {
  /** @param {() => void} moved called when it begins or ends to follow */
  constructor(moved) {
    this.text = el("pre", { class: "live-text" });
    this.older = el("div", { class: "older" });
    this.node = el(
      "div",
      { class: "live-box", tabindex: "0", role: "log", "aria-label": "Output", "aria-live": "off" },
      this.older,
      this.text,
    );
    this.life = 0;
    /** Bytes shown: from and up to. */
    this.from = 0;
    this.to = 0;
    this.follows = true;
    this.kept = 0;
    /** Bytes of the output that each piece stands for: more than it shows. @type {number[]} */
    this.sizes = [];
    this.node.addEventListener(
      "scroll",
      () => {
        const near =
          this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < NEAR_PX;
        if (near === this.follows) return;
        this.follows = near;
        moved();
      },
      { passive: true },
    );
  }

  clear() {
    this.text.replaceChildren();
    this.kept = 0;
    this.sizes = [];
    this.from = 0;
    this.to = 0;
  }

  /** The next piece, wherever it overlaps. @param {OutputPiece} piece */
  add(piece) {
    let bytes = encoder.encode(piece.text);
    let { from } = piece;
    const empty = this.kept === 0;
    if (piece.life !== this.life || empty || from > this.to) {
      this.clear();
      this.life = piece.life;
      this.from = from;
    } else if (from < this.to) {
      if (from + bytes.length <= this.to) return;
      bytes = bytes.subarray(this.to - from);
      from = this.to;
    }
    this.to = from + bytes.length;
    if (bytes.length === 0) return;
    const text = plain(decoder.decode(bytes));
    this.text.append(document.createTextNode(text));
    this.kept += bytes.length;
    this.sizes.push(bytes.length);
    if (this.follows) {
      this.trim();
      this.end();
    }
  }

  /** What came before. The eyes stay on the line they are on. @param {OutputPiece} piece */
  before(piece) {
    const height = this.node.scrollHeight;
    this.text.prepend(document.createTextNode(plain(piece.text)));
    this.kept += this.from - piece.from;
    this.sizes.unshift(this.from - piece.from);
    this.from = piece.from;
    this.node.scrollTop += this.node.scrollHeight - height;
  }

  /** The oldest goes while nobody reads it; it can be fetched again. */
  trim() {
    while (this.kept > KEPT_MAX && this.sizes.length > 1) {
      this.text.firstChild?.remove();
      const size = this.sizes.shift() ?? 0;
      this.kept -= size;
      this.from += size;
    }
  }

  end() {
    this.follows = true;
    this.node.scrollTop = this.node.scrollHeight;
  }
}
