// Which task stands in which lane of the board, and in what order. What must hold: a changed
// task costs a search in its lane, not a new sort of the board. Pure: no nodes.

/** @import { Card } from "./types.d.ts" */

import { nameOf, taskState, waitsFor } from "./words.js";

/**
 * @typedef {{ text: string, state: string, owner: string, part: string, waits: boolean }} Filter
 */

/** @type {Filter} */
export const NO_FILTER = { text: "", state: "", owner: "", part: "", waits: false };

/** @param {Filter} filter */
export function isFiltered(filter) {
  return (
    filter.text !== "" ||
    filter.state !== "" ||
    filter.owner !== "" ||
    filter.part !== "" ||
    filter.waits
  );
}

/** @param {Filter} filter @param {Card} card */
export function passes(filter, card) {
  const state = taskState(card).key;
  if (filter.state === "" ? state === "deleted" : filter.state !== state) return false;
  if (filter.waits && !stands(card, state)) return false;
  if (filter.owner === "-") {
    if (card.owner || card.assignee) return false;
  } else if (filter.owner !== "") {
    const owner = card.owner
      ? card.owner.slice(0, card.owner.lastIndexOf("@"))
      : `${card.team}/${card.assignee ?? ""}`;
    if (owner !== filter.owner) return false;
  }
  if (filter.part.startsWith("team:") && card.team !== filter.part.slice(5)) return false;
  if (filter.part.startsWith("group:") && card.group !== filter.part.slice(6)) return false;
  return filter.text === "" || matches(card, filter.text);
}

/**
 * It does not move until something else does: what it is blocked by, a decision, a person who
 * retries it.
 * @param {Card} card @param {string} state
 */
function stands(card, state) {
  if (state === "pending" || state === "failed") return true;
  return card.status === "in_progress" && waitsFor(card).length > 0;
}

/** @param {Card} card @param {string} text lower case */
function matches(card, text) {
  return (
    card.subject.toLowerCase().includes(text) ||
    String(card.id) === text.replace(/^#/, "") ||
    (card.alias?.toLowerCase().includes(text) ?? false) ||
    (card.files?.some((file) => file.toLowerCase().includes(text)) ?? false) ||
    nameOf(card.owner).toLowerCase() === text
  );
}

/** @typedef {(a: Card, b: Card) => number} Order */

/** As the coordinator hands them out: lower priority first, then the longest path, then age. @type {Order} */
const byUrgency = (a, b) => a.priority - b.priority || b.path_ms - a.path_ms || a.id - b.id;
/** @type {Order} */
const byId = (a, b) => a.id - b.id;
/** @type {Order} */
const byNews = (a, b) => b.changed_at - a.changed_at || b.id - a.id;

/** @type {Record<string, number>} */
const RANK = {
  returned: 0,
  submitted: 1,
  claimed: 2,
  failed: 3,
  ready: 4,
  pending: 5,
  completed: 6,
  deleted: 7,
};
/** What moves first, what is over last. @type {Order} */
const byState = (a, b) => {
  const [first, second] = [taskState(a).key, taskState(b).key];
  if (first !== second) return (RANK[first] ?? 9) - (RANK[second] ?? 9);
  return first === "completed" || first === "failed" ? byNews(a, b) : byUrgency(a, b);
};

/**
 * @typedef {{ key: string, title: string, sign: string, order: Order, cards: Card[], fresh: boolean }} Lane
 */

/**
 * @param {string} key
 * @param {string} title
 * @param {string} sign
 * @param {Order} order
 * @returns {Lane}
 */
function lane(key, title, sign, order) {
  return { key, title, sign, order, cards: [], fresh: true };
}

export class Lanes {
  /** @param {"columns" | "list"} view */
  constructor(view) {
    this.view = view;
    this.lanes =
      view === "list"
        ? [lane("all", "All tasks", "", byState)]
        : [
            lane("pending", "Pending", "○", byUrgency),
            lane("ready", "Ready", "◌", byUrgency),
            lane("claimed", "In progress", "◐", byId),
            lane("submitted", "In the gate", "◑", byNews),
            lane("completed", "Completed", "●", byNews),
            lane("failed", "Failed", "✕", byNews),
            lane("deleted", "Deleted", "⌫", byNews),
          ];
    /**
     * Where each card stands, as it was when it was put there.
     * @type {Map<number, { lane: Lane, card: Card }>}
     */
    this.placed = new Map();
  }

  /** @param {Card} card @returns {Lane} */
  laneOf(card) {
    if (this.view === "list") return /** @type {Lane} */ (this.lanes[0]);
    const key = taskState(card).key;
    const found = this.lanes.find((one) => one.key === (key === "returned" ? "claimed" : key));
    return found ?? /** @type {Lane} */ (this.lanes[0]);
  }

  /** @param {Iterable<Card>} cards @param {Filter} filter */
  fill(cards, filter) {
    this.placed.clear();
    for (const one of this.lanes) {
      one.cards = [];
      one.fresh = true;
    }
    for (const card of cards) {
      if (!passes(filter, card)) continue;
      const where = this.laneOf(card);
      where.cards.push(card);
      this.placed.set(card.id, { lane: where, card });
    }
    for (const one of this.lanes) one.cards.sort(one.order);
  }

  /**
   * One task changed, came or went.
   * @param {number} id
   * @param {Card | undefined} card
   * @param {Filter} filter
   */
  move(id, card, filter) {
    const old = this.placed.get(id);
    if (old?.card === card) return;
    if (old) {
      const at = find(old.lane, old.card);
      if (old.lane.cards[at]?.id !== id) throw new Error("a placed card is where its order says");
      old.lane.cards.splice(at, 1);
      old.lane.fresh = true;
      this.placed.delete(id);
    }
    if (!card || !passes(filter, card)) return;
    const where = this.laneOf(card);
    where.cards.splice(find(where, card), 0, card);
    where.fresh = true;
    this.placed.set(id, { lane: where, card });
  }

  /** Lane and place of a card. @param {number} id */
  spot(id) {
    const there = this.placed.get(id);
    return there
      ? { lane: this.lanes.indexOf(there.lane), at: find(there.lane, there.card) }
      : null;
  }
}

/** First place whose card does not come before this one. @param {Lane} lane @param {Card} card */
function find(lane, card) {
  let low = 0;
  let high = lane.cards.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.order(/** @type {Card} */ (lane.cards[middle]), card) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
