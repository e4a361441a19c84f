// The picture of one tree of teams, kept from deltas. What must hold: rows are replaced,
// never changed in place (a screen may compare by identity); subscribers hear of changes at
// most once per frame, with the parts that changed; `touched` says which rows. Spans, lives
// and costs are there once they were asked for (`takeTimeline`, `takeCosts`): a whole delta
// carries none, so after one they are absent again.

/**
 * @import { AccountView, Card, CostRow, DecidedRow, DecisionView, Delta, HostView, Life, LogLine, MessageRow, Part, Span,
 *   TeamView, TeammateView, TimelinePage, CostsPage } from "./types.d.ts"
 */

const LINES_MAX = 2000;
const MESSAGES_MAX = 5000;
const DECIDED_MAX = 1000;

/** Once per frame where the page is seen; frames stop in a hidden tab, a timer does not. */
/** @param {() => void} run */
function nextFrame(run) {
  if (document.hidden) setTimeout(run, 500);
  else requestAnimationFrame(run);
}

/** @param {CostRow} row */
export function costKey(row) {
  return `${row.who}|${row.model ?? ""}|${row.task ?? ""}|${row.account ?? ""}`;
}

/** @param {Life} life */
export function lifeKey(life) {
  return `${life.who}@${life.epoch}`;
}

export class Store {
  /** @param {(run: () => void) => void} [schedule] */
  constructor(schedule = nextFrame) {
    this.schedule = schedule;
    this.root = "";
    this.log = "";
    this.queue = "";
    /** Position of the last record in the picture. */
    this.position = 0;
    /** The first whole delta has come. */
    this.loaded = false;
    /** Server's clock minus ours. */
    this.skew = 0;
    /** @type {"off" | "opening" | "open" | "waiting" | "resting" | "trouble" | "gone"} */
    this.link = "off";
    /** @type {Map<number, Card>} */
    this.tasks = new Map();
    /** @type {Map<string, TeamView>} */
    this.teams = new Map();
    /** By `team/name`. @type {Map<string, TeammateView>} */
    this.teammates = new Map();
    /** The machines that share the team; none while there is one. @type {HostView[]} */
    this.hosts = [];
    /** @type {AccountView[]} */
    this.accounts = [];
    /** Most waiting work first. @type {DecisionView[]} */
    this.decisions = [];
    /** What was decided, oldest first. @type {DecidedRow[]} */
    this.decided = [];
    /** @type {Map<number, MessageRow>} */
    this.messages = new Map();
    /** Oldest first. @type {LogLine[]} */
    this.lines = [];
    /** @type {Map<string, Span>} */
    this.spans = new Map();
    /** @type {Map<string, Life>} */
    this.lives = new Map();
    /** @type {Map<string, CostRow>} */
    this.costs = new Map();
    /** Critical path, first task first. @type {number[]} */
    this.path = [];
    /** When the team began, once the timeline was asked for. */
    this.began = 0;
    /** Position the timeline and the costs were fetched at; -1 while they were not. */
    this.timelineAt = -1;
    this.costsAt = -1;
    /** Which rows changed since the last frame; read it inside `update`. */
    this.touched = touched();

    /** @type {Set<Part>} */
    this.changed = new Set();
    this.scheduled = false;
    /** @type {Set<(changed: Set<Part>) => void>} */
    this.subscribers = new Set();
    /** @type {Map<string, number>} */
    this.rowsAt = new Map();
  }

  /** A picture of the past, which never changes. @param {Delta} whole */
  static of(whole) {
    const store = new Store(() => {});
    store.take(whole);
    store.skew = whole.now - Date.now();
    return store;
  }

  /** What time it is at the server. @param {number} now */
  setClock(now) {
    this.skew = now - Date.now();
  }

  /** The server's time now. */
  time() {
    return Date.now() + this.skew;
  }

  /** @param {(changed: Set<Part>) => void} run @returns {() => void} */
  subscribe(run) {
    this.subscribers.add(run);
    return () => this.subscribers.delete(run);
  }

  /** @param {Store["link"]} link */
  setLink(link) {
    if (this.link === link) return;
    this.link = link;
    this.mark("link");
  }

  /** @param {Delta} delta */
  take(delta) {
    if (delta.whole) this.clear();
    this.position = Math.max(this.position, delta.position);
    this.root = delta.root;
    if (delta.log) this.log = delta.log;
    if (this.queue !== (delta.queue ?? "")) {
      this.queue = delta.queue ?? "";
      this.mark("queue");
    }
    this.takeRows(delta);
    this.takeStory(delta);
    if (delta.whole) {
      this.loaded = true;
      this.touched.whole = true;
      /** @type {Part[]} */
      const all = ["whole", "teams", "teammates", "hosts", "accounts", "tasks", "decisions", "messages", "lines"];
      for (const part of all) this.mark(part);
    }
  }

  /** @param {Delta} delta */
  takeRows(delta) {
    for (const team of delta.teams ?? []) {
      this.teams.set(team.name, team);
      this.mark("teams");
    }
    for (const mate of delta.teammates ?? []) {
      const key = `${mate.team}/${mate.name}`;
      this.teammates.set(key, mate);
      this.touched.teammates.add(key);
      this.mark("teammates");
    }
    for (const key of delta.gone ?? []) {
      if (this.teammates.delete(key)) this.touched.teammates.add(key);
      this.mark("teammates");
    }
    if (delta.accounts) {
      this.accounts = delta.accounts;
      this.mark("accounts");
    }
    if (delta.hosts) {
      this.hosts = delta.hosts;
      this.mark("hosts");
    }
    for (const card of delta.tasks ?? []) {
      this.tasks.set(card.id, card);
      this.touched.tasks.add(card.id);
      this.mark("tasks");
    }
    if (delta.decisions) {
      this.decisions = delta.decisions;
      this.mark("decisions");
    }
    if (delta.decided?.length) {
      const last = this.decided.at(-1)?.n ?? 0;
      const fresh = delta.decided.filter((row) => row.n > last);
      this.decided = this.decided.concat(fresh).slice(-DECIDED_MAX);
      this.mark("decisions");
    }
    this.takeMessages(delta.messages ?? []);
    if (delta.lines?.length) {
      const last = this.lines.at(-1)?.n ?? 0;
      this.lines = this.lines.concat(delta.lines.filter((line) => line.n > last)).slice(-LINES_MAX);
      this.mark("lines");
    }
  }

  /** Also older ones, from `GET messages`. @param {MessageRow[]} rows */
  takeMessages(rows) {
    for (const row of rows) {
      this.messages.set(row.id, row);
      this.touched.messages.add(row.id);
      this.mark("messages");
    }
    if (this.messages.size > MESSAGES_MAX) {
      const ids = [...this.messages.keys()].sort((a, b) => a - b);
      for (const id of ids.slice(0, this.messages.size - MESSAGES_MAX)) this.messages.delete(id);
    }
  }

  /** Rows that a fetch already knew newer are passed over. @param {Delta} delta */
  takeStory(delta) {
    if (delta.position > this.timelineAt) {
      for (const span of delta.spans ?? []) {
        this.spans.set(String(span.id), span);
        this.rowsAt.set(`s${span.id}`, delta.position);
        this.mark("spans");
      }
      for (const life of delta.lives ?? []) {
        this.lives.set(lifeKey(life), life);
        this.rowsAt.set(`l${lifeKey(life)}`, delta.position);
        this.mark("lives");
      }
    }
    if (delta.position > this.costsAt) {
      for (const row of delta.costs ?? []) {
        this.costs.set(costKey(row), row);
        this.rowsAt.set(`c${costKey(row)}`, delta.position);
        this.mark("costs");
      }
    }
  }

  /** @param {TimelinePage} page */
  takeTimeline(page) {
    for (const span of page.spans ?? []) {
      if ((this.rowsAt.get(`s${span.id}`) ?? 0) <= page.position)
        this.spans.set(String(span.id), span);
    }
    for (const life of page.lives ?? []) {
      if ((this.rowsAt.get(`l${lifeKey(life)}`) ?? 0) <= page.position) {
        this.lives.set(lifeKey(life), life);
      }
    }
    this.path = page.path ?? [];
    this.began = page.began;
    this.timelineAt = page.position;
    this.mark("spans");
    this.mark("lives");
    this.mark("path");
  }

  /** @param {CostsPage} page */
  takeCosts(page) {
    for (const row of page.costs ?? []) {
      if ((this.rowsAt.get(`c${costKey(row)}`) ?? 0) <= page.position)
        this.costs.set(costKey(row), row);
    }
    this.costsAt = page.position;
    this.mark("costs");
  }

  clear() {
    this.tasks.clear();
    this.teams.clear();
    this.teammates.clear();
    this.hosts = [];
    this.accounts = [];
    this.decisions = [];
    this.decided = [];
    this.messages.clear();
    this.lines = [];
    this.spans.clear();
    this.lives.clear();
    this.costs.clear();
    this.rowsAt.clear();
    this.path = [];
    this.began = 0;
    this.timelineAt = -1;
    this.costsAt = -1;
    this.position = 0;
  }

  /** @param {Part} part */
  mark(part) {
    this.changed.add(part);
    if (this.scheduled) return;
    this.scheduled = true;
    this.schedule(() => this.tell());
  }

  tell() {
    this.scheduled = false;
    const { changed } = this;
    this.changed = new Set();
    try {
      for (const run of [...this.subscribers]) run(changed);
    } finally {
      this.touched = touched();
    }
  }
}

function touched() {
  return {
    /** Everything was replaced. */
    whole: false,
    /** @type {Set<number>} */
    tasks: new Set(),
    /** @type {Set<string>} */
    teammates: new Set(),
    /** @type {Set<number>} */
    messages: new Set(),
  };
}
