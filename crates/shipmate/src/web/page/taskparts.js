// The parts of a task's page that only show: gate runs, story, messages, cost. Given rows, they
// give nodes, and keep nothing.

/** @import { CostRow, Ctx, GateRow, Handoff, LogLine, MessageRow, TaskPage } from "./types.d.ts" */

import { badge, button, el, put } from "./dom.js";
import { add, isSubscription, price, zero } from "./screens/cost.js";
import {
  clock,
  count,
  deliveryState,
  eventWord,
  lasted,
  moment,
  nameOf,
  number,
  seatOf,
  shortCommit,
  tokens,
} from "./words.js";

/** @param {string} title @param {(HTMLElement | null)[]} body */
export function section(title, ...body) {
  return el("section", { class: "part" }, el("h2", null, title), ...body);
}

/** Lines of a long output that stand there before somebody asks for all: its begin and its end. */
const HEAD_LINES = 3;
const TAIL_LINES = 8;

/** What a program printed, as it printed it; the middle of a long one on demand. @param {string} text */
export function output(text) {
  const lines = text.trimEnd().split("\n");
  const props = { class: "output", tabindex: "0", "aria-label": "What was printed" };
  const left = lines.length - HEAD_LINES - TAIL_LINES;
  if (left < 2) return el("pre", props, lines.join("\n"));
  const short = [
    ...lines.slice(0, HEAD_LINES),
    `… ${count(left, "line")} left out …`,
    ...lines.slice(-TAIL_LINES),
  ];
  const pre = el("pre", props, short.join("\n"));
  const all = button(`Show all ${number(lines.length)} lines`, () => {
    put(pre, lines.join("\n"));
    all.remove();
    pre.focus();
  });
  return el("div", { class: "output-box" }, pre, all);
}

/** @param {GateRow} gate @param {boolean} open */
export function gateRun(gate, open) {
  const others = (gate.tasks ?? []).length;
  return el(
    "details",
    { class: "gate-run", open: open && !gate.passed },
    el(
      "summary",
      null,
      el("span", { class: gate.passed ? "good" : "bad" }, gate.passed ? "✓ green" : "✕ red"),
      el(
        "span",
        { class: "dim small", title: moment(gate.at) },
        `${clock(gate.at)} · ${lasted(gate.took_ms)}`,
      ),
      gate.commit ? el("span", { class: "mono dim small" }, shortCommit(gate.commit)) : null,
      others > 1
        ? el("span", { class: "dim small" }, `with ${count(others - 1, "other task")}`)
        : null,
    ),
    el(
      "pre",
      { class: "output", tabindex: "0", "aria-label": "What the gate printed" },
      gate.output || "Nothing of its output is kept.",
    ),
  );
}

/** Newest first. The task's own id is left out of the words. @param {LogLine[]} steps @param {number} id */
export function story(steps, id) {
  if (steps.length === 0) return el("p", { class: "dim" }, "Nothing has happened to it yet.");
  return el(
    "ol",
    { class: "story" },
    steps
      .slice()
      .reverse()
      .map((step) =>
        el(
          "li",
          { title: step.event },
          el("span", { class: "dim small", title: moment(step.at) }, clock(step.at)),
          el(
            "span",
            { class: "wrap" },
            step.by ? el("strong", null, `${nameOf(step.by)} `) : null,
            eventWord(step.event),
            about(step, id),
          ),
        ),
      ),
  );
}

/**
 * What is said beyond who, what and which task: those stand there already.
 * @param {LogLine} step @param {number} id
 */
export function about({ text = "", by = "", event }, id) {
  const task = `(?:task )?${id}\\b(?: \\([^)]*\\))?[,:]? ?`;
  const asked = /^(?:plan|question)\./.test(event);
  let rest = text;
  // A plan or question begins with who asked and with its own number, which is needed to answer.
  const who = asked ? /^([^,\s]+), (?=\d)/.exec(rest) : null;
  if (who && nameOf(who[1]) === nameOf(by)) rest = rest.slice(who[0].length);
  const own = asked ? /^(\d+)(?:, |$)/.exec(rest) : null;
  if (own) rest = rest.slice(own[0].length);
  rest = rest.replace(new RegExp(`^${task}`), "");
  return `${own ? ` ${own[1]}` : ""}${rest ? `: ${rest}` : ""}`;
}

/** What was handed over with the work, a part each. @param {Handoff} handoff */
export function handoffPart(handoff) {
  const runs = (handoff.commands ?? []).map((run) =>
    [run.command, run.exit === undefined ? "" : `exit ${run.exit}`, run.result ?? ""].filter((word) => word).join(" · "),
  );
  /** @type {[string, string[] | undefined][]} */
  const parts = [
    ["Summary", handoff.summary ? [handoff.summary] : []],
    ["Done", handoff.done],
    ["Left", handoff.left],
    ["Commands", runs],
    ["Surprises", handoff.surprises],
    ["Interfaces changed", handoff.interfaces],
    ["Could not be read", handoff.fault ? [handoff.fault] : []],
  ];
  return section(
    "Handed over",
    el(
      "dl",
      { class: "facts handoff" },
      parts
        .filter(([, words]) => words?.length)
        .map(([name, words]) =>
          el("div", null, el("dt", null, name), el("dd", null, words?.map((one) => el("div", { class: "wrap" }, one)))),
        ),
    ),
  );
}

/** What the tasks before it handed over, as whoever takes it up reads it. @param {Ctx} ctx @param {TaskPage["task"]} task */
export function priorParts(ctx, task) {
  const { handoffs: priors = [], handoffs_left_out: named = [], handoffs_left_out_count: count = 0 } = task;
  const more = count - named.length;
  return section(
    "From the tasks before it",
    el(
      "ul",
      { class: "talk" },
      priors.map((prior) =>
        el(
          "li",
          { class: "talk-row" },
          el(
            "div",
            { class: "talk-head" },
            el("strong", null, nameOf(prior.by)),
            el("a", { href: ctx.href(`task/${prior.task}`) }, `#${prior.task} ${prior.subject}`),
          ),
          el("p", { class: "wrap prose" }, prior.text, prior.cut ? el("span", { class: "dim" }, " … (its task has all of it)") : null),
        ),
      ),
    ),
    named.length > 0
      ? el(
          "p",
          { class: "dim small" },
          "More was left by tasks ",
          named.flatMap((id, at) => [at > 0 ? ", " : "", el("a", { href: ctx.href(`task/${id}`) }, `#${id}`)]),
          more > 0 ? ` and ${more} more` : "",
        )
      : null,
  );
}

/** A message with its way to each who gets it. @param {MessageRow} row */
export function messageRow(row) {
  return el(
    "li",
    { class: "talk-row" },
    el(
      "div",
      { class: "talk-head" },
      el("strong", null, nameOf(row.from)),
      el("span", { class: "dim" }, "to "),
      (row.to ?? []).map((one) =>
        el(
          "span",
          { class: "talk-to", title: one.detail ?? moment(one.at) },
          nameOf(seatOf(one.to)),
          " ",
          badge(deliveryState(one.state)),
        ),
      ),
      row.kind !== "message" ? el("span", { class: "chip" }, row.kind.replaceAll("_", " ")) : null,
      el("span", { class: "dim small talk-when", title: moment(row.sent_at) }, clock(row.sent_at)),
    ),
    el(
      "p",
      { class: "wrap" },
      row.body ?? "",
      row.cut ? el("span", { class: "dim" }, " … (the rest is left out here)") : null,
    ),
  );
}

/** @param {Ctx} ctx @param {CostRow[]} rows */
function sumOf(ctx, rows) {
  const sum = zero("", "");
  for (const row of rows) add(sum, row, isSubscription(ctx, row));
  return sum;
}

/** @param {Ctx} ctx @param {CostRow[]} rows */
export function costs(ctx, rows) {
  if (rows.length === 0) return null;
  return el(
    "section",
    { class: "side-part" },
    el("h2", null, "Cost ", el("span", { class: "dim" }, price(sumOf(ctx, rows)))),
    el(
      "ul",
      { class: "claims" },
      rows.map((row) =>
        el(
          "li",
          null,
          el(
            "div",
            null,
            nameOf(row.who),
            el("span", { class: "dim" }, ` · ${row.model || "unknown model"}`),
          ),
          el(
            "div",
            { class: "small dim" },
            `${price(sumOf(ctx, [row]))} · ${tokens(row.tokens_in)} in, ${tokens(row.tokens_out)} out, ${tokens(row.tokens_cached)} cached${row.tokens_estimated ? `, ${tokens(row.tokens_estimated)} estimated` : ""} · ${count(row.calls, "call")}`,
          ),
        ),
      ),
    ),
  );
}
