// The place to write as the person: to one, to a team, to all of them, or as a reply. It follows the
// conversation that is open, until the person chooses somebody else by hand. What was typed stays
// until the team has accepted it.

import { button, el, put, setText } from "../dom.js";
import { Refused } from "../api.js";
import { parts, seatOf } from "../words.js";
import { called } from "./message_parts.js";

/** @import { Ctx, MessageRow } from "../types.d.ts" */

/**
 * Whom a message is answered to: who wrote to the person; otherwise all whom it is between.
 * @param {MessageRow} row
 */
export function partners(row) {
  const to = (row.to ?? []).map((one) => seatOf(one.to));
  return to.includes("person") ? [seatOf(row.from)] : [...to, seatOf(row.from)];
}

export class Writer {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    /** @type {MessageRow | null} */
    this.replies = null;
    this.names = "";
    /** Those of the open conversation, where they are several. @type {string[]} */
    this.several = [];
    this.byHand = false;
    /** What the open conversation put into the choice. */
    this.partner = "";
    this.to = el("select", { id: "write-to", on: { change: () => this.chose() } });
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
      el("div", { class: "write-line" }, el("label", { for: "write-to" }, "To"), this.to, el("span", { class: "hint" }, "Enter or Ctrl+Enter sends, Shift+Enter begins a new line")),
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
    const names = [...teams, ...seats, "", ...this.several].join();
    if (names === this.names) return;
    this.names = names;
    const before = this.to.value;
    const label = (/** @type {string} */ seat) => {
      const { team, name } = parts(seat);
      const mate = store.teammates.get(seat);
      return `${name}${mate?.lead ? " (leads)" : ""}${team === root ? "" : `, ${team}`}`;
    };
    const { several } = this;
    put(
      this.to,
      several.length > 1
        ? el("optgroup", { label: "This conversation" }, el("option", { value: several.join(" ") }, several.map((seat) => parts(seat).name).join(", ")))
        : null,
      el("optgroup", { label: "Teams" }, teams.map((team) => el("option", { value: `${team}/all` }, `all of ${team}`)),
        teams.length > 1 ? el("option", { value: "*" }, "everybody in every team") : null),
      seats.length > 0 ? el("optgroup", { label: "Teammates" }, seats.map((seat) => el("option", { value: seat }, label(seat)))) : null,
    );
    const lead = seats.find((seat) => store.teammates.get(seat)?.lead);
    this.to.value = before || lead || this.to.value;
    if (this.to.selectedIndex < 0) this.to.selectedIndex = 0;
  }

  /**
   * Whoever the open conversation is with: the one who wrote last, or those it was written to.
   * @param {MessageRow | undefined} last
   */
  follow(last) {
    this.byHand = false;
    this.turn(last ?? null, last ? partners(last) : []);
  }

  /** To whoever wrote it, alone. @param {MessageRow} row */
  reply(row) {
    this.byHand = true;
    this.turn(row, row.from === "person" ? partners(row) : [seatOf(row.from)]);
  }

  /** @param {MessageRow | null} row @param {string[]} seats */
  turn(row, seats) {
    const { store } = this.ctx;
    const mates = [...new Set(seats)].filter((seat) => store.teammates.has(seat));
    this.replies = mates.length > 0 ? row : null;
    this.address(mates);
    this.showQuote();
  }

  /** @param {string[]} mates */
  address(mates) {
    const { store } = this.ctx;
    const team = parts(mates[0] ?? "").team;
    const all = [...store.teammates.keys()].filter((seat) => parts(seat).team === team);
    const whole = mates.length > 2 && mates.length === all.length && all.every((seat) => mates.includes(seat));
    this.several = mates.length > 1 && !whole ? mates : [];
    this.names_();
    if (mates.length === 0) {
      const lead = [...store.teammates.values()].find((mate) => mate.lead);
      if (lead) this.to.value = `${lead.team}/${lead.name}`;
      else this.to.selectedIndex = 0;
    } else this.to.value = whole ? `${team}/all` : mates.join(" ");
    if (this.to.selectedIndex < 0) this.to.selectedIndex = 0;
    this.partner = this.to.value;
  }

  showQuote() {
    const row = this.replies;
    this.quote.hidden = row === null;
    if (!row) return;
    const line = (row.body ?? "").split("\n")[0];
    put(
      this.quote,
      el("span", { class: "cut" }, row.from === "person" ? `In this conversation, after yours: ${line}` : `Reply to ${called(row.from)}: ${line}`),
      button("Not a reply", () => {
        this.replies = null;
        this.byHand = true;
        this.showQuote();
        this.text.focus();
      }, { kind: "quiet" }),
    );
  }

  /** Written to somebody else, it is no part of the open conversation. */
  chose() {
    this.byHand = true;
    if (this.to.value !== this.partner) this.replies = null;
    this.showQuote();
  }

  async send() {
    const body = this.text.value.trim();
    if (!body) {
      this.tell("The message is empty.", "Write a few words first.");
      return;
    }
    const { ctx } = this;
    const chosen = this.to.value;
    const to = chosen === "*" ? [...ctx.store.teams.keys()].map((team) => `${team}/all`) : chosen.split(" ");
    setText(this.heard, "");
    this.yes.disabled = true;
    this.problem.hidden = true;
    try {
      for (const one of to) {
        await ctx.api.ask({ send: { to: one, body, kind: null, reply_to: this.replies?.id ?? null } });
      }
      this.text.value = "";
      if (this.replies) this.byHand = false;
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
