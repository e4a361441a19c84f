// The words and signs for what is shown, in one place, so that a thing has one name on every
// screen (and the same in the terminal). Every state has a word and a sign: colour alone
// carries nothing. Pure: no nodes, no state; the time is always given.

/** @import { Card, Window, TeamView, TeammateView, HostView, PhaseView, Place, DecisionView, DeliveryState } from "./types.d.ts" */
/** @import { State } from "./wordtable.js" */

import { DELIVERY_STATES, HOST_STATES, PHASE_STATES, TASK_STATES, TEAMMATE_STATES } from "./wordtable.js";

export { TASK_STATES };

/**
 * @param {Pick<Card, "status" | "stage" | "available">} card
 * @returns {State}
 */
export function taskState(card) {
  switch (card.status) {
    case "pending":
      return card.available ? TASK_STATES.ready : TASK_STATES.pending;
    case "in_progress":
      return TASK_STATES[card.stage ?? "claimed"] ?? TASK_STATES.claimed;
    default:
      return TASK_STATES[card.status] ?? TASK_STATES.pending;
  }
}

/** How a reason begins that is what it failed with. */
const FAILED = /^(?:failed|came back): /;

/** What it failed with, where that is what it stands still for. @param {Card} card */
export function failure({ status, stage, last_failure, why = [] }) {
  if (status !== "failed" && stage !== "returned") return "";
  return last_failure || (why.find((one) => FAILED.test(one))?.replace(FAILED, "") ?? "");
}

/** Why it is not taken or does not move, but for what it failed with. @param {Card} card */
export function waitsFor({ why = [] }) {
  return why.filter((one) => !FAILED.test(one));
}

/** @param {Pick<TeammateView, "state">} mate @returns {State} */
export function mateState(mate) {
  return TEAMMATE_STATES[mate.state] ?? { key: "pending", sign: "○", word: mate.state };
}

/** @param {Pick<PhaseView, "state">} phase @returns {State} */
export function phaseState(phase) {
  return PHASE_STATES[phase.state] ?? { key: "pending", sign: "○", word: phase.state };
}

/** @param {Pick<HostView, "state">} host @returns {State} */
export function hostState(host) {
  return HOST_STATES[host.state] ?? { key: "pending", sign: "○", word: host.state };
}

/** @param {DeliveryState} state @returns {State} */
export function deliveryState(state) {
  return DELIVERY_STATES[state] ?? { key: "pending", sign: "○", word: state };
}

/** Where it may run; nothing where it may run anywhere. @param {Place | undefined} place */
export function placeWords(place) {
  const labels = place?.labels?.length ? `with ${place.labels.join(", ")}` : "";
  if (place?.host) return ["on", `${place.host}${labels ? "," : ""}`, labels].filter(Boolean).join(" ");
  return labels ? `on a host ${labels}` : "";
}

/**
 * That a team waits, and who asks: what a lead wrote is told as its words.
 * @param {TeamView} team
 */
export function pauseWords({ pause, paused = "" }) {
  if (pause?.kind === "approval") return { word: "waits for your approval", text: paused.replace(/^approval: /, "") };
  const by = pause?.by.includes("/") ? ` by ${nameOf(pause.by)}` : "";
  return { word: `paused${by}`, text: paused };
}

/** @type {Record<DecisionView["kind"], string>} */
const DECISIONS = {
  plan: "plan",
  permission: "permission",
  scope: "scope",
  question: "question",
  approval: "approval",
};

/** @param {DecisionView["kind"]} kind */
export function decisionKind(kind) {
  return DECISIONS[kind] ?? kind;
}

/** What a task's story calls the events whose names are not plain words. @type {Record<string, string>} */
const EVENTS = {
  "task.created": "made the task",
  "task.updated": "changed it",
  "task.claimed": "took it",
  "task.renewed": "showed that work goes on",
  "task.submitted": "handed it in for the gate",
  "task.completed": "completed it",
  "task.returned": "gave it back to be mended",
  "task.released": "put it back on the board",
  "task.failed": "gave up on it",
  "task.retried": "put it on the board again",
  "task.reverted": "took its merge back",
  "task.assigned": "assigned it",
  "task.deleted": "deleted it",
  "task.work_set_aside": "set its work aside",
  "task.scope_granted": "allowed more files",
  "task.scope_left_out": "left files out",
  "gate.ran": "ran the gate",
  "note.added": "noted",
  "note.removed": "removed a note",
  "hook.noted": "noted, from a hook",
  "plan.submitted": "handed in a plan",
  "plan.approved": "approved the plan",
  "plan.rejected": "rejected the plan",
  "question.asked": "asked",
  "question.answered": "answered the question",
  "question.withdrawn": "withdrew the question",
  "escalation.raised": "called for help",
  "escalation.resolved": "settled the call for help",
};

/** What happened, from the event's name: `task.claimed` is "took it". @param {string} event */
export function eventWord(event) {
  const known = EVENTS[event];
  if (known) return known;
  const [about = "", what = ""] = event.split(".");
  const word = what.replaceAll("_", " ");
  return about === "task" || word === "" ? word || about : `${about} ${word}`;
}

/** Lower is sooner; this is what a task has unless somebody says otherwise. */
export const USUAL_PRIORITY = 100;

/** @type {Record<string, string>} */
const SPAN_ENDS = {
  completed: "completed",
  returned: "returned",
  released: "released",
  failed: "failed",
  gone: "teammate gone",
};

/** @param {string | undefined} end */
export function spanEnd(end) {
  return end === undefined ? "goes on" : (SPAN_ENDS[end] ?? end);
}

/**
 * `team/name@epoch` in its parts. A bare name has no team.
 * @param {string} who
 */
export function parts(who) {
  const slash = who.indexOf("/");
  const at = who.lastIndexOf("@");
  const end = at > slash ? at : who.length;
  return {
    team: slash < 0 ? "" : who.slice(0, slash),
    name: who.slice(slash + 1, end),
    epoch: at > slash ? Number(who.slice(at + 1)) : 0,
  };
}

/** The name alone; `person` stays. @param {string | undefined | null} who */
export function nameOf(who) {
  return who ? parts(who).name : "";
}

/** `team/name`, without the epoch. @param {string} who */
export function seatOf(who) {
  const { team, name } = parts(who);
  return team ? `${team}/${name}` : name;
}

/** How long ago, short: `now`, `12s`, `4m`, `3h`, `2d`. @param {number} ms */
export function age(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 1) return "now";
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86_400)}d`;
}

/** `now` or `4m ago`. @param {number} ms */
export function ago(ms) {
  const short = age(ms);
  return short === "now" ? "now" : `${short} ago`;
}

/** How long: `850 ms`, `12 s`, `4 min 05 s`, `3 h 20 min`. @param {number} ms */
export function lasted(ms) {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1000) return `${whole} ms`;
  const s = Math.round(whole / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} min`;
}

const clockFormat = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Time of day. @param {number} at */
export function clock(at) {
  return clockFormat.format(at);
}

/** Time of day, and the day where it is not today. @param {number} at */
export function when(at) {
  return new Date(at).toDateString() === new Date().toDateString() ? clock(at) : moment(at);
}

/** Date and time, for titles. @param {number} at */
export function moment(at) {
  return dayFormat.format(at);
}

/** Money from millionths of a dollar: `$0.00`, `<$0.01`, `$1,234.50`. @param {number} micros */
export function money(micros) {
  if (micros > 0 && micros < 10_000) return "<$0.01";
  return `$${(micros / 1e6).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/**
 * What was paid, or how much of that is known: a price that nobody knows never looks like nothing. A
 * subscription has windows instead of a price: what a key would have paid is what it is worth.
 * @param {number} paid
 * @param {number} unpriced tokens whose price is not known
 * @param {number} [worth] of what a subscription was asked; nothing where none was
 * @param {number} [worthUnpriced] tokens of it of which nobody knows that
 */
export function price(paid, unpriced, worth, worthUnpriced = 0) {
  const least = worthUnpriced > 0 ? "at least " : "";
  const parts = [
    paid > 0 ? money(paid) : "",
    unpriced > 0 ? (paid > 0 ? "unknown" : "price unknown") : "",
    worth === undefined ? "" : worth > 0 ? `subscription (worth ${least}${money(worth)})` : "subscription",
  ].filter(Boolean);
  return parts.join(" + ") || money(0);
}

/**
 * The same of a teammate or a team.
 * @param {{ cost_micros: number, tokens_used?: number, tokens_unpriced?: number, subscription?: boolean, cost_notional_micros?: number, tokens_subscription?: number, tokens_subscription_unpriced?: number }} sums
 */
export function cost({ cost_micros, tokens_used = 0, tokens_unpriced = 0, subscription = false, cost_notional_micros = 0, tokens_subscription = 0, tokens_subscription_unpriced = 0 }) {
  const has = tokens_subscription > 0 || (subscription && tokens_used === 0 && cost_micros === 0);
  return price(cost_micros - cost_notional_micros, tokens_unpriced, has ? cost_notional_micros : undefined, tokens_subscription_unpriced);
}

/**
 * What a team has used, each with its budget where it has one.
 * @param {TeamView} team
 */
export function budgetWords(team) {
  const { tokens_used, tokens_estimated = 0, tokens_max, cost_micros, cost_micros_max, window_max, window_used = 0 } = team;
  const guessed = tokens_estimated ? `, ${tokens(tokens_estimated)} of them estimated` : "";
  const of = tokens_max ? ` of ${tokens(tokens_max)}` : "";
  const parts = [
    { text: `${tokens(tokens_used)}${of} tokens${guessed}`, over: Boolean(tokens_max && tokens_used > tokens_max) },
    { text: cost(team), over: false },
  ];
  if (cost_micros_max) parts.push({ text: `${money(cost_micros)} of a budget of ${money(cost_micros_max)}`, over: cost_micros > cost_micros_max });
  if (window_max) parts.push({ text: `${share(window_used)} of a window of at most ${share(window_max)}`, over: window_used >= window_max });
  return parts;
}

/** What a teammate has used of its own budget; nothing where it has none. @param {TeammateView} mate */
export function ownBudget(mate) {
  const { tokens_used, tokens_max, cost_micros, cost_micros_max, window_max, window_used = 0 } = mate;
  const parts = [];
  if (tokens_max !== undefined) parts.push(`${tokens(tokens_used)} of ${tokens(tokens_max)} tokens`);
  if (cost_micros_max !== undefined) parts.push(`${money(cost_micros)} of ${money(cost_micros_max)}`);
  if (window_max !== undefined) parts.push(`${share(window_used)} of a window of at most ${share(window_max)}`);
  return parts.join(", ");
}

/** Thousandths as people read them: `12.5 %`. @param {number} thousandths */
export function share(thousandths) {
  return `${thousandths / 10} %`;
}

/** What is known of an account's windows, in a line. @param {Window[]} windows */
export function windowWords(windows) {
  return windows
    .map(({ name, used, resets_at }) => {
      const reset = resets_at ? ` until ${when(resets_at)}` : "";
      return `${name}${used === undefined ? "" : ` ${share(used)}`}${reset}`;
    })
    .join(", ");
}

/** `940`, `12.3k`, `4.1M`. @param {number} n */
export function tokens(n) {
  if (n < 1000) return String(n);
  if (n < 999_500) return `${(n / 1000).toFixed(n < 99_950 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(n < 99_950_000 ? 1 : 0)}M`;
}

/** @param {number} n */
export function number(n) {
  return n.toLocaleString("en-US");
}

/** `1 task`, `3 tasks`. @param {number} n @param {string} one @param {string} [many] */
export function count(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
  return whole > 0 ? `${Math.round((100 * part) / whole)}%` : "–";
}

/** `once`, `3 times`. @param {number} n */
export function times(n) {
  return n === 1 ? "once" : `${number(n)} times`;
}

/**
 * Attempts that failed, and after how many it is given up; null where none failed. The attempt
 * that a failed task ended with is not among its `retries`.
 * @param {Pick<Card, "status" | "retries" | "retries_max">} card
 */
export function attempts({ status, retries, retries_max }) {
  const over = status === "failed";
  const failed = over ? retries + 1 : retries;
  if (failed === 0) return null;
  const most = Math.max(retries_max + 1, failed);
  const told = `failed ${times(failed)}`;
  if (over) return { short: told, long: `${told}, given up` };
  if (status === "completed") return { short: told, long: `${told} before` };
  return { short: `failed ${failed} of ${most}`, long: `${told}, gives up after ${most}` };
}

/** What the gate says of a task. @param {NonNullable<Card["gate"]>} gate */
export function gateWord({ passed, red }) {
  if (passed) return red > 0 ? `✓ green (${number(red)} red before)` : "✓ green";
  return red > 1 ? `✕ red (${times(red)})` : "✕ red";
}

/** A commit, short enough to read; words such as "working tree" stay. @param {string} commit */
export function shortCommit(commit) {
  return /^[0-9a-f]{10,}$/.test(commit) ? commit.slice(0, 9) : commit;
}
