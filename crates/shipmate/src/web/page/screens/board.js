// The board: all tasks in lanes or in one list, filtered and searched, with what can be done to
// them. Only cards in sight are in the page, and a change touches only the cards it is about.
// The same screen shows a moment of the past (`ctx.readonly`).

/** @import { Card, Ctx, Key, Part, Screen } from "../types.d.ts" */
/** @import { Filter, Lane } from "../lanes.js" */

import { parkedLine } from "../accountcells.js";
import { button, el, empty, keep, put, setText } from "../dom.js";
import { Lanes, NO_FILTER, isFiltered } from "../lanes.js";
import { Rows } from "../rows.js";
import { change, idOf, linkOf, makeCard, makeRow } from "../taskcard.js";
import { continueTeam } from "../mateacts.js";
import { create, perform } from "../taskacts.js";
import { TASK_STATES, count, number, pauseWords } from "../words.js";

const VIEW = "shipmate.board";
const CARD_PX = 132;

/**
 * What a person had chosen, kept while the page is open.
 * @type {Map<string, { filter: Filter, chosen: number, scroll: number[] }>}
 */
const memory = new Map();

const phone = matchMedia("(max-width: 760px)");

/** @returns {"columns" | "list"} */
function storedView() {
  const stored = localStorage.getItem(VIEW);
  return stored === "list" || stored === "columns" ? stored : phone.matches ? "list" : "columns";
}

/** @param {Ctx} ctx @returns {Screen} */
export function open(ctx) {
  const board = new Board(ctx);
  return {
    node: board.node,
    title: "Board",
    update: (changed) => board.update(changed),
    close: () => board.close(),
    keys: board.keys(),
  };
}

class Board {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    const past = memory.get(ctx.root);
    this.filter = { ...(ctx.readonly ? NO_FILTER : (past?.filter ?? NO_FILTER)) };
    this.chosen = past?.chosen ?? 0;
    /** A task that was made here and has not come yet. */
    this.wanted = 0;
    this.view = storedView();
    this.lanes = new Lanes(this.view);
    /** @type {{ lane: Lane, rows: Rows<Card>, node: HTMLElement, size: HTMLElement }[]} */
    this.shown = [];
    this.total = el("span", { class: "dim small board-total", role: "status" });
    this.pause = el("div", { class: "strip warn", hidden: true });
    this.gate = el("p", { class: "board-gate small soft", hidden: true });
    this.body = el("div", { class: "lanes" });
    this.nothing = el("div", { hidden: true });
    this.search = el("input", {
      type: "search",
      class: "board-search",
      placeholder: "Search subject, id, file",
      "aria-label": "Search tasks by subject, id, alias or file",
      "aria-keyshortcuts": "/",
      value: this.filter.text,
      on: {
        input: () => this.refilter({ text: this.search.value.trim().toLowerCase() }),
        keydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key === "Enter" || event.key === "ArrowDown") {
            event.preventDefault();
            this.step(0, 0);
          }
        },
      },
    });
    this.search.value = this.filter.text;
    this.states = this.choice("State", (value) => this.refilter({ state: value }));
    this.owners = this.choice("Owner", (value) => this.refilter({ owner: value }));
    this.partsOf = this.choice("Team or group", (value) => this.refilter({ part: value }));
    this.waits = el("input", {
      type: "checkbox",
      on: { change: () => this.refilter({ waits: this.waits.checked }) },
    });
    this.waits.checked = this.filter.waits;
    this.views = el(
      "div",
      { class: "segments", role: "group", "aria-label": "View" },
      ["columns", "list"].map((view) =>
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(view === this.view),
            data: { view },
            on: { click: () => this.setView(/** @type {"columns" | "list"} */ (view)) },
          },
          view === "columns" ? "Columns" : "List",
        ),
      ),
    );
    this.bar = this.makeBar();
    this.node = el(
      "section",
      { class: "screen board", "aria-label": "Board" },
      this.bar,
      this.pause,
      this.gate,
      this.body,
      this.nothing,
    );
    this.build();
    this.fillChoices();
    this.tellTeam();
    this.tellGate();
    const scroll = past?.scroll;
    requestAnimationFrame(() => {
      if (scroll?.length === this.shown.length) {
        this.shown.forEach((one, at) => (one.rows.node.scrollTop = scroll[at] ?? 0));
      }
      if (this.chosen && past && !ctx.readonly) this.choose(this.chosen, true);
    });
  }

  makeBar() {
    const filters = el(
      "div",
      { class: "filters", id: "board-filters" },
      this.states,
      this.owners,
      this.partsOf,
      el("label", { class: "toggle" }, this.waits, "Only what waits"),
    );
    const fold = el(
      "button",
      {
        type: "button",
        class: "button filter-fold",
        "aria-expanded": "false",
        "aria-controls": "board-filters",
        on: {
          click: () => fold.setAttribute("aria-expanded", String(filters.classList.toggle("open"))),
        },
      },
      "Filter",
    );
    return el(
      "div",
      { class: "bar board-bar" },
      el("h1", { class: "unseen" }, "Board"),
      this.search,
      fold,
      filters,
      this.total,
      el(
        "div",
        { class: "end" },
        this.views,
        this.ctx.readonly
          ? null
          : button("New task", () => void this.create(), { kind: "main", key: "n" }),
      ),
    );
  }

  /** @param {string} label @param {(value: string) => void} run */
  choice(label, run) {
    const select = el("select", { "aria-label": label, on: { change: () => run(select.value) } });
    return select;
  }

  /** The values there are to choose from; rewritten only when they differ. */
  fillChoices() {
    const { tasks, teams } = this.ctx.store;
    const owners = new Set();
    const groups = new Set();
    for (const card of tasks.values()) {
      if (card.owner) owners.add(card.owner.slice(0, card.owner.lastIndexOf("@")));
      else if (card.assignee) owners.add(`${card.team}/${card.assignee}`);
      if (card.group) groups.add(card.group);
    }
    const root = `${this.ctx.root}/`;
    fillSelect(this.states, this.filter.state, [
      ["", "Any state"],
      ...Object.values(TASK_STATES).map((one) => [one.key, `${one.sign} ${one.word}`]),
    ]);
    fillSelect(this.owners, this.filter.owner, [
      ["", "Anyone"],
      ["-", "Nobody"],
      ...[...owners]
        .sort()
        .map((one) => [one, one.startsWith(root) ? one.slice(root.length) : one]),
    ]);
    fillSelect(this.partsOf, this.filter.part, [
      ["", teams.size > 1 ? "Any team, any group" : "Any group"],
      ...(teams.size > 1 ? [...teams.keys()].map((one) => [`team:${one}`, `team ${one}`]) : []),
      ...[...groups].sort().map((one) => [`group:${one}`, `group ${one}`]),
    ]);
    this.partsOf.hidden = this.partsOf.options.length < 2;
  }

  /** @param {Partial<Filter>} change */
  refilter(change) {
    Object.assign(this.filter, change);
    this.lanes.fill(this.ctx.store.tasks.values(), this.filter);
    this.draw();
    for (const one of this.shown) one.rows.node.scrollTop = 0;
  }

  /** The words alone; what was chosen stays chosen. */
  clearSearch() {
    if (this.filter.text === "") return;
    const chosen = this.current()?.id ?? 0;
    this.search.value = "";
    this.refilter({ text: "" });
    this.choose(chosen);
  }

  clearFilter() {
    this.search.value = "";
    this.waits.checked = false;
    this.refilter(NO_FILTER);
    this.fillChoices();
  }

  /** @param {"columns" | "list"} view */
  setView(view) {
    if (view === this.view) return;
    this.view = view;
    localStorage.setItem(VIEW, view);
    for (const one of this.views.children)
      one.setAttribute(
        "aria-pressed",
        String(one instanceof HTMLElement && one.dataset.view === view),
      );
    this.lanes = new Lanes(view);
    this.build();
  }

  /** The lanes' nodes, for the view that is chosen. */
  build() {
    for (const one of this.shown) one.rows.close();
    const list = this.view === "list";
    this.body.className = list ? "lanes list" : "lanes";
    this.shown = this.lanes.lanes.map((lane) => {
      const size = el("span", { class: "lane-size" });
      const rows = new Rows({
        height: list ? (phone.matches ? 78 : 46) : CARD_PX,
        label: lane.title,
        key: (/** @type {Card} */ card) => card.id,
        make: (card) => (list ? makeRow(this.ctx, card) : makeCard(this.ctx, card)),
        change,
      });
      const node = el(
        "section",
        { class: "lane", "aria-label": lane.title, data: { state: lane.key } },
        list
          ? null
          : el(
              "h2",
              { class: "lane-head" },
              el("span", { class: "sign", "aria-hidden": "true" }, lane.sign),
              lane.title,
              size,
            ),
        rows.node,
      );
      return { lane, rows, node, size };
    });
    put(
      this.body,
      this.shown.map((one) => one.node),
    );
    this.lanes.fill(this.ctx.store.tasks.values(), this.filter);
    this.draw();
  }

  draw() {
    let seen = 0;
    for (const { lane, rows, node, size } of this.shown) {
      seen += lane.cards.length;
      if (!lane.fresh) continue;
      lane.fresh = false;
      setText(size, number(lane.cards.length));
      node.hidden = lane.cards.length === 0 && (lane.key === "failed" || lane.key === "deleted");
      rows.set(lane.cards);
    }
    const all = this.ctx.store.tasks.size;
    setText(
      this.total,
      isFiltered(this.filter) ? `${number(seen)} of ${count(all, "task")}` : count(seen, "task"),
    );
    this.body.hidden = seen === 0;
    this.nothing.hidden = seen > 0;
    if (seen === 0) put(this.nothing, this.emptiness(all));
  }

  /** @param {number} all */
  emptiness(all) {
    if (all > 0 && isFiltered(this.filter)) {
      return empty(
        "No task matches.",
        "Other words, or fewer filters, show more.",
        button("Clear the filter", () => this.clearFilter()),
      );
    }
    return empty(
      "There are no tasks yet.",
      el(
        "p",
        null,
        "A lead makes them from a goal: ",
        el("code", null, 'shipmate run "what you want"'),
      ),
      this.ctx.readonly
        ? null
        : el(
            "p",
            null,
            "Or make one yourself: press ",
            el("kbd", null, "n"),
            ", or in the terminal ",
            el("code", null, 'shipmate task create "subject"'),
          ),
      this.ctx.readonly ? null : button("New task", () => void this.create(), { kind: "main" }),
    );
  }

  /** Pauses stand above the board: they are why nothing moves. */
  tellTeam() {
    const paused = [...this.ctx.store.teams.values()].filter((team) => team.paused !== undefined);
    const parked = this.ctx.store.accounts.filter((account) => account.parked !== undefined || account.held !== undefined);
    this.pause.hidden = paused.length + parked.length === 0;
    keep(
      this.pause,
      [...paused, ...parked],
      (why) => ("windows" in why ? `${why.name}:${why.parked?.until}:${why.held}` : `${why.name}:${why.pause?.id}:${why.paused}`),
      (why) => {
        if ("windows" in why) return parkedLine(why);
        const team = why;
        const { word, text } = pauseWords(team);
        const asks = team.pause?.kind === "approval";
        return el(
          "div",
          { class: "strip-line" },
          el(
            "span",
            null,
            el("strong", null, `‖ ${team.name} ${asks ? "" : "is "}${word}`),
            text ? `: ${text}` : "",
          ),
          this.ctx.readonly
            ? null
            : asks
              ? el("a", { class: "button main", href: this.ctx.href("decisions") }, "Decide")
              : button("Continue", () => void continueTeam(this.ctx, team.name)),
        );
      },
    );
  }

  /** What everybody waits for while nobody has begun yet: a set-up takes minutes. */
  tellGate() {
    const text = this.ctx.readonly ? "" : this.ctx.store.queue;
    this.gate.hidden = text === "";
    setText(this.gate, text ? `◑ Gate: ${text}` : "");
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const { store } = this.ctx;
    if (changed.has("queue")) this.tellGate();
    if (changed.has("teams") || changed.has("accounts")) this.tellTeam();
    if (changed.has("decisions")) {
      // Whether a task waits for one is on its card.
      for (const { rows } of this.shown)
        for (const { node, item } of rows.shown.values()) change(node, item);
    }
    if (!changed.has("tasks")) return;
    const focused = this.body.contains(document.activeElement)
      ? idOf(document.activeElement)
      : undefined;
    if (store.touched.whole) {
      this.lanes.fill(store.tasks.values(), this.filter);
      this.fillChoices();
    } else {
      let choices = false;
      for (const id of store.touched.tasks) {
        const card = store.tasks.get(id);
        this.lanes.move(id, card, this.filter);
        choices ||=
          card?.owner !== undefined &&
          !hasOption(this.owners, card.owner.slice(0, card.owner.lastIndexOf("@")));
        choices ||= card?.group !== undefined && !hasOption(this.partsOf, `group:${card.group}`);
      }
      if (choices) this.fillChoices();
    }
    this.draw();
    this.chooseWanted();
    // The task went to another lane, and the focus with it.
    if (focused !== undefined && !this.body.contains(document.activeElement)) this.choose(focused);
  }

  /** The task that has the focus, else the one that had it last. */
  current() {
    const focused = this.body.contains(document.activeElement)
      ? idOf(document.activeElement)
      : undefined;
    const id = focused ?? this.chosen;
    return this.lanes.placed.has(id) ? this.ctx.store.tasks.get(id) : undefined;
  }

  /** @param {number} id @param {boolean} [still] */
  choose(id, still = false) {
    const spot = this.lanes.spot(id);
    const one = spot ? this.shown[spot.lane] : undefined;
    if (!spot || !one) return;
    this.chosen = id;
    one.node.scrollIntoView({ block: "nearest", inline: "nearest" });
    linkOf(one.rows.reveal(spot.at))?.focus({ preventScroll: !still });
  }

  /** A new task is chosen as soon as it is here: else one would have to look for it. */
  async create() {
    this.wanted = await create(this.ctx);
    this.chooseWanted();
  }

  chooseWanted() {
    if (!this.wanted || !this.lanes.placed.has(this.wanted)) return;
    this.choose(this.wanted);
    this.wanted = 0;
  }

  /** Moves by rows, or by lanes. @param {number} down @param {number} across */
  step(down, across) {
    const now = this.current();
    const spot = now ? this.lanes.spot(now.id) : null;
    const full = this.lanes.lanes
      .map((lane, at) => ({ lane, at }))
      .filter(({ lane }) => lane.cards.length > 0);
    if (full.length === 0) return;
    if (!spot) {
      const first = full[0]?.lane.cards[0];
      if (first) this.choose(first.id);
      return;
    }
    const here = full.findIndex(({ at }) => at === spot.lane);
    const lane = full[Math.min(full.length - 1, Math.max(0, here + across))]?.lane;
    const at = Math.min((lane?.cards.length ?? 1) - 1, Math.max(0, spot.at + down));
    const next = lane?.cards[at];
    if (next) this.choose(next.id);
  }

  /** @returns {Record<string, Key>} */
  keys() {
    const { ctx } = this;
    /** @type {Record<string, Key>} */
    const keys = {
      "/": { does: "search", run: () => this.search.focus() },
      j: { does: "next task", run: () => this.step(1, 0) },
      k: { does: "task before", run: () => this.step(-1, 0) },
      ArrowDown: { does: "next task", run: () => this.step(1, 0) },
      ArrowUp: { does: "task before", run: () => this.step(-1, 0) },
      ArrowRight: { does: "next lane", run: () => this.step(0, 1) },
      ArrowLeft: { does: "lane before", run: () => this.step(0, -1) },
      Enter: {
        does: "open",
        run: () => {
          const card = this.current();
          if (card) ctx.go(`task/${card.id}`);
        },
      },
      v: {
        does: "columns or list",
        run: () => this.setView(this.view === "list" ? "columns" : "list"),
      },
    };
    if (ctx.readonly) return keys;
    const on = (/** @type {string} */ key) => () => perform(ctx, this.current(), key);
    return {
      ...keys,
      Escape: { does: "clear the search", run: () => this.clearSearch() },
      n: { does: "new task", run: () => void this.create() },
      e: { does: "edit", run: on("e") },
      a: { does: "assign", run: on("a") },
      x: { does: "release", run: on("x") },
      r: { does: "retry", run: on("r") },
      Delete: { does: "delete", run: on("Delete") },
    };
  }

  close() {
    const chosen = this.current()?.id ?? 0;
    if (!this.ctx.readonly) {
      memory.set(this.ctx.root, {
        filter: this.filter,
        chosen,
        scroll: this.shown.map((one) => one.rows.node.scrollTop),
      });
    }
    for (const one of this.shown) one.rows.close();
  }
}

/** @param {HTMLSelectElement} select @param {string} value @param {string[][]} options */
function fillSelect(select, value, options) {
  const same =
    select.options.length === options.length &&
    options.every(([one], at) => select.options[at]?.value === one);
  if (!same)
    put(
      select,
      options.map(([one = "", label = ""]) => el("option", { value: one }, label)),
    );
  if (!hasOption(select, value)) select.append(el("option", { value }, value));
  select.value = value;
}

/** @param {HTMLSelectElement} select @param {string} value */
function hasOption(select, value) {
  return [...select.options].some((one) => one.value === value);
}
