// The place to write as the person: to one, to a team, to all of them, or as a reply. What was
// typed stays until the team has accepted it.

import { button, el, put, setText } from "../dom.js";
import { Refused } from "../api.js";
import { parts, seatOf } from "../words.js";
import { called } from "./message_parts.js";

/** @import { Ctx, MessageRow } from "../types.d.ts" */

export class Writer {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    /** @type {MessageRow | null} */
    this.replies = null;
    this.names = "";
    this.to = el("select", { id: "write-to" });
    this.text = el("textarea", { rows: 2, maxlength: 60_000, "aria-label": "Message", placeholder: "Write to the team…" });
    this.quote = el("div", { class: "write-quote", hidden: true });
    this.problem = el("div", { class: "problem", role: "alert", hidden: true });
    // It is seen in the list; only those who hear the page have to be told.
    this.heard = el("span", { class: "unseen", role: "status" });
    this.yes = el("button", { type: "submit", class: "button main" }, "Send");
    this.node = el(
      "form",
      { class: "write", "aria-label": "Write as the person" },
      this.quote,
      this.problem,
      el("div", { class: "write-line" }, el("label", { for: "write-to" }, "To"), this.to, el("span", { class: "hint" }, "Enter sends, Shift and Enter begin a new line")),
      el("div", { class: "write-line" }, this.text, this.yes, this.heard),
    );
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.send();
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        void this.send();
      }
    });
    this.names_();
  }

  /** Whoever can be written to, as of now. */
  names_() {
    const { store, root } = this.ctx;
    const teams = [...store.teams.values()].filter((team) => team.phase !== "deleted").map((team) => team.name);
    const seats = [...store.teammates.keys()].sort();
    const names = [...teams, ...seats].join();
    if (names === this.names) return;
    this.names = names;
    const before = this.to.value;
    const label = (/** @type {string} */ seat) => {
      const { team, name } = parts(seat);
      const mate = store.teammates.get(seat);
      return `${name}${mate?.lead ? " (leads)" : ""}${team === root ? "" : `, ${team}`}`;
    };
    put(
      this.to,
      el("optgroup", { label: "Teams" }, teams.map((team) => el("option", { value: `${team}/all` }, `all of ${team}`)),
        teams.length > 1 ? el("option", { value: "*" }, "everybody in every team") : null),
      seats.length > 0 ? el("optgroup", { label: "Teammates" }, seats.map((seat) => el("option", { value: seat }, label(seat)))) : null,
    );
    const lead = seats.find((seat) => store.teammates.get(seat)?.lead);
    this.to.value = before || lead || this.to.value;
    if (this.to.selectedIndex < 0) this.to.selectedIndex = 0;
  }

  /** @param {MessageRow | null} row */
  reply(row) {
    this.replies = row;
    this.quote.hidden = row === null;
    if (row) {
      this.to.value = seatOf(row.from);
      put(
        this.quote,
        el("span", { class: "cut" }, `Reply to ${called(row.from)}: ${(row.body ?? "").split("\n")[0]}`),
        button("Not a reply", () => (this.reply(null), this.text.focus()), { kind: "quiet" }),
      );
    }
    this.to.disabled = row !== null;
  }

  async send() {
    const body = this.text.value.trim();
    if (!body) {
      this.tell("The message is empty.", "Write a few words first.");
      return;
    }
    const { ctx } = this;
    const chosen = this.to.value;
    const to = chosen === "*" ? [...ctx.store.teams.keys()].map((team) => `${team}/all`) : [chosen];
    setText(this.heard, "");
    this.yes.disabled = true;
    this.problem.hidden = true;
    try {
      for (const one of to) {
        await ctx.api.ask({ send: { to: one, body, kind: null, reply_to: this.replies?.id ?? null } });
      }
      this.text.value = "";
      setText(this.heard, "Sent");
    } catch (error) {
      if (error instanceof Refused && !error.locked) this.tell(error.message, error.remedy);
      else ctx.complain(error);
    } finally {
      this.yes.disabled = false;
    }
  }

  /** @param {string} fact @param {string} remedy */
  tell(fact, remedy) {
    this.problem.hidden = false;
    put(this.problem, el("strong", null, fact), remedy ? ` ${remedy}` : null);
    this.text.focus();
  }
}
