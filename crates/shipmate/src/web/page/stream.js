// The one stream of a tab: server-sent events read with fetch, because an EventSource cannot
// send the token. What must hold: a reconnect asks for what came after the last position it
// saw, so nothing is missed; waiting times grow and are spread, so that many tabs do not come
// back in step. A browser allows six connections per host: a hidden tab keeps its stream only
// while it has one of three slots, else it rests and catches up when it is seen.

/** @import { Delta, Ended, OutputPiece } from "./types.d.ts" */

import { Refused, request } from "./api.js";

const SLOTS = 3;
const WAIT_MIN_MS = 400;
const WAIT_MAX_MS = 15_000;
/** The server says something every 15 s; three times that without a byte is a dead line. */
const SILENCE_MAX_MS = 45_000;

/**
 * @typedef {{
 *   delta(delta: Delta): void,
 *   output(piece: OutputPiece): void,
 *   link(state: "opening" | "open" | "waiting" | "resting", retryInMs?: number): void,
 *   trouble(trouble: { message: string, remedy?: string }): void,
 *   ended(how: Ended): void,
 *   gone(): void,
 *   clock(now: number): void,
 *   refused(error: Refused): void,
 *   position(): number,
 * }} Hooks
 */

export class Stream {
  /** @param {string} root @param {Hooks} hooks */
  constructor(root, hooks) {
    this.root = root;
    this.hooks = hooks;
    /** @type {string | null} */
    this.who = null;
    this.wait = WAIT_MIN_MS;
    this.closed = false;
    /** @type {AbortController | null} */
    this.line = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** Gives the slot of a hidden tab back. @type {(() => void) | null} */
    this.freeSlot = null;
    this.asking = false;
    this.seen = () => void this.visibility();
    this.online = () => {
      if (!this.line && !document.hidden) this.open();
    };
    document.addEventListener("visibilitychange", this.seen);
    addEventListener("online", this.online);
    if (document.hidden) void this.visibility();
    else this.open();
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.seen);
    removeEventListener("online", this.online);
    this.drop();
    this.freeSlot?.();
  }

  /** Output of this teammate (`team/name`) too, or of nobody. @param {string | null} who */
  listen(who) {
    if (this.who === who) return;
    this.who = who;
    if (this.line) this.open();
  }

  /** Now, not after the wait. */
  retry() {
    this.wait = WAIT_MIN_MS;
    this.open();
  }

  drop() {
    clearTimeout(this.timer);
    this.line?.abort();
    this.line = null;
  }

  open() {
    if (this.closed) return;
    this.drop();
    const line = new AbortController();
    this.line = line;
    this.hooks.link("opening");
    this.read(line).then(
      () => this.lost(line),
      (error) => {
        // What the server refuses it would refuse again; only a silence is worth a retry.
        if (error instanceof Refused && error.status >= 400 && error.status < 500) {
          if (this.line === line) this.hooks.refused(error);
        } else {
          this.lost(line);
        }
      },
    );
  }

  /** @param {AbortController} line */
  lost(line) {
    if (this.closed || this.line !== line) return;
    this.line = null;
    const wait = this.wait * (0.5 + Math.random());
    this.wait = Math.min(this.wait * 2, WAIT_MAX_MS);
    this.hooks.link("waiting", wait);
    this.timer = setTimeout(() => this.open(), wait);
  }

  /** @param {AbortController} line */
  async read(line) {
    const output = this.who ? `&output=${encodeURIComponent(this.who)}` : "";
    const after = this.hooks.position();
    const path = `/api/t/${encodeURIComponent(this.root)}/stream?after=${after}${output}`;
    const response = await request(path, {
      signal: line.signal,
      headers: { accept: "text/event-stream" },
    });
    if (!response.body) throw new Error("a stream has a body");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    this.wait = WAIT_MIN_MS;
    // What comes over the line may have been written long ago: only the answer itself is fresh.
    const now = Number(response.headers.get("shipmate-now"));
    if (now > 0) this.hooks.clock(now);
    if (this.line === line) this.hooks.link("open");
    const parse = events((name, data) => {
      if (this.line !== line) return;
      if (name === "delta") this.hooks.delta(JSON.parse(data));
      else if (name === "output") this.hooks.output(JSON.parse(data));
      else if (name === "trouble") this.hooks.trouble(JSON.parse(data));
      else if (name === "ended") this.hooks.ended(JSON.parse(data));
      else if (name === "gone") this.hooks.gone();
    });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let silence;
    try {
      for (;;) {
        clearTimeout(silence);
        silence = setTimeout(() => void reader.cancel(), SILENCE_MAX_MS);
        const { value, done } = await reader.read();
        if (done) return;
        parse(value);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  async visibility() {
    if (!document.hidden) {
      this.freeSlot?.();
      this.freeSlot = null;
      if (!this.line) this.open();
      return;
    }
    if (this.freeSlot || this.asking) return;
    this.asking = true;
    const free = await slot();
    this.asking = false;
    if (this.closed || !document.hidden) {
      free?.();
      return;
    }
    this.freeSlot = free;
    if (free) {
      if (!this.line) this.open();
    } else {
      this.drop();
      this.hooks.link("resting");
    }
  }
}

/** One of the slots for hidden tabs, or none. @returns {Promise<(() => void) | null>} */
async function slot() {
  // Locks are only there on a trustworthy origin: loopback is one, a forwarded name may not be.
  if (!navigator.locks) return null;
  for (let n = 0; n < SLOTS; n++) {
    /** @type {(() => void) | null} */
    const free = await new Promise((got) => {
      void navigator.locks.request(`shipmate-stream-${n}`, { ifAvailable: true }, (lock) => {
        if (!lock) return got(null);
        return new Promise((release) => got(() => release(undefined)));
      });
    });
    if (free) return free;
  }
  return null;
}

/**
 * Cuts text into events. Comments keep the line alive and are passed over. Pieces without a
 * line's end are only collected: a whole picture of a big team comes in hundreds of them.
 * @param {(name: string, data: string) => void} emit
 * @returns {(text: string) => void}
 */
export function events(emit) {
  /** @type {string[]} */
  let pieces = [];
  let name = "message";
  /** @type {string[]} */
  let data = [];
  return (text) => {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      pieces.push(text.slice(from, end));
      from = end + 1;
      const whole = pieces.join("");
      pieces = [];
      const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
      if (line === "") {
        if (data.length > 0) emit(name, data.join("\n"));
        name = "message";
        data = [];
      } else if (line.startsWith("event:")) {
        name = line.slice(6).trim();
      } else if (line.startsWith("data:")) {
        data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
    if (from < text.length) pieces.push(text.slice(from));
  };
}
