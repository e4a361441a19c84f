// A task as a card in a lane, or as a row of a list. A changed task changes the texts in the
// nodes that are there, so that focus and pointer stay where they are.

/** @import { Card, Ctx } from "./types.d.ts" */

import { badge, el, put, refill, setText } from "./dom.js";
import { menu } from "./taskacts.js";
import {
  USUAL_PRIORITY,
  ago,
  attempts,
  count,
  failure,
  gateWord,
  moment,
  nameOf,
  taskState,
  waitsFor,
} from "./words.js";

/** @typedef {{ link: HTMLAnchorElement, fill: (card: Card) => void, sign: string }} Made */

/** @type {WeakMap<HTMLElement, Made>} */
const made = new WeakMap();

/** @param {HTMLElement} node @param {Card} card */
export function change(node, card) {
  const one = made.get(node);
  if (!one) return;
  one.fill(card);
  // After a reconnect every card is a new object; only what differs is news.
  if (one.sign === signOf(card)) return;
  one.sign = signOf(card);
  node.classList.remove("news");
  // The next frame begins the animation anew.
  requestAnimationFrame(() => node.classList.add("news"));
}

/** @param {Card} card */
function signOf(card) {
  return [
    taskState(card).key,
    card.owner,
    card.assignee,
    card.subject,
    card.retries,
    card.gate?.runs,
  ].join("|");
}

/** The link that takes the focus for its card. @param {HTMLElement | null} node */
export function linkOf(node) {
  return node ? (made.get(node)?.link ?? null) : null;
}

/** The card a node stands for. @param {Element | null} node */
export function idOf(node) {
  const at = node?.closest("[data-task]");
  return at instanceof HTMLElement ? Number(at.dataset.task) : undefined;
}

/** @param {Ctx} ctx @param {Card} first */
function parts(ctx, first) {
  const link = el("a", { class: "card-link", href: ctx.href(`task/${first.id}`) });
  const more = ctx.readonly
    ? null
    : el(
        "button",
        {
          type: "button",
          class: "icon-button card-more",
          "aria-label": `What can be done with task ${first.id}`,
          on: {
            click: () => {
              const card = ctx.store.tasks.get(first.id);
              if (card) void menu(ctx, card);
            },
          },
        },
        "⋯",
      );
  return { link, more };
}

/** @param {Card} card */
function gate(card) {
  if (!card.gate) return null;
  const { passed, runs, red } = card.gate;
  return el(
    "span",
    {
      class: passed ? "good" : "bad",
      title: `Gate ran ${count(runs, "time")}, ${red} red; last ${moment(card.gate.at)}`,
    },
    gateWord(card.gate),
  );
}

/** @param {Card} card */
function failures(card) {
  const told = attempts(card);
  return told
    ? el(
        "span",
        { class: "warn", title: told.long },
        el("span", { "aria-hidden": "true" }, told.short),
        el("span", { class: "unseen" }, told.long),
      )
    : null;
}

/** @param {Card} card */
function files(card) {
  const [first, ...rest] = card.files ?? [];
  if (!first) return null;
  const short = first.split("/").at(-1) ?? first;
  return el(
    "span",
    { class: "mono cut", title: (card.files ?? []).join("\n") },
    short,
    rest.length ? ` +${rest.length}` : "",
  );
}

/** Who has it, or for whom it is. @param {Card} card */
function holder(card) {
  if (card.owner) return el("span", { class: "who cut", title: card.owner }, nameOf(card.owner));
  if (card.assignee)
    return el("span", { class: "dim cut", title: "Assigned" }, `for ${card.assignee}`);
  if (card.role) return el("span", { class: "dim cut", title: "Role" }, `for any ${card.role}`);
  return null;
}

/** The decision that this task waits for. @param {Ctx} ctx @param {number} id */
export function decisionOn(ctx, id) {
  return ctx.readonly ? undefined : ctx.store.decisions.find((one) => one.task === id);
}

/** @param {Ctx} ctx @param {string} [look] */
export function decideLink(ctx, look = "decide") {
  return el("a", { class: look, href: ctx.href("decisions") }, "Decide");
}

/**
 * Why it is not taken or does not move, in which tasks and decisions are links.
 * @param {Ctx} ctx @param {string[]} why @returns {(Node | string)[]}
 */
export function reasons(ctx, why) {
  return why.flatMap((text, at) => [at > 0 ? "; " : "", ...reason(ctx, text)]);
}

/** @param {Ctx} ctx @param {string} text @returns {(Node | string)[]} */
function reason(ctx, text) {
  // "blocked by 3, 4 (failed), group auth (1 of 3 completed)", "held by ana (task 7)"
  const shape = text.startsWith("blocked by ")
    ? /((?:by|,) )(\d+)(?=,| \(|$)/g
    : /\b((?:task|decision|question|plan) )(\d+)\b/g;
  /** @type {(Node | string)[]} */
  const made = [];
  let from = 0;
  for (const found of text.matchAll(shape)) {
    const [all, before = "", id = ""] = found;
    const end = found.index + all.length;
    made.push(text.slice(from, end - id.length));
    from = end;
    const decides = /^(?:decision|question|plan)/.test(before);
    if (decides ? ctx.readonly : !ctx.store.tasks.has(Number(id))) made.push(id);
    else made.push(el("a", { href: ctx.href(decides ? "decisions" : `task/${id}`) }, id));
  }
  made.push(text.slice(from));
  return made;
}

/** @param {Ctx} ctx @param {HTMLElement} node @param {Card} card */
function fillWhy(ctx, node, card) {
  const failed = failure(card);
  const decide = decisionOn(ctx, card.id) ? decideLink(ctx) : null;
  const why = waitsFor(card);
  const stands = failed || why.join("; ");
  node.hidden = stands === "" && !decide;
  node.title = stands;
  node.classList.toggle("bad", failed !== "");
  refill(node, [stands, decide !== null], () => [
    decide,
    decide ? " " : null,
    failed || reasons(ctx, why),
  ]);
}

/** @param {Ctx} ctx @param {Card} first @returns {HTMLElement} */
export function makeCard(ctx, first) {
  const { link, more } = parts(ctx, first);
  const top = el("div", { class: "card-top" });
  const why = el("div", { class: "card-why" });
  const foot = el("div", { class: "card-foot" });
  const node = el(
    "div",
    { class: "card-slot", data: { task: first.id } },
    el("article", { class: "card" }, top, link, why, foot, more),
  );
  const fill = (/** @type {Card} */ card) => {
    const state = taskState(card);
    node.dataset.state = state.key;
    put(
      top,
      el("span", { class: "card-id" }, `#${card.id}`),
      card.alias ? el("span", { class: "dim cut" }, card.alias) : null,
      el(
        "span",
        { class: "card-marks" },
        state.key === "returned" ? el("span", { class: "warn" }, "↩ returned") : null,
        card.priority !== USUAL_PRIORITY
          ? el("span", { title: "Priority: lower is sooner" }, `P${card.priority}`)
          : null,
        gate(card),
      ),
    );
    setText(link, card.subject);
    fillWhy(ctx, why, card);
    put(foot, holder(card), files(card), failures(card));
  };
  fill(first);
  made.set(node, { link, fill, sign: signOf(first) });
  return node;
}

/** @param {Ctx} ctx @param {Card} first @returns {HTMLElement} */
export function makeRow(ctx, first) {
  const { link, more } = parts(ctx, first);
  const state = el("span", { class: "list-state" });
  const why = el("span", { class: "list-why cut" });
  const alias = el("span", { class: "list-alias dim cut" });
  const id = el("span", { class: "card-id" }, `#${first.id}`);
  const who = el("span", { class: "list-who" });
  const place = el("span", { class: "list-files" });
  const marks = el("span", { class: "card-marks" });
  const when = el("span", { class: "list-when dim" });
  const node = el(
    "div",
    { class: "list-row", data: { task: first.id } },
    state,
    id,
    el("span", { class: "list-main" }, el("span", { class: "list-top" }, link, alias), why),
    who,
    place,
    marks,
    when,
    more,
  );
  const fill = (/** @type {Card} */ card) => {
    put(state, badge(taskState(card)));
    setText(link, card.subject);
    setText(alias, card.alias ?? "");
    fillWhy(ctx, why, card);
    put(who, holder(card));
    put(place, files(card));
    put(
      marks,
      card.priority !== USUAL_PRIORITY
        ? el("span", { title: "Priority: lower is sooner" }, `P${card.priority}`)
        : null,
      failures(card),
      gate(card),
    );
    setText(when, ago(ctx.store.time() - card.changed_at));
    when.title = moment(card.changed_at);
  };
  fill(first);
  made.set(node, { link, fill, sign: signOf(first) });
  return node;
}
