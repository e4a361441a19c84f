// Decisions that were pressed and are not sent yet. For a few seconds each can be taken back; then
// it is sent, or at once where somebody says so or leaves the page. They are kept nowhere else: a
// tab that is killed leaves them undecided.

import { Refused } from "./api.js";

/** @import { RootApi } from "./types.d.ts" */

/** How long a decision can be taken back. */
export const UNDO_MS = 5000;

/**
 * @typedef {object} Held
 * @property {string} key The decision that it is about.
 * @property {string} what What was pressed, and for what.
 * @property {object | string} ask
 * @property {string} team
 * @property {string} done What to say once it is accepted.
 */

export class Outbox {
  /**
   * @param {RootApi} api
   * @param {{ say: (text: string, kind: "good") => void, complain: (error: unknown) => void }} shell
   */
  constructor(api, shell) {
    this.api = api;
    this.shell = shell;
    /** Not sent yet, the last one last. @type {(Held & { due: number, timer: number })[]} */
    this.held = [];
    /**
     * Sent and not yet gone from the team's list, and the record after which each must be.
     * @type {Map<string, number>}
     */
    this.sent = new Map();
    /** Who shows it: told of every change, and of what was not accepted. */
    /** @type {((refused?: { key: string, error: Refused }) => void) | null} */
    this.shown = null;
    // Whoever leaves the page has decided.
    this.leave = () => this.empty(true);
    addEventListener("pagehide", this.leave);
  }

  /** @param {Held} held */
  hold(held) {
    const timer = setTimeout(() => this.send(held.key), UNDO_MS);
    this.held.push({ ...held, due: performance.now() + UNDO_MS, timer });
    this.shown?.();
  }

  /** Takes the last one back that is not sent. @returns {Held | undefined} */
  undo() {
    const held = this.held.pop();
    if (held) clearTimeout(held.timer);
    this.shown?.();
    return held;
  }

  /** @param {boolean} [leaving] */
  empty(leaving = false) {
    for (const { key } of [...this.held]) void this.send(key, leaving);
  }

  /** It is decided here: nobody is asked again while that is on its way. @param {string} key */
  hides(key) {
    return this.sent.has(key) || this.held.some((held) => held.key === key);
  }

  /**
   * The team's list is that of this record. What waits no more is not sent.
   * @param {Set<string>} there @param {number} position
   * @returns {Held[]} what was dropped
   */
  look(there, position) {
    for (const [key, until] of this.sent) {
      // What is still there once the answer is in the picture was not settled by it.
      if (!there.has(key) || position >= until) this.sent.delete(key);
    }
    const gone = this.held.filter((held) => !there.has(held.key));
    for (const held of gone) clearTimeout(held.timer);
    this.held = this.held.filter((held) => there.has(held.key));
    return gone;
  }

  /** @param {string} key @param {boolean} [leaving] */
  async send(key, leaving = false) {
    const held = this.held.find((one) => one.key === key);
    if (!held) return;
    clearTimeout(held.timer);
    this.held = this.held.filter((one) => one !== held);
    this.sent.set(key, Infinity);
    this.shown?.();
    try {
      /** @type {any} */
      const answer = await this.api.ask(held.ask, held.team, leaving);
      this.sent.set(key, answer?.done?.last ?? 0);
      this.shell.say(held.done, "good");
      this.shown?.();
    } catch (error) {
      this.sent.delete(key);
      const here = this.shown && error instanceof Refused && !error.locked;
      if (!here) this.shell.complain(error);
      this.shown?.(here && error instanceof Refused ? { key, error } : undefined);
    }
  }

  close() {
    removeEventListener("pagehide", this.leave);
    this.shown = null;
    this.empty();
  }
}
