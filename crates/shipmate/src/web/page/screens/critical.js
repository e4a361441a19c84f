// The critical path: the chain of tasks that decides when the team is done.
//
// What is left of it is the longest chain of tasks that are not finished, by the board's own
// `path_ms`; a failed one is part of it, because nothing behind it can begin before it is done. What
// lies behind is the chain of tasks that each came last before the next could begin. Screens that
// show it ask here, so that they show the same one.

import { count, lasted } from "../words.js";

/** @import { Card } from "../types.d.ts" */

/** How much work, as people say it: `42 min`, `1 h 06 min`. @param {number} ms */
export function workTime(ms) {
  const minutes = Math.round(ms / 60_000);
  if (ms < 59_500) return lasted(ms);
  return minutes < 60 ? `${minutes} min` : lasted(Math.max(ms, 3_600_000));
}

/** @param {Card} card */
export const isUnfinished = (card) =>
  card.status === "pending" || card.status === "in_progress" || card.status === "failed";

/**
 * `8 min of work on the critical path (3 tasks), 2 tasks failed on it`
 * @param {Map<number, Card>} tasks @param {number[]} path
 */
export function pathWords(tasks, path) {
  const failed = path.filter((id) => tasks.get(id)?.status === "failed").length;
  const left = tasks.get(path[0] ?? 0)?.path_ms ?? 0;
  const said = `${workTime(left)} of work on the critical path (${count(path.length, "task")})`;
  return failed > 0 ? `${said}, ${count(failed, "task")} failed on it` : said;
}

/**
 * Who waits for whom; a group stands for its members.
 * @param {Map<number, Card>} tasks
 */
export function waiting(tasks) {
  /** @type {Map<string, number[]>} */
  const members = new Map();
  /** By id, or by `group:NAME`. @type {Map<string, number[]>} */
  const behind = new Map();
  for (const card of tasks.values()) {
    if (card.group !== undefined) add(members, `group:${card.group}`, card.id);
    for (const key of card.blocked_by ?? []) add(behind, key, card.id);
  }
  return {
    /** Tasks that wait for this one. @param {Card} card */
    behind: (card) => {
      const direct = behind.get(String(card.id)) ?? [];
      const group = card.group === undefined ? [] : (behind.get(`group:${card.group}`) ?? []);
      return group.length === 0 ? direct : [...new Set([...direct, ...group])];
    },
    /** Tasks that this one waits for. @param {Card} card */
    before: (card) => [
      ...new Set(
        (card.blocked_by ?? []).flatMap((key) =>
          key.startsWith("group:") ? (members.get(key) ?? []) : [Number(key)],
        ),
      ),
    ],
  };
}

/** @param {Map<string, number[]>} map @param {string} key @param {number} id */
function add(map, key, id) {
  const list = map.get(key);
  if (list) list.push(id);
  else map.set(key, [id]);
}

/**
 * The unfinished tasks with the longest way to the end, first one first.
 * @param {Map<number, Card>} tasks
 * @param {ReturnType<typeof waiting>} [links]
 */
export function pathAhead(tasks, links = waiting(tasks)) {
  const open = [...tasks.values()].filter(isUnfinished);
  /** @type {number[]} */
  const path = [];
  const seen = new Set();
  let here = longest(open);
  while (here && !seen.has(here.id)) {
    seen.add(here.id);
    path.push(here.id);
    const next = links.behind(here).map((id) => tasks.get(id));
    here = longest(next.filter((card) => card !== undefined).filter(isUnfinished));
  }
  return path;
}

/** @param {Card[]} cards */
function longest(cards) {
  /** @type {Card | undefined} */
  let best;
  for (const card of cards) {
    if (!best || card.path_ms > best.path_ms || (card.path_ms === best.path_ms && card.id < best.id)) {
      best = card;
    }
  }
  return best;
}

/**
 * What came before: from the path's first task, or the last that was completed, back over the
 * dependency that was completed last. First one first; without the tasks of the path ahead.
 * @param {Map<number, Card>} tasks
 * @param {number[]} ahead
 * @param {ReturnType<typeof waiting>} [links]
 */
export function pathBehind(tasks, ahead, links = waiting(tasks)) {
  /** @param {Card[]} cards */
  const last = (cards) =>
    cards
      .filter((card) => card.status === "completed")
      .reduce((a, b) => (a && a.changed_at >= b.changed_at ? a : b), /** @type {Card | undefined} */ (undefined));
  /** @param {Card} card */
  const before = (card) =>
    last(links.before(card).flatMap((id) => tasks.get(id) ?? []));
  const first = ahead.length > 0 ? tasks.get(/** @type {number} */ (ahead[0])) : undefined;
  let here = first ? before(first) : last([...tasks.values()]);
  /** @type {number[]} */
  const path = [];
  const seen = new Set();
  while (here && !seen.has(here.id)) {
    seen.add(here.id);
    path.push(here.id);
    here = before(here);
  }
  return path.reverse();
}
