// The shapes that cross the wire, as the server sends them, and what screens are given.
// Empty lists, empty texts and absent options are left out by the server, so they are
// optional here and are read with a default. Times are milliseconds since 1970.
// Types only: no code, and nothing here reaches a browser.

import type { Outbox } from "./outbox.js";
import type { Store } from "./store.js";

export type TaskStatus = "pending" | "in_progress" | "completed" | "failed" | "deleted";

/** How the run ended beside which the page is served, and the commands that go on from there. */
export interface Ended {
  outcome: "complete" | "partial" | "failed" | "stopped" | "waits";
  text: string;
  next: { command: string; why: string }[];
}

/** A task as a screen shows it. */
export interface Card {
  id: number;
  subject: string;
  status: TaskStatus;
  stage?: "claimed" | "submitted" | "returned";
  /** `team/name@epoch` */
  owner?: string;
  available: boolean;
  why?: string[];
  blocked_by?: string[];
  alias?: string;
  group?: string;
  /** Lower is sooner; 100 is usual. */
  priority: number;
  team: string;
  files?: string[];
  role?: string;
  assignee?: string;
  duration_ms?: number;
  path_ms: number;
  retries: number;
  retries_max: number;
  last_failure?: string;
  changed_at: number;
  created_at: number;
  gate?: { passed: boolean; at: number; runs: number; red: number };
}

export interface TaskView extends Omit<Card, "gate"> {
  description?: string;
  active_form?: string;
  blocks?: number[];
  metadata?: Record<string, string>;
  token?: number;
  lease_ms?: number;
  commit?: string;
  result?: string;
  set_aside?: string[];
  created_by: string;
}

export interface Counts {
  pending: number;
  in_progress: number;
  completed: number;
  failed: number;
  deleted: number;
}

export interface PhaseView {
  name: string;
  title?: string;
  state: "ahead" | "waits" | "runs" | "done" | "skipped" | "failed" | "passed" | "back";
  round: number;
  why?: string;
  optional?: boolean;
}

/** What a pause is, and whose words its reason is. */
export interface PauseView {
  /** The record that began it; the id of an approval. */
  id: number;
  kind: "asked" | "approval" | "budget" | "time_over" | "halt" | "trouble";
  /** `person`, `runtime` or `team/name@epoch` */
  by: string;
  at: number;
  phase?: string;
}

export interface TeamView {
  name: string;
  parent?: string | null;
  description?: string;
  phase: "active" | "ending" | "deleted";
  lead?: string | null;
  gate: boolean;
  teammates: number;
  running: number;
  tasks: Counts;
  paused?: string;
  pause?: PauseView;
  base?: string;
  branch?: string;
  breaker: "closed" | "open" | "half_open";
  tokens_used: number;
  cost_micros: number;
  tokens_max?: number | null;
  cost_micros_max?: number | null;
  playbook?: string;
  phases?: PhaseView[];
  lead_tools?: string[];
}

export interface TeammateView {
  name: string;
  team: string;
  lead: boolean;
  epoch: number;
  state: "added" | "active" | "idle" | "paused" | "stopping" | "stopped" | "disappeared" | "failed";
  why?: string;
  role?: string | null;
  agent?: string;
  model?: string;
  mode?: string;
  tools?: string[];
  scope?: string[];
  holds?: number[];
  submitted?: number[];
  returned?: number[];
  unread: number;
  tasks_max: number;
  tokens_used: number;
  cost_micros: number;
  host?: string | null;
  command?: string;
  supervision: "none" | "supervised" | "one_shot";
  session?: string;
  fence?: string;
  last_words?: string;
  pid?: number;
  sign_at?: number;
  context_used?: number;
  context_max?: number;
}

export interface PlannedTaskView {
  key: string;
  subject: string;
  description?: string;
  files?: string[];
  blocked_by?: string[];
  role?: string;
  assignee?: string;
  duration_ms?: number;
}

export interface PlannedTeammateView {
  name: string;
  role?: string;
  agent?: string;
  model?: string;
  command?: string;
  scope?: string[];
  mode?: string;
}

export interface WorkView {
  tasks?: PlannedTaskView[];
  teammates?: PlannedTeammateView[];
  single?: string;
  width?: number;
  critical_path?: string[];
  critical_path_ms?: number;
}

export interface DecisionView {
  id: number;
  kind: "plan" | "permission" | "scope" | "question" | "approval";
  team: string;
  /** `team/name@epoch`, empty for an approval. */
  who?: string;
  task?: number;
  text?: string;
  options?: string[];
  work?: WorkView;
  at: number;
  /** How many tasks wait behind it, and how long their path is. */
  waiting: number;
  waiting_ms: number;
}

/** A decision that was made. */
export interface DecidedRow {
  /** The record that decided it. */
  n: number;
  at: number;
  /** `person` or `team/name@epoch` */
  by: string;
  answer: string;
  feedback?: string;
  id: number;
  kind: DecisionView["kind"];
  team: string;
  /** Who asked; `runtime` for an approval. */
  who: string;
  task?: number;
  text?: string;
  asked_at: number;
}

export type DeliveryState =
  "queued" | "offered" | "injected" | "acknowledged" | "expired" | "bounced";

export interface MessageRow {
  id: number;
  from: string;
  kind: string;
  body?: string;
  cut?: boolean;
  reply_to?: number;
  thread: number;
  sent_at: number;
  to?: { to: string; state: DeliveryState; at: number; detail?: string }[];
  task?: number;
}

/** One claim of one task by one teammate. */
export interface Span {
  id: string | number;
  who: string;
  epoch: number;
  task: number;
  began: number;
  ended?: number;
  parts?: { kind: "works" | "gate" | "returned"; from: number; to?: number }[];
  end?: "completed" | "returned" | "released" | "failed" | "gone";
}

export interface Life {
  who: string;
  epoch: number;
  began: number;
  ended?: number;
  end?: "stopped" | "disappeared";
  detail?: string;
}

export interface CostRow {
  who: string;
  model?: string;
  /** Absent: coordination. */
  task?: number;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  cost_micros: number;
  calls: number;
}

export interface GateRow {
  n: number;
  at: number;
  team: string;
  tasks?: number[];
  commit?: string;
  passed: boolean;
  took_ms: number;
  output?: string;
}

export interface Step {
  n: number;
  at: number;
  by?: string;
  event: string;
  text: string;
}

export type LogLine = Step;

export interface Delta {
  position: number;
  whole?: boolean;
  root: string;
  log?: string;
  queue?: string;
  now: number;
  teams?: TeamView[];
  teammates?: TeammateView[];
  gone?: string[];
  tasks?: Card[];
  decisions?: DecisionView[];
  decided?: DecidedRow[];
  messages?: MessageRow[];
  spans?: Span[];
  lives?: Life[];
  costs?: CostRow[];
  lines?: LogLine[];
}

/** A piece of what a teammate printed. `from` is its place in bytes. */
export interface OutputPiece {
  who: string;
  life: number;
  from: number;
  text: string;
}

export interface OutputPage extends OutputPiece {
  lives?: number[];
  to: number;
  size: number;
}

export interface TaskPage {
  task: TaskView;
  card: Card;
  steps?: Step[];
  gates?: GateRow[];
  messages?: MessageRow[];
  spans?: Span[];
  costs?: CostRow[];
}

export interface DiffPage {
  from?: string;
  to?: string;
  text?: string;
  cut?: boolean;
  files?: { path: string; added: number; removed: number }[];
  note?: string;
}

export interface TimelinePage {
  position: number;
  spans?: Span[];
  lives?: Life[];
  path?: number[];
  began: number;
  now: number;
}

export interface CostsPage {
  position: number;
  costs?: CostRow[];
}

export interface MomentsPage {
  moments: [number, number][];
}

/** What changed since the last frame, by name of the store's part. */
export type Part =
  | "whole"
  | "teams"
  | "teammates"
  | "tasks"
  | "decisions"
  | "messages"
  | "lines"
  | "spans"
  | "lives"
  | "costs"
  | "path"
  | "queue"
  | "link";

export interface Key {
  /** What it does, in the words of the list of keys. */
  does: string;
  run(event: KeyboardEvent): void;
}

/** A screen that is open. `node` is put into the page by the shell, and taken out by it. */
export interface Screen {
  node: HTMLElement;
  title: string;
  /** Called at most once per frame, with what changed. `store.touched` says which rows. */
  update(changed: Set<Part>): void;
  close?(): void;
  keys?: Record<string, Key>;
  /** Pieces of output, for the screen that asked for them with `ctx.listen`. */
  output?(piece: OutputPiece): void;
}

export interface RootApi {
  /** GET /api/t/ROOT/path */
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  /**
   * POST /api/t/ROOT/ask; `team` where it is not the root. Throws `Refused`. With `leaving` it is
   * sent even though the page goes away.
   */
  ask<T = unknown>(ask: object | string, team?: string, leaving?: boolean): Promise<T>;
}

/** What a screen is given. */
export interface Ctx {
  root: string;
  store: Store;
  api: RootApi;
  /** Decisions that can still be taken back. */
  outbox: Outbox;
  /** A moment of the past is shown: nothing can be changed. */
  readonly?: boolean;
  /** `board`, `task/3`, `team/TEAM/NAME`, … → an address for `href`. */
  href(route: string): string;
  go(route: string): void;
  back(): void;
  /** A short notice, also read out. */
  say(text: string, kind?: "plain" | "good" | "bad"): void;
  /** Asks, says `done` when it was accepted, says fact and remedy when not. */
  attempt(ask: object | string, done: string, team?: string): Promise<boolean>;
  /** Says what went wrong, with its remedy. */
  complain(error: unknown): void;
  /** Brings spans and lives, or costs, into the store; again after a whole delta. */
  need(what: "timeline" | "costs"): Promise<void>;
  /** Runs once a second while the page is seen, until the screen closes. */
  tick(run: () => void): void;
  /** From now on the stream brings this teammate's output too (`team/name`), or none. */
  listen(who: string | null): void;
}

export type Open = (ctx: Ctx, params: string[]) => Screen;
