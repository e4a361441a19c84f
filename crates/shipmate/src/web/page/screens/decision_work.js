// What a decision brings about, to be read before it is made: of a plan its tasks, its teammates, how
// many can work at once, and the chain that decides how long it takes; of a scope request the change.

import { renderDiff } from "../diff.js";
import { el, put } from "../dom.js";
import { count, placeWords } from "../words.js";
import { workTime } from "./critical.js";

/** @import { Ctx, DiffPage, WorkView, PlannedTaskView, PlannedTeammateView } from "../types.d.ts" */

const TASKS_SHOWN = 60;

/** @param {WorkView} work */
export function workOf(work) {
  const tasks = work.tasks ?? [];
  const mates = work.teammates ?? [];
  const path = work.critical_path ?? [];
  return el(
    "div",
    { class: "work" },
    el(
      "dl",
      { class: "figures" },
      figure("tasks", String(tasks.length)),
      figure("teammates", String(mates.length)),
      figure("at the same time", work.width ? `up to ${work.width}` : "–"),
      figure("longest path", work.critical_path_ms ? workTime(work.critical_path_ms) : "–"),
    ),
    work.single ? el("p", null, `One teammate is enough: ${work.single}`) : null,
    path.length > 0
      ? el(
          "p",
          { class: "work-path" },
          el("span", { class: "dim" }, "critical path "),
          path.flatMap((key, i) => [i > 0 ? " → " : "", el("span", { class: "task-id" }, key)]),
        )
      : null,
    tasks.length > 0 ? taskTable(tasks, new Set(path)) : null,
    mates.length > 0 ? mateTable(mates) : null,
  );
}

/** @param {string} name @param {string} value */
const figure = (name, value) => el("div", null, el("dt", null, name), el("dd", null, value));

/** @param {PlannedTaskView[]} tasks @param {Set<string>} path */
function taskTable(tasks, path) {
  const body = el("tbody", null, tasks.slice(0, TASKS_SHOWN).map((task) => taskRow(task, path)));
  const more = tasks.length - TASKS_SHOWN;
  const rest =
    more > 0
      ? el("button", { type: "button", class: "button", on: { click: (/** @type {Event} */ event) => {
          body.append(...tasks.slice(TASKS_SHOWN).map((task) => taskRow(task, path)));
          /** @type {HTMLElement} */ (event.currentTarget).remove();
        } } }, `Show ${count(more, "more task", "more tasks")}`)
      : null;
  return el(
    "div",
    { class: "wide-box", tabindex: 0, role: "group", "aria-label": "Planned tasks" },
    el(
      "table",
      { class: "table" },
      el("caption", null, "Tasks"),
      el("thead", null, heads(["task", "subject", "after", "files", "for", "takes"])),
      body,
    ),
    rest,
  );
}

/** @param {PlannedTaskView} task @param {Set<string>} path */
function taskRow(task, path) {
  return el(
    "tr",
    { class: path.has(task.key) ? "on-path" : undefined },
    el(
      "th",
      { scope: "row" },
      el("span", { class: "task-id" }, task.key),
      path.has(task.key) ? el("span", { class: "path-word" }, " critical") : null,
    ),
    el(
      "td",
      { class: "grow" },
      task.subject,
      task.description ? el("details", { class: "more" }, el("summary", null, "details"), el("div", { class: "prose" }, task.description)) : null,
    ),
    el("td", null, (task.blocked_by ?? []).join(", ")),
    el("td", { class: "files" }, (task.files ?? []).map((file) => el("code", null, file))),
    el("td", null, task.assignee ?? task.role ?? ""),
    el("td", { class: "n" }, task.duration_ms ? workTime(task.duration_ms) : ""),
  );
}

/** @param {PlannedTeammateView[]} mates */
function mateTable(mates) {
  const placed = mates.some((mate) => mate.place);
  return el(
    "div",
    { class: "wide-box", tabindex: 0, role: "group", "aria-label": "Planned teammates" },
    el(
      "table",
      { class: "table" },
      el("caption", null, "Teammates"),
      el("thead", null, heads(["name", "role", "agent", "may write", "mode", ...(placed ? ["runs"] : [])])),
      el(
        "tbody",
        null,
        mates.map((mate) =>
          el(
            "tr",
            null,
            el("th", { scope: "row" }, mate.name),
            el("td", null, mate.role ?? ""),
            el("td", { class: "grow" }, mate.command ? el("code", null, mate.command) : [mate.agent, mate.model].filter(Boolean).join(" · ")),
            el("td", { class: "files" }, (mate.scope ?? []).length > 0 ? (mate.scope ?? []).map((path) => el("code", null, path)) : "anything"),
            el("td", null, mate.mode ?? ""),
            placed ? el("td", null, placeWords(mate.place) || "anywhere") : null,
          ),
        ),
      ),
    ),
  );
}

/** @param {string[]} names */
const heads = (names) => el("tr", null, names.map((name) => el("th", { scope: "col" }, name)));

/**
 * The files that a task changed, and the diff folded. It comes when it is there; a task whose change
 * cannot be had shows none.
 * @param {Ctx} ctx @param {number} task
 */
export function changeOf(ctx, task) {
  const node = el("section", { class: "decision-change", "aria-label": "The change", hidden: true });
  /** @param {DiffPage} page */
  const fill = (page) => {
    const files = page.files ?? [];
    if (files.length === 0 && !page.text) return;
    node.hidden = false;
    put(
      node,
      el("h3", null, "The change"),
      el("ul", null, files.map((file) => el("li", null, el("code", null, file.path), el("span", { class: "good" }, ` +${file.added}`), el("span", { class: "bad" }, ` −${file.removed}`)))),
      el("details", { class: "more" }, el("summary", null, "diff"), renderDiff(page)),
    );
  };
  ctx.api.get(`task/${task}/diff`).then((page) => fill(/** @type {DiffPage} */ (page)), () => {});
  return node;
}
