// Tokens and money: by teammate, by task, by model, and how much of it is coordination.
//
// Coordination is what no task can be charged with: calls without a task, and all that whoever
// leads spends. A price that nobody knows is said to be unknown; it never looks like nothing.

import { button, el, empty, put, setText } from "../dom.js";
import { count, money, nameOf, number, percent, price as known, seatOf, share, tokens } from "../words.js";
import { told } from "./told.js";

/** @import { CostRow, Ctx, Part, Screen, TeamView, TeammateView } from "../types.d.ts" */

/** @typedef {"who" | "task" | "model"} By */
/** @typedef {"name" | "cost" | "tokens_in" | "tokens_cached" | "tokens_out" | "calls"} Column */
/**
 * @typedef {object} Sum
 * @property {string} key
 * @property {string} name
 * @property {number} tokens_in
 * @property {number} tokens_out
 * @property {number} tokens_cached
 * @property {number} cost
 * @property {number} calls
 * @property {number} unpriced  tokens of calls without a price
 * @property {number} estimated  tokens that nobody has told
 * @property {number} worth  money that nobody pays: what a key would have paid for what a subscription was asked
 * @property {number} worthUnpriced  tokens of which nobody knows that
 * @property {number} subscribed  rows of subscriptions
 */

const SHOWN = 50;

/** @param {Ctx} ctx @returns {Screen} */
export function open(ctx) {
  const cost = new Cost(ctx);
  return {
    node: cost.node,
    title: "Cost",
    update: (changed) => cost.update(changed),
    keys: {
      w: { does: "by teammate", run: () => cost.turn("who") },
      s: { does: "by task", run: () => cost.turn("task") },
      o: { does: "by model", run: () => cost.turn("model") },
    },
  };
}

/** @param {string} key @param {string} name @returns {Sum} */
export const zero = (key, name) => ({
  key, name, tokens_in: 0, tokens_out: 0, tokens_cached: 0, cost: 0, calls: 0, unpriced: 0, estimated: 0, worth: 0, worthUnpriced: 0, subscribed: 0,
});

/** @param {Sum} sum @param {CostRow} row @param {boolean} [subscription] */
export function add(sum, row, subscription = false) {
  sum.tokens_in += row.tokens_in;
  sum.tokens_out += row.tokens_out;
  sum.tokens_cached += row.tokens_cached;
  sum.cost += row.cost_micros;
  sum.calls += row.calls;
  sum.estimated += row.tokens_estimated;
  if (subscription) {
    sum.worth += row.cost_micros;
    sum.worthUnpriced += row.tokens_unpriced;
    sum.subscribed += 1;
  } else sum.unpriced += row.tokens_unpriced;
}

/** It was asked with an account that has windows: nobody pays by the token. @param {Ctx} ctx @param {CostRow} row */
export function isSubscription(ctx, row) {
  return ctx.store.accounts.some((account) => account.name === row.account && account.subscription === true);
}

/** What it cost, or how much of that is known. @param {Sum} sum */
export function price(sum) {
  return known(sum.cost - sum.worth, sum.unpriced, sum.subscribed > 0 ? sum.worth : undefined, sum.worthUnpriced);
}

class Cost {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    /** @type {By} */
    this.by = "who";
    /** @type {Column} */
    this.column = "cost";
    this.down = true;
    this.all = false;
    this.problem = "";
    /** Something changed since the last second: sums that jump with every call cannot be read. */
    this.late = false;
    ctx.tick(() => this.late && this.show());
    this.total = el("div", { class: "cost-total" });
    this.budgets = el("div", { class: "cost-budgets" });
    this.segments = el("div", { class: "segments", role: "group", "aria-label": "Add up" });
    this.table = el("div", { class: "wide-box", tabindex: 0, role: "group", "aria-label": "Cost table" });
    this.full = el("div", { class: "page cost-page" });
    this.none = el("div");
    this.scale = el("span", { class: "dim small" });
    /** Money cannot be compared where some of it is unknown. */
    this.byTokens = false;
    this.node = el("section", { class: "screen scroll cost", "aria-label": "Cost" }, el("h1", { class: "unseen" }, "Cost"), this.none, this.full);
    put(
      this.full,
      this.total,
      this.budgets,
      el("div", { class: "cost-pick" }, this.segments, el("span", { class: "dim small" }, "Cached tokens are part of those in."), this.scale),
      this.table,
    );
    this.fetch();
    this.show();
  }

  fetch() {
    this.problem = "";
    this.ctx.need("costs").catch((error) => {
      this.problem = told(error);
      this.show();
    });
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const names = this.by === "task" && changed.has("tasks");
    const first = this.full.hidden;
    if (changed.has("whole") || (first && changed.has("costs"))) this.show();
    else if (changed.has("costs") || changed.has("teams") || names) this.late = true;
  }

  /** @param {By} by */
  turn(by) {
    this.by = by;
    this.all = false;
    this.show();
  }

  rows() {
    return [...this.ctx.store.costs.values()];
  }

  show() {
    this.late = false;
    // Rows that news brought before all of them were read would look like all of them.
    const loading = this.ctx.store.costsAt < 0;
    const rows = loading ? [] : this.rows();
    this.full.hidden = rows.length === 0;
    this.none.hidden = rows.length > 0;
    if (rows.length === 0) {
      put(this.none, this.instead(loading));
      return;
    }
    this.showTotal(rows);
    this.showBudgets();
    this.showSegments();
    this.showTable(rows);
  }

  /** @param {boolean} loading */
  instead(loading) {
    if (this.problem) {
      return el(
        "div",
        { role: "alert" },
        empty("The costs could not be read.", this.problem, button("Try again", () => (this.fetch(), this.show()))),
      );
    }
    if (loading) return el("p", { class: "empty", role: "status" }, "Adding up…");
    return empty("Nothing was spent yet.", "Tokens and money appear with the first call of a model. Teammates that are plain commands cost none.");
  }

  /** @param {CostRow[]} rows */
  showTotal(rows) {
    const all = zero("", "");
    const around = zero("", "");
    for (const row of rows) {
      const subscription = isSubscription(this.ctx, row);
      add(all, row, subscription);
      if (this.isCoordination(row)) add(around, row, subscription);
    }
    const [paid, paidAround] = [all.cost - all.worth, around.cost - around.worth];
    const byMoney = paid > 0;
    const share = byMoney ? percent(paidAround, paid) : percent(around.tokens_in + around.tokens_out, all.tokens_in + all.tokens_out);
    const width = byMoney ? paidAround / paid : (around.tokens_in + around.tokens_out) / Math.max(1, all.tokens_in + all.tokens_out);
    const bar = el("span", { class: "share-bar", "aria-hidden": "true" }, el("i"));
    /** @type {HTMLElement} */ (bar.firstChild).style.width = `${Math.min(100, width * 100)}%`;
    put(
      this.total,
      figure("spent", price(all), more(all)),
      figure("tokens in", tokens(all.tokens_in), `${tokens(all.tokens_cached)} of them cached (${percent(all.tokens_cached, all.tokens_in)})`),
      figure("tokens out", tokens(all.tokens_out), `${percent(all.tokens_out, all.tokens_in + all.tokens_out)} of all tokens`),
      figure("coordination", share, byMoney ? `${price(around)}: whoever leads, and calls without a task` : "of the tokens: whoever leads, and calls without a task", bar),
    );
  }

  /** @param {CostRow} row */
  isCoordination(row) {
    return row.task === undefined || this.ctx.store.teammates.get(seatOf(row.who))?.lead === true;
  }

  showBudgets() {
    const { teams, teammates } = this.ctx.store;
    const bars = [
      ...[...teams.values()].flatMap((team) => budgetsOf(team.name, team)),
      ...[...teammates.values()].flatMap((mate) => budgetsOf(this.seat(`${mate.team}/${mate.name}`), mate)),
    ];
    this.budgets.hidden = bars.length === 0;
    put(this.budgets, bars);
  }

  showSegments() {
    /** @type {[By, string, string][]} */
    const ways = [["who", "Teammate", "w"], ["task", "Task", "s"], ["model", "Model", "o"]];
    const at = [...this.segments.children].findIndex((node) => node === document.activeElement);
    put(
      this.segments,
      ways.map(([by, name, key]) =>
        el("button", { type: "button", "aria-pressed": String(this.by === by), "aria-keyshortcuts": key, title: `By ${name.toLowerCase()} (${key})`, on: { click: () => this.turn(by) } }, name),
      ),
    );
    if (at >= 0) /** @type {HTMLElement} */ (this.segments.children[at]).focus();
  }

  /** @param {CostRow[]} rows */
  sums(rows) {
    /** @type {Map<string, Sum>} */
    const sums = new Map();
    for (const row of rows) {
      const [key, name] = this.keyOf(row);
      let sum = sums.get(key);
      if (!sum) sums.set(key, (sum = zero(key, name)));
      add(sum, row, isSubscription(this.ctx, row));
    }
    const way = this.down ? -1 : 1;
    return [...sums.values()].sort((a, b) => {
      if (this.column === "name") return way * a.name.localeCompare(b.name, undefined, { numeric: true });
      const first = way * (a[this.column] - b[this.column]);
      return first || way * (a.tokens_in + a.tokens_out - b.tokens_in - b.tokens_out) || a.name.localeCompare(b.name);
    });
  }

  /** @param {CostRow} row @returns {[string, string]} */
  keyOf(row) {
    if (this.by === "model") return [row.model ?? "", row.model || "no model named"];
    if (this.by === "who") return [seatOf(row.who), this.seat(row.who)];
    if (row.task === undefined) return ["", "coordination (no task)"];
    const card = this.ctx.store.tasks.get(row.task);
    return [String(row.task), `${row.task} ${card?.subject ?? ""}`.trim()];
  }

  /** @param {string} who */
  seat(who) {
    const several = this.ctx.store.teams.size > 1;
    const name = several ? seatOf(who) : nameOf(who);
    return this.ctx.store.teammates.get(seatOf(who))?.lead ? `${name} (leads)` : name;
  }

  /** @param {CostRow[]} rows */
  showTable(rows) {
    const sums = this.sums(rows);
    this.byTokens = sums.some((sum) => sum.unpriced > 0);
    const money_ = this.column === "name" || this.column === "cost";
    setText(this.scale, this.byTokens && money_ ? "Bars show tokens, because not every price is known." : "");
    const most = Math.max(1, ...sums.map((sum) => this.long(sum)));
    const shown = this.all ? sums : sums.slice(0, SHOWN);
    const heads = { who: "teammate", task: "task", model: "model" };
    const focused = document.activeElement?.getAttribute("data-column");
    put(
      this.table,
      el(
        "table",
        { class: "table cost-table" },
        el("caption", { class: "unseen" }, `Cost by ${heads[this.by]}`),
        el(
          "thead",
          null,
          el(
            "tr",
            null,
            this.head("name", heads[this.by]),
            this.head("cost", "money"),
            this.head("tokens_in", "tokens in"),
            this.head("tokens_cached", "cached"),
            this.head("tokens_out", "tokens out"),
            this.head("calls", "calls"),
          ),
        ),
        el("tbody", null, shown.map((sum) => this.line(sum, most))),
      ),
      sums.length > shown.length
        ? button(`Show ${count(sums.length - shown.length, "more row")}`, () => ((this.all = true), this.show()))
        : null,
    );
    if (focused) {
      const again = this.table.querySelector(`[data-column="${CSS.escape(focused)}"]`);
      if (again instanceof HTMLElement) again.focus();
    }
  }

  /** @param {Column} column @param {string} name */
  head(column, name) {
    const mine = this.column === column;
    const sort = mine ? (this.down ? "descending" : "ascending") : undefined;
    return el(
      "th",
      { scope: "col", class: column === "name" ? undefined : "num", "aria-sort": sort },
      el(
        "button",
        {
          type: "button",
          class: "sort",
          data: { column },
          on: {
            click: () => {
              this.down = mine ? !this.down : column !== "name";
              this.column = column;
              this.show();
            },
          },
        },
        el("span", { class: "sort-sign", "aria-hidden": "true" }, mine ? (this.down ? "▼" : "▲") : ""),
        name,
      ),
    );
  }

  /** What a bar is as long as: a price that is unknown leaves the tokens. @param {Sum} sum */
  long(sum) {
    if (this.column !== "name" && this.column !== "cost") return sum[this.column];
    return this.byTokens ? sum.tokens_in + sum.tokens_out : sum.cost;
  }

  /** @param {Sum} sum @param {number} most */
  line(sum, most) {
    const bar = el("i", { class: "bar-fill" });
    bar.style.width = `${(100 * this.long(sum)) / most}%`;
    const exact = (/** @type {number} */ n) => el("td", { class: "num", title: number(n) }, n === 0 ? "–" : tokens(n));
    return el(
      "tr",
      null,
      el("th", { scope: "row" }, this.nameCell(sum), el("span", { class: "bar-track", "aria-hidden": "true" }, bar)),
      el(
        "td",
        { class: sum.unpriced > 0 ? "num unpriced" : "num" },
        price(sum),
        sum.estimated ? el("div", { class: "small dim" }, `${tokens(sum.estimated)} tokens estimated`) : null,
      ),
      exact(sum.tokens_in),
      exact(sum.tokens_cached),
      exact(sum.tokens_out),
      el("td", { class: "num" }, number(sum.calls)),
    );
  }

  /** @param {Sum} sum */
  nameCell(sum) {
    const { ctx } = this;
    if (this.by === "task" && sum.key !== "") return el("a", { href: ctx.href(`task/${sum.key}`) }, sum.name);
    if (this.by === "who" && ctx.store.teammates.has(sum.key)) {
      return el("a", { href: ctx.href(`team/${sum.key}`) }, sum.name);
    }
    return sum.name;
  }
}

/** What stands below the sum. @param {Sum} all */
function more(all) {
  const parts = [
    all.unpriced > 0 ? `${tokens(all.unpriced)} tokens have no price` : `in ${count(all.calls, "call")}`,
    all.estimated > 0 ? `${tokens(all.estimated)} tokens are estimated` : "",
    all.worth > 0 ? "worth: what a key would have paid" : "",
  ];
  return parts.filter(Boolean).join("; ");
}

/** @param {string} name @param {string} value @param {string} more @param {Node} [bar] */
function figure(name, value, more, bar) {
  return el(
    "div",
    { class: "figure" },
    el("span", { class: "figure-name" }, name),
    el("strong", { class: "figure-value" }, value),
    bar ?? null,
    el("span", { class: "figure-more" }, more),
  );
}

/** A bar for each limit of a team, or of a teammate's own. @param {string} name @param {TeamView | TeammateView} of */
function budgetsOf(name, of) {
  return [
    of.cost_micros_max ? budget(`${name}: money`, of.cost_micros, of.cost_micros_max, money) : null,
    of.tokens_max ? budget(`${name}: tokens`, of.tokens_used, of.tokens_max, tokens) : null,
    of.window_max ? budget(`${name}: share of a window`, of.window_used ?? 0, of.window_max, share) : null,
  ].filter((bar) => bar !== null);
}

/** @param {string} name @param {number} used @param {number} most @param {(n: number) => string} say */
function budget(name, used, most, say) {
  const over = used >= most;
  const near = !over && used >= 0.8 * most;
  const text = `${say(used)} of ${say(most)} (${percent(used, most)})${over ? ", used up" : near ? ", nearly used up" : ""}`;
  const fill = el("i");
  fill.style.width = `${Math.min(100, (100 * used) / most)}%`;
  const bar = el(
    "span",
    { class: "share-bar", role: "img", "aria-label": `Budget of ${name}: ${text}`, data: { over: over ? "yes" : near ? "near" : "no" } },
    fill,
  );
  const label = el("span");
  setText(label, text);
  return el("div", { class: "budget" }, el("span", { class: "budget-name" }, name), bar, label);
}
