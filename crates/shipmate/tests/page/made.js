// What the tests of the page are made of: rows with usual values, and chance that can be repeated.

/** A task as the server sends it. @param {object} [more] */
export function card(more = {}) {
  return {
    id: 1,
    subject: "a task",
    status: "pending",
    available: true,
    priority: 100,
    team: "alpha",
    path_ms: 0,
    retries: 0,
    retries_max: 2,
    changed_at: 0,
    created_at: 0,
    ...more,
  };
}

/** Cards by their ids. @param {object[]} cards */
export function board(...cards) {
  return new Map(cards.map((one) => [one.id, card(one)]));
}

/** Numbers from 0 up to 1, the same for the same seed. @param {number} seed */
export function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An object of a class whose constructor needs a page, with the fields that are given. */
export function withoutPage(kind, fields) {
  return Object.assign(Object.create(kind.prototype), fields);
}
