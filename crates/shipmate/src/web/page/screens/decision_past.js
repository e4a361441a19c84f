// What was decided, by whom and when: latest first, from the log.

import { el, keep, setText } from "../dom.js";
import { ago, count, decisionKind, moment, nameOf } from "../words.js";

/** @import { Ctx, DecidedRow } from "../types.d.ts" */

/** @param {DecidedRow} row */
const said = (row) => (row.feedback ? `${row.answer}: ${row.feedback}` : row.answer);

/** @param {string} by */
const name = (by) => (by === "person" ? "you" : nameOf(by));

/** The list, closed until somebody opens it; `update` brings it up to date. @param {Ctx} ctx */
export function past(ctx) {
  const list = el("ol", { class: "decided-list" });
  const sum = el("summary", null, "Decided");
  const node = el("details", { class: "decided" }, sum, list);
  const since = (/** @type {number} */ at) => ago(Math.max(0, ctx.store.time() - at));
  /** @param {DecidedRow} row */
  const make = (row) =>
    el(
      "li",
      null,
      el("time", { data: { at: row.at }, title: moment(row.at) }, since(row.at)),
      el("strong", null, name(row.by)),
      el("span", { class: "decided-said" }, said(row)),
      el("span", { class: "dim" }, `${decisionKind(row.kind)} ${row.who === "runtime" ? `for team ${row.team}` : `from ${nameOf(row.who)}`}`),
      el("span", { class: "decided-text cut" }, row.text ?? ""),
    );
  const update = () => {
    const rows = [...ctx.store.decided].reverse();
    setText(sum, rows.length === 0 ? "Nothing was decided yet" : `${count(rows.length, "decision")} made`);
    keep(list, rows, (row) => String(row.n), make);
  };
  update();
  return { node, update };
}
