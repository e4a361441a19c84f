// What crosses the wire as the page has it, and what screens are given. The shapes themselves are
// generated (wire.d.ts); here are the page's own names. Times are milliseconds since 1970. Types only:
// no code, and nothing here reaches a browser.

import type { Outbox } from "./outbox.js";
import type { Store } from "./store.js";
import type * as wire from "./wire.d.ts";

export type {
  AccountView,
  Card,
  CostRow,
  CostsPage,
  DecidedRow,
  DecisionKind,
  DecisionView,
  DeliveryState,
  Delta,
  TaskDiff as DiffPage,
  Ended,
  GateRow,
  HostView,
  LifeRow as Life,
  LogLine,
  Handoff,
  NoteView,
  PriorView,
  MessageRow,
  MomentsPage,
  OutputPage,
  OutputPiece,
  PauseView,
  PhaseView,
  Place,
  PlannedTaskView,
  PlannedTeammateView,
  Span,
  SpanPart,
  TaskAnswer as TaskPage,
  TeamView,
  TeammateView,
  TimelinePage,
  Window,
  WorkView,
} from "./wire.d.ts";

/** What changed since the last frame, by name of the store's part. */
export type Part =
  | "whole"
  | "teams"
  | "teammates"
  | "hosts"
  | "accounts"
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
  output?(piece: wire.OutputPiece): void;
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
