// The board as it was: how many tasks were in which state, each of them with its owner, and what
// the teammates did. It is a look, nothing in it can be changed.

import { badge, button, el, empty, put } from "../dom.js";
import { Rows } from "../rows.js";
import { TASK_STATES, clock, count, mateState, moment, nameOf, number, taskState } from "../words.js";
import { told } from "./told.js";

/** @import { Card, Ctx, Delta, TeammateView } from "../types.d.ts" */

const ROW = 34;

export class Past {
  /** @param {Ctx} ctx @param {{ back: () => void }} does */
  constructor(ctx, does) {
    this.ctx = ctx;
    this.position = 0;
    /** @type {AbortController | null} */
    this.asked = null;
    /** @type {ReturnType<typeof setTimeout> | 0} */
    this.waits = 0;
    /** @type {Card[]} */
    this.cards = [];
    this.state = "";
    this.when = el("strong");
    this.back = button("Back to now", does.back, { kind: "main", key: "End" });
    this.counts = el("ul", { class: "past-counts", "aria-label": "Tasks by state" });
    this.mates = el("ul", { class: "past-mates", "aria-label": "Teammates then" });
    this.problem = el("div", { class: "past-problem", role: "alert", hidden: true });
    /** @type {Rows<Card>} */
    this.list = new Rows({
      label: "Tasks then",
      height: ROW,
      key: (card) => card.id,
      make: (card) => this.row(card),
      change: (node, card) => put(node, ...this.row(card).childNodes),
    });
    this.body = el(
      "div",
      { class: "past-body" },
      el("div", { class: "past-tasks" }, this.counts, this.list.node),
      el("div", { class: "past-side" }, el("h2", null, "Teammates then"), this.mates),
    );
    this.node = el(
      "section",
      { class: "past", "aria-label": "The board as it was", hidden: true },
      el("div", { class: "past-banner", role: "status" }, el("span", { class: "sign", "aria-hidden": "true" }, "↶"), this.when, this.back),
      this.problem,
      this.body,
    );
  }

  close() {
    clearTimeout(this.waits);
    this.asked?.abort();
    this.list.close();
  }

  /** @param {number} position @param {number} at roughly; the answer says it exactly */
  show(position, at) {
    this.node.hidden = false;
    this.position = position;
    put(this.when, `As it was at ${clock(at)}, record ${number(position)}`);
    this.when.title = moment(at);
    clearTimeout(this.waits);
    // Dragging goes over hundreds of records; only where it rests is asked for.
    this.waits = setTimeout(() => void this.fetch(position), 120);
  }

  hide() {
    this.node.hidden = true;
    clearTimeout(this.waits);
    this.asked?.abort();
  }

  /** @param {number} position */
  async fetch(position) {
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    this.node.setAttribute("aria-busy", "true");
    try {
      /** @type {Delta} */
      const then = await this.ctx.api.get(`at/${position}`, asked.signal);
      if (asked.signal.aborted) return;
      this.problem.hidden = true;
      this.body.hidden = false;
      this.fill(then);
    } catch (error) {
      if (asked.signal.aborted) return;
      this.body.hidden = true;
      this.problem.hidden = false;
      put(this.problem, empty("That moment could not be read.", told(error), button("Try again", () => void this.fetch(position))));
    } finally {
      if (!asked.signal.aborted) this.node.removeAttribute("aria-busy");
    }
  }

  /** @param {Delta} then */
  fill(then) {
    const cards = (then.tasks ?? []).filter((card) => card.status !== "deleted");
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const card of cards) {
      const { key } = taskState(card);
      sums.set(key, (sums.get(key) ?? 0) + 1);
    }
    const states = Object.values(TASK_STATES).filter((state) => sums.has(state.key));
    if (this.state && !sums.has(this.state)) this.state = "";
    put(
      this.counts,
      states.map((state) =>
        el(
          "li",
          null,
          el(
            "button",
            {
              type: "button",
              class: "past-count",
              "aria-pressed": String(this.state === state.key),
              title: `Only those that were ${state.word}`,
              on: { click: () => this.pick(state.key, then) },
            },
            el("strong", null, number(sums.get(state.key) ?? 0)),
            badge(state),
          ),
        ),
      ),
      cards.length === 0 ? el("li", { class: "dim" }, "There were no tasks yet.") : null,
    );
    const order = Object.keys(TASK_STATES);
    const rank = (/** @type {Card} */ card) => {
      const at = ["claimed", "submitted", "returned", "failed", "ready", "pending", "completed"].indexOf(taskState(card).key);
      return at < 0 ? order.length : at;
    };
    this.cards = cards
      .filter((card) => !this.state || taskState(card).key === this.state)
      .sort((a, b) => rank(a) - rank(b) || a.id - b.id);
    this.list.set(this.cards);
    put(this.mates, (then.teammates ?? []).map(mate), (then.teammates ?? []).length === 0 ? el("li", { class: "dim" }, "Nobody was there yet.") : null);
    this.list.node.setAttribute("aria-label", `${count(this.cards.length, "task")} then`);
  }

  /** @param {string} state @param {Delta} then */
  pick(state, then) {
    this.state = this.state === state ? "" : state;
    this.fill(then);
    const chosen = this.counts.querySelector("[aria-pressed=true]") ?? this.counts.querySelector("button");
    if (chosen instanceof HTMLElement) chosen.focus();
  }

  /** @param {Card} card */
  row(card) {
    return el(
      "div",
      { class: "past-row" },
      badge(taskState(card)),
      el("a", { class: "cut", href: this.ctx.href(`task/${card.id}`) }, el("span", { class: "task-id" }, String(card.id)), " ", card.subject),
      el("span", { class: "dim small cut" }, card.owner ? nameOf(card.owner) : (card.why ?? [])[0] ?? ""),
    );
  }
}

/** @param {TeammateView} one */
function mate(one) {
  const held = [...(one.holds ?? []), ...(one.submitted ?? [])];
  return el(
    "li",
    { class: "past-mate" },
    badge(mateState(one)),
    el("span", { class: "cut" }, el("strong", null, one.name), one.role ? el("span", { class: "dim" }, ` ${one.role}`) : null),
    el("span", { class: "dim small cut" }, held.length > 0 ? `task ${held.join(", ")}` : (one.why ?? "")),
  );
}
