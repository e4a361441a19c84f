// The team's scratchpad: what one found out and the others should know, newest first. Notes are
// fetched, and again when the log tells of a new one; older ones come when they are asked for.

import { Refused } from "../api.js";
import { confirm } from "../dialog.js";
import { button, el, empty, keep, put, setText } from "../dom.js";
import { ago, moment, nameOf } from "../words.js";

/** @import { Ctx, NoteView, Part, Screen } from "../types.d.ts" */

const PAGE = 50;
/** Changes and keys come in bursts; one fetch for a burst is enough. */
const SETTLE_MS = 250;

/** @param {Ctx} ctx @returns {Screen} */
export function open(ctx) {
  const screen = new Notes(ctx);
  return {
    node: screen.node,
    title: "Notes",
    update: (changed) => screen.update(changed),
    close: () => screen.close(),
    keys: {
      n: { does: "write a note", run: () => screen.text.focus() },
      o: { does: "older notes", run: () => void screen.fetch(true) },
      "/": { does: "search", run: () => screen.find.focus() },
    },
  };
}

/** A note as a row. What it says is text, whatever it looks like. @param {Ctx} ctx @param {NoteView} note */
export function noteRow(ctx, note) {
  return el(
    "li",
    { class: "talk-row" },
    el(
      "div",
      { class: "talk-head" },
      el("strong", null, note.by === "person" ? "you" : nameOf(note.by)),
      note.task ? el("a", { href: ctx.href(`task/${note.task}`) }, `task ${note.task}`) : null,
      note.team !== ctx.root ? el("span", { class: "chip" }, note.team) : null,
      el("time", { class: "dim small talk-when", data: { at: note.at }, title: moment(note.at) }, ago(Math.max(0, ctx.store.time() - note.at))),
      ctx.readonly ? null : button("Remove", () => void remove(ctx, note), { kind: "quiet", title: `Remove note ${note.id}` }),
    ),
    el("p", { class: "wrap prose" }, note.text),
  );
}

/** @param {Ctx} ctx @param {NoteView} note */
function remove(ctx, note) {
  return confirm({
    title: `Remove note ${note.id}`,
    text: "Nobody is shown it any more. The log keeps what it said.",
    yes: "Remove",
    danger: true,
    send: async () => {
      await ctx.api.ask({ note_remove: { note: note.id } }, note.team);
      ctx.say(`Note ${note.id} removed`, "good");
    },
  });
}

class Notes {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    /** @type {NoteView[]} */
    this.notes = [];
    this.more = false;
    /** The last record that the list knows of. */
    this.seen = ctx.store.position;
    this.turn = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.find = el("input", { type: "search", placeholder: "Search the notes", "aria-label": "Search the notes", on: { input: () => this.soon() } });
    this.text = el("textarea", { rows: 2, maxlength: 2048, "aria-label": "Note", placeholder: "What should everybody know?" });
    this.problem = el("div", { class: "problem", role: "alert", hidden: true });
    this.list = el("ol", { class: "talk note-list" });
    this.none = el("div");
    this.older = button("Older notes", () => void this.fetch(true), { key: "o" });
    this.older.hidden = true;
    const form = el(
      "form",
      { class: "write", "aria-label": "Write a note" },
      this.problem,
      el("div", { class: "write-line" }, this.text, el("button", { type: "submit", class: "button main" }, "Add")),
    );
    form.hidden = ctx.readonly === true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.add();
    });
    this.node = el(
      "section",
      { class: "screen scroll", "aria-label": "Notes" },
      el("div", { class: "page notes-page" }, el("h1", null, "Notes"), form, this.find, this.none, this.list, this.older),
    );
    ctx.tick(() => this.age());
    void this.fetch(false);
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const isOther = this.ctx.store.lines.some((line) => line.n > this.seen && line.event.startsWith("note."));
    this.seen = this.ctx.store.position;
    if (changed.has("whole") || isOther) this.soon();
  }

  close() {
    clearTimeout(this.timer);
    this.turn++;
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetch(false), SETTLE_MS);
  }

  /** The newest, or those before the last that is shown. @param {boolean} older */
  async fetch(older) {
    const turn = ++this.turn;
    const search = this.find.value.trim();
    const before = older ? this.notes.at(-1)?.id : undefined;
    try {
      const answer = /** @type {{ notes: NoteView[] }} */ (
        await this.ctx.api.ask({ notes: { search: search || undefined, before, limit: PAGE } })
      );
      if (turn !== this.turn) return;
      this.notes = older ? this.notes.concat(answer.notes) : answer.notes;
      this.more = answer.notes.length === PAGE;
      this.show(search);
    } catch (error) {
      if (turn === this.turn) this.ctx.complain(error);
    }
  }

  /** @param {string} search */
  show(search) {
    keep(this.list, this.notes, (note) => String(note.id), (note) => noteRow(this.ctx, note));
    this.older.hidden = !this.more;
    put(
      this.none,
      this.notes.length > 0
        ? null
        : search
          ? empty("No note has these words.")
          : empty("No notes yet.", "What one teammate found out and the others should know is written here, by them or by you."),
    );
  }

  age() {
    for (const time of this.list.querySelectorAll("time")) {
      setText(time, ago(Math.max(0, this.ctx.store.time() - Number(time.dataset.at))));
    }
  }

  async add() {
    const text = this.text.value.trim();
    if (text === "") return;
    this.problem.hidden = true;
    try {
      await this.ctx.api.ask({ note_add: { text } });
      this.text.value = "";
      this.soon();
    } catch (error) {
      // What was typed stays until the team has it.
      setText(this.problem, error instanceof Refused ? `${error.message} ${error.remedy}` : String(error));
      this.problem.hidden = false;
    }
  }
}
