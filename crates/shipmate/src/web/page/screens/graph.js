// The dependency graph: what must be done before what, and which chain decides the end.
//
// The drawing is laid out anew only when tasks or dependencies come and go; a task that changes its
// state is drawn differently where it stands. Beside the drawing there is a list of the same tasks
// in words, for whoever cannot or does not want to look at a canvas.

import { button, el, empty, put, setText } from "../dom.js";
import { Rows } from "../rows.js";
import { TASK_STATES, count, nameOf, taskState } from "../words.js";
import { pathAhead, pathWords, waiting } from "./critical.js";
import { layOut, roomyBoxes, usualBoxes } from "./graph_layout.js";
import { Stage } from "./graph_stage.js";

/** @import { Card, Ctx, Part, Screen } from "../types.d.ts" */
/** @import { Label, Look, Scene } from "./graph_paint.js" */

const ROW = 46;
const STEP = 80;
/** Fewer tasks than this are drawn as large as there is room for them. */
const FEW = 40;

/** @param {Ctx} ctx @returns {Screen} */
export function open(ctx) {
  const graph = new Graph(ctx);
  return {
    node: graph.node,
    title: "Graph",
    update: (changed) => graph.update(changed),
    close: () => graph.close(),
    keys: graph.keys(),
  };
}

class Graph {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.team = "";
    this.words = "";
    this.openOnly = false;
    /** Cards drawn, by key. @type {Map<string, Card>} */
    this.cards = new Map();
    /** @type {Map<number, string>} */
    this.shape = new Map();
    /** @type {Card[]} */
    this.listed = [];
    /** @type {number[]} */
    this.path = [];
    this.links = waiting(ctx.store.tasks);
    /** @type {Scene | null} */
    this.scene = null;
    this.stage = new Stage({
      open: (n) => this.enter(n),
      choose: (n) => this.choose(n, false),
      moved: () => this.showZoom(),
      sized: (first) => this.sized(first),
    });
    /** @type {Rows<Card>} */
    this.list = new Rows({
      label: "Tasks of the graph",
      height: ROW,
      key: (card) => card.id,
      make: (card) => this.row(card),
      change: (node, card) => this.fillRow(node, card),
    });
    // In the list, arrows scroll the list.
    this.list.node.addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) event.stopPropagation();
    });
    this.zoomed = el("output", { class: "graph-zoom", "aria-label": "Zoom" });
    this.summary = el("p", { class: "graph-summary" });
    this.heard = el("p", { class: "unseen", role: "status" });
    this.teams = el("select", { "aria-label": "Team", on: { change: () => this.pickTeam() } });
    this.hide = el("input", { type: "checkbox", on: { change: () => this.pickOpen() } });
    this.find = el("input", {
      type: "search",
      placeholder: "Find a task",
      "aria-label": "Find a task in the list",
      on: { input: () => this.search() },
    });
    this.none = el("div", { class: "graph-none", hidden: true });
    this.node = this.frame();
    this.update(new Set(["whole"]));
  }

  frame() {
    const { stage } = this;
    const icon = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {() => void} */ run) => {
      const made = button(sign, run, { title: name });
      made.setAttribute("aria-label", name);
      return made;
    };
    const zoom = el(
      "div",
      { class: "graph-buttons", role: "group", "aria-label": "Zoom" },
      icon("−", "Zoom out (-)", () => stage.zoom(1 / 1.3)),
      this.zoomed,
      icon("+", "Zoom in (+)", () => stage.zoom(1.3)),
      button("Fit", () => stage.fit(), { title: "Show all of it (0)" }),
      button("Path", () => this.toPath(), { title: "Go to the critical path (c)" }),
    );
    const filters = el(
      "div",
      { class: "graph-buttons" },
      this.teams,
      el("label", { class: "toggle" }, this.hide, "open tasks only"),
    );
    stage.node.setAttribute("aria-label", "Dependency graph");
    stage.node.setAttribute("aria-describedby", "graph-how");
    const how = el(
      "p",
      { class: "unseen", id: "graph-how" },
      "Plus and minus zoom, zero shows all, arrows pan. J and K go through the tasks, H to what a " +
        "task waits for, L to what waits for it, Enter opens it. The same tasks are in the list beside.",
    );
    return el(
      "section",
      { class: "screen graph", "aria-label": "Graph" },
      el("h1", { class: "unseen" }, "Graph"),
      el("div", { class: "bar" }, zoom, filters, this.summary),
      el(
        "div",
        { class: "graph-panes" },
        el("div", { class: "graph-frame" }, stage.node, this.none, how, this.heard, legend()),
        el(
          "aside",
          { class: "graph-list", "aria-label": "The same tasks as a list" },
          this.find,
          this.list.node,
        ),
      ),
    );
  }

  close() {
    this.stage.close();
    this.list.close();
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    if (!changed.has("tasks") && !changed.has("whole") && !changed.has("teams")) return;
    this.showTeams();
    const { store } = this.ctx;
    const ids = changed.has("whole") ? store.tasks.keys() : store.touched.tasks;
    let moved = changed.has("whole");
    for (const id of ids) {
      const card = store.tasks.get(id);
      const shape = card && this.wanted(card) ? shapeOf(card) : undefined;
      if (this.shape.get(id) !== shape) moved = true;
      if (card && this.cards.has(String(id))) this.cards.set(String(id), card);
    }
    if (moved) this.arrange();
    else this.mark();
    this.showList();
  }

  /** @param {Card} card */
  wanted(card) {
    if (this.team && card.team !== this.team) return false;
    if (card.status === "deleted") return false;
    return !this.openOnly || card.status !== "completed";
  }

  arrange() {
    const cards = [...this.ctx.store.tasks.values()].filter((card) => this.wanted(card));
    cards.sort((a, b) => a.id - b.id);
    this.shape = new Map(cards.map((card) => [card.id, shapeOf(card)]));
    this.cards = new Map(cards.map((card) => [String(card.id), card]));
    const items = cards.map((card) => ({
      key: String(card.id),
      after: card.blocked_by ?? [],
      ...(card.group === undefined ? {} : { group: card.group }),
    }));
    const old = this.scene;
    const placed = this.place(items);
    const chosenKey = old && old.chosen >= 0 ? old.placed.keys[old.chosen] : undefined;
    this.links = waiting(this.ctx.store.tasks);
    this.scene = {
      placed,
      label: (n) => this.label(n),
      marked: new Uint8Array(placed.keys.length),
      markedEdge: new Uint8Array(placed.from.length),
      chosen: chosenKey === undefined ? -1 : (placed.at.get(chosenKey) ?? -1),
      pointed: -1,
    };
    this.mark();
    if (old && !this.stage.fitted) this.stayBy(old, this.scene);
    this.showNone(cards.length);
  }

  /** @param {import("./graph_layout.js").Item[]} items */
  place(items) {
    usualBoxes();
    const placed = layOut(items);
    if (items.length === 0 || items.length >= FEW || this.stage.width === 0) return placed;
    roomyBoxes(placed, this.stage.width - 56, this.stage.height - 56);
    return layOut(items);
  }

  /** @param {boolean} first */
  sized(first) {
    if (this.cards.size > 0 && this.cards.size < FEW) this.arrange();
    if (first) this.begin();
  }

  /** Where a drawing too large to be read is looked at first: at the work that decides the end. */
  begin() {
    const first = this.path[0];
    const n = first === undefined ? undefined : this.scene?.placed.at.get(String(first));
    if (n !== undefined && this.stage.fitted && this.stage.view.scale < 0.22) this.stage.reveal(n, true);
  }

  /** What was in the middle stays there when the drawing changes. @param {Scene} old @param {Scene} now */
  stayBy(old, now) {
    const { stage } = this;
    const x = stage.view.x + stage.width / 2 / stage.view.scale;
    const y = stage.view.y + stage.height / 2 / stage.view.scale;
    let best = -1;
    let least = Infinity;
    old.placed.keys.forEach((key, n) => {
      const far = (old.placed.x[n] - x) ** 2 + (old.placed.y[n] - y) ** 2;
      if (far < least && now.placed.at.has(key)) {
        least = far;
        best = n;
      }
    });
    if (best < 0) return;
    const after = /** @type {number} */ (now.placed.at.get(old.placed.keys[best]));
    stage.look(
      stage.view.x + now.placed.x[after] - old.placed.x[best],
      stage.view.y + now.placed.y[after] - old.placed.y[best],
      stage.view.scale,
    );
  }

  /** The critical path, and the states, on the drawing as it stands. */
  mark() {
    const scene = this.scene;
    if (!scene) return;
    const tasks = new Map([...this.cards.values()].map((card) => [card.id, card]));
    this.path = pathAhead(tasks);
    scene.marked.fill(0);
    scene.markedEdge.fill(0);
    const on = new Set(this.path.map((id) => scene.placed.at.get(String(id)) ?? -1));
    for (const n of on) if (n >= 0) scene.marked[n] = 1;
    const next = new Map(this.path.map((id, i) => [String(id), this.path[i + 1]]));
    const { keys, from, to } = scene.placed;
    from.forEach((f, e) => {
      const follower = next.get(keys[f]);
      if (follower === undefined) return;
      const card = this.cards.get(keys[f]);
      const direct = keys[to[e]] === String(follower);
      const byGroup =
        keys[to[e]] === `group:${card?.group}` &&
        (this.cards.get(String(follower))?.blocked_by ?? []).includes(keys[to[e]]);
      if (direct || byGroup) scene.markedEdge[e] = 1;
      if (byGroup) this.markBehindGroup(scene, to[e], String(follower));
    });
    this.stage.show(scene);
    this.showSummary();
  }

  /** @param {Scene} scene @param {number} group @param {string} follower */
  markBehindGroup(scene, group, follower) {
    const { keys, from, to } = scene.placed;
    scene.marked[group] = 1;
    from.forEach((f, e) => {
      if (f === group && keys[to[e]] === follower) scene.markedEdge[e] = 1;
    });
  }

  /** @param {number} n @returns {Label} */
  label(n) {
    const key = /** @type {Scene} */ (this.scene).placed.keys[n];
    const card = this.cards.get(key);
    if (!card) {
      const name = key.replace(/^group:/, "");
      return { look: "group", sign: "❏", name, title: "", line: "group" };
    }
    const state = taskState(card);
    const owner = card.owner ? ` · ${nameOf(card.owner)}` : "";
    return {
      look: /** @type {Look} */ (state.key),
      sign: state.sign,
      name: String(card.id),
      title: card.subject,
      line: `${state.word}${owner}`,
    };
  }

  showTeams() {
    const names = [...this.ctx.store.teams.keys()].sort();
    this.teams.hidden = names.length < 2;
    if (this.teams.dataset.names === names.join()) return;
    this.teams.dataset.names = names.join();
    put(
      this.teams,
      el("option", { value: "" }, "all teams"),
      names.map((name) => el("option", { value: name }, name)),
    );
    this.teams.value = this.team;
  }

  /** @param {number} shown */
  showNone(shown) {
    this.none.hidden = shown > 0;
    if (shown > 0) return;
    const any = this.ctx.store.tasks.size > 0;
    put(
      this.none,
      any
        ? empty("No task is left to draw.", "All tasks of this choice are completed or deleted.")
        : empty("There are no tasks yet.", "The graph appears as soon as the team has tasks."),
    );
  }

  showSummary() {
    const text = [count(this.cards.size, "task")];
    if (this.path.length > 0) text.push(pathWords(this.ctx.store.tasks, this.path));
    setText(this.summary, text.join(" · "));
  }

  showZoom() {
    setText(this.zoomed, `${Math.max(1, Math.round(this.stage.view.scale * 100))}%`);
  }

  showList() {
    const words = this.words.toLowerCase();
    const cards = [...this.cards.values()];
    this.listed = words
      ? cards.filter((card) => `${card.id} ${card.alias ?? ""} ${card.subject} ${card.group ?? ""}`.toLowerCase().includes(words))
      : cards;
    this.list.set(this.listed);
  }

  /** @param {Card} card */
  row(card) {
    const node = el(
      "div",
      { class: "graph-row" },
      el("span", { class: "sign", "aria-hidden": "true" }),
      el("a", { on: { focus: () => this.choose(this.spot(card), true) } }),
      el("span", { class: "graph-facts" }),
    );
    node.addEventListener("mouseenter", () => this.stage.point(this.spot(card)));
    node.addEventListener("mouseleave", () => this.stage.point(-1));
    this.fillRow(node, card);
    return node;
  }

  /** @param {HTMLElement} node @param {Card} card */
  fillRow(node, card) {
    const state = taskState(card);
    const before = card.blocked_by ?? [];
    const behind = this.links.behind(card);
    const named = (/** @type {(string | number)[]} */ keys) =>
      keys.length > 4 ? `${keys.slice(0, 4).join(", ")} and ${keys.length - 4} more` : keys.join(", ");
    const facts = [
      `${state.word}${card.owner ? `, ${nameOf(card.owner)}` : ""}`,
      before.length > 0 ? `after ${named(before)}` : "",
      behind.length > 0 ? `before ${named(behind)}` : "",
      this.path.includes(card.id) ? "critical path" : "",
    ];
    const [sign, link, text] = node.children;
    node.dataset.state = state.key;
    setText(sign, state.sign);
    link.setAttribute("href", this.ctx.href(`task/${card.id}`));
    put(link, el("span", { class: "task-id" }, String(card.id)), " ", card.subject);
    setText(text, facts.filter(Boolean).join(" · "));
  }

  /** @param {Card} card */
  spot(card) {
    return this.scene?.placed.at.get(String(card.id)) ?? -1;
  }

  /** @param {number} n @param {boolean} go */
  choose(n, go) {
    if (!this.scene) return;
    this.scene.chosen = n;
    this.stage.moving = false;
    this.stage.restate();
    if (n < 0) return;
    if (go) this.stage.reveal(n);
    const label = this.label(n);
    const card = this.cards.get(this.scene.placed.keys[n]);
    const after = (card?.blocked_by ?? []).join(", ");
    const path = this.scene.marked[n] ? ", on the critical path" : "";
    const words = card
      ? `Task ${label.name}, ${label.title}, ${label.line}${path}${after ? `, after ${after}` : ""}`
      : `Group ${label.name}`;
    setText(this.heard, words);
  }

  /** @param {number} n */
  enter(n) {
    const card = this.cards.get(this.scene?.placed.keys[n] ?? "");
    if (card) this.ctx.go(`task/${card.id}`);
  }

  /** @param {-1 | 1} way */
  step(way) {
    if (!this.scene || this.scene.placed.keys.length === 0) return;
    const { columns } = this.scene.placed;
    const all = columns.flatMap((column) => column ?? []);
    const at = all.indexOf(this.scene.chosen);
    const next = at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + way));
    this.choose(all[next], true);
  }

  /** @param {"from" | "to"} side where the neighbour is */
  follow(side) {
    if (!this.scene) return;
    const { placed, chosen, markedEdge } = this.scene;
    const own = side === "from" ? placed.to : placed.from;
    let found = -1;
    own.forEach((n, e) => {
      if (n !== chosen) return;
      if (found < 0 || markedEdge[e]) found = placed[side][e];
    });
    if (found >= 0) this.choose(found, true);
  }

  toPath() {
    const first = this.path[0];
    const n = first === undefined ? undefined : this.scene?.placed.at.get(String(first));
    if (n === undefined) {
      this.ctx.say("Every task is finished, so there is no critical path.");
      return;
    }
    this.choose(n, false);
    this.stage.reveal(n, true);
  }

  pickTeam() {
    this.team = this.teams.value;
    this.stage.fitted = true;
    this.arrange();
    this.showList();
  }

  pickOpen() {
    this.openOnly = this.hide.checked;
    this.stage.fitted = true;
    this.arrange();
    this.showList();
  }

  search() {
    this.words = this.find.value.trim();
    this.showList();
    const only = this.listed.length > 0 && this.words ? this.spot(this.listed[0]) : -1;
    if (only >= 0) this.choose(only, true);
  }

  keys() {
    const { stage } = this;
    const pan = (/** @type {string} */ does, /** @type {number} */ x, /** @type {number} */ y) => ({
      does,
      run: (/** @type {KeyboardEvent} */ event) => {
        const far = event.shiftKey ? 4 : 1;
        stage.pan(x * STEP * far, y * STEP * far);
      },
    });
    return {
      "+": { does: "zoom in", run: () => stage.zoom(1.3) },
      "=": { does: "zoom in", run: () => stage.zoom(1.3) },
      "-": { does: "zoom out", run: () => stage.zoom(1 / 1.3) },
      0: { does: "show all of it", run: () => stage.fit() },
      c: { does: "go to the critical path", run: () => this.toPath() },
      ArrowLeft: pan("pan left", -1, 0),
      ArrowRight: pan("pan right", 1, 0),
      ArrowUp: pan("pan up", 0, -1),
      ArrowDown: pan("pan down", 0, 1),
      j: { does: "next task", run: () => this.step(1) },
      k: { does: "task before", run: () => this.step(-1) },
      h: { does: "what it waits for", run: () => this.follow("from") },
      l: { does: "what waits for it", run: () => this.follow("to") },
      Enter: { does: "open the task", run: () => this.enter(this.scene?.chosen ?? -1) },
    };
  }
}

/** What of a card decides where things stand. @param {Card} card */
const shapeOf = (card) => `${card.group ?? ""}|${(card.blocked_by ?? []).join()}`;

function legend() {
  const kinds = /** @type {const} */ ([
    "pending", "ready", "claimed", "submitted", "returned", "completed", "failed",
  ]);
  return el(
    "ul",
    { class: "graph-legend", "aria-label": "What the signs mean" },
    kinds.map((kind) =>
      el(
        "li",
        { data: { state: kind } },
        el("span", { class: "sign", "aria-hidden": "true" }, TASK_STATES[kind].sign),
        TASK_STATES[kind].word,
      ),
    ),
    el("li", { class: "on-path" }, el("span", { class: "path-mark", "aria-hidden": "true" }), "critical path"),
  );
}
