// What a person can do with a task, each behind a dialog that says what will happen. Whether it
// is allowed is the coordinator's to say; here only what can never work is left out.

/** @import { Card, Ctx, TaskPage } from "./types.d.ts" */

import { button, el } from "./dom.js";
import { output } from "./taskparts.js";
import { confirm, entries, form, reasonField, reasonOf, show } from "./dialog.js";
import { USUAL_PRIORITY, nameOf } from "./words.js";

/**
 * @typedef {{ key: string, label: string, kind?: "plain" | "main" | "danger", run: () => Promise<unknown> }} Deed
 */

/**
 * What can be done with this task as it is.
 * @param {Ctx} ctx
 * @param {Card} card
 * @returns {Deed[]}
 */
export function deeds(ctx, card) {
  const { status, id } = card;
  /** @type {Deed[]} */
  const all = [];
  if (ctx.readonly) return all;
  const open = status === "pending" || status === "in_progress" || status === "failed";
  if (open) all.push({ key: "e", label: "Edit", run: () => edit(ctx, id) });
  if (open)
    all.push({
      key: "a",
      label: card.owner && status === "in_progress" ? "Reassign" : "Assign",
      run: () => assign(ctx, id),
    });
  if (status === "in_progress")
    all.push({ key: "x", label: "Release", run: () => release(ctx, id) });
  if (status === "failed")
    all.push({ key: "r", label: "Retry", kind: "main", run: () => retry(ctx, id) });
  if (status === "pending" || status === "failed") {
    all.push({ key: "Delete", label: "Delete", kind: "danger", run: () => remove(ctx, id) });
  }
  return all;
}

/**
 * A deed by its key; says so where it cannot be done now.
 * @param {Ctx} ctx
 * @param {Card | undefined} card
 * @param {string} key
 */
export function perform(ctx, card, key) {
  if (!card) {
    ctx.say("No task is chosen: choose one with j and k first.");
    return;
  }
  const deed = deeds(ctx, card).find((one) => one.key === key);
  if (deed) void deed.run();
  else if (!ctx.readonly) ctx.say(cannot(card, key), "bad");
}

/** @param {Card} card @param {string} key */
function cannot(card, key) {
  const is = `Task ${card.id} is ${card.status.replace("_", " ")}.`;
  switch (key) {
    case "x":
      return `${is} Only a task in progress can be released.`;
    case "r":
      return `${is} Only a failed task can be retried.`;
    case "Delete":
      return `${is} Only a pending or failed task can be deleted.`;
    default:
      return `${is} It can no longer be changed.`;
  }
}

/** All of them in a list, for pointers and thumbs. @param {Ctx} ctx @param {Card} card */
export function menu(ctx, card) {
  return show(
    `Task ${card.id}`,
    (close) => {
      const does = deeds(ctx, card);
      return [
        el(
          "div",
          { class: "menu" },
          el("p", { class: "soft wrap" }, card.subject),
          button(
            "Open",
            () => {
              close();
              ctx.go(`task/${card.id}`);
            },
            { key: "Enter" },
          ),
          does.map((deed) =>
            button(
              deed.label,
              () => {
                close();
                void deed.run();
              },
              { kind: deed.kind ?? "plain", key: deed.key },
            ),
          ),
        ),
      ];
    },
    "narrow",
  );
}

/** @param {Ctx} ctx */
function teamsOf(ctx) {
  return [...ctx.store.teams.values()].filter((team) => team.phase === "active");
}

/** @param {Ctx} ctx @param {string} team */
function namesIn(ctx, team) {
  return [...ctx.store.teammates.values()]
    .filter((mate) => mate.team === team)
    .map((mate) => mate.name);
}

/** @param {Ctx} ctx */
function rolesIn(ctx) {
  return [
    ...new Set([...ctx.store.teammates.values()].map((mate) => mate.role ?? "").filter(Boolean)),
  ];
}

/** @param {string | undefined} text */
export function whole(text) {
  const trimmed = (text ?? "").trim();
  return trimmed === "" || !/^-?\d+$/.test(trimmed) ? undefined : Number(trimmed);
}

/**
 * Resolves to the new task's id, or to 0.
 * @param {Ctx} ctx @param {{ blocked_by?: string, team?: string }} [start]
 */
export async function create(ctx, start = {}) {
  const teams = teamsOf(ctx);
  const team = start.team ?? ctx.root;
  let id = 0;
  await form({
    title: "New task",
    yes: "Create",
    draft: `task.${ctx.root}.${start.blocked_by ?? ""}`,
    fields: [
      {
        name: "subject",
        label: "Subject",
        required: true,
        max: 500,
        hint: "What is to be done, in one line.",
      },
      {
        name: "description",
        label: "Description",
        kind: "long",
        hint: "What whoever takes it must know, and how to tell that it is done.",
      },
      ...(teams.length > 1
        ? [
            {
              name: "team",
              label: "Team",
              kind: /** @type {const} */ ("select"),
              value: team,
              options: teams.map((one) => ({ value: one.name, label: one.name })),
            },
          ]
        : []),
      {
        name: "files",
        label: "Files",
        kind: "list",
        hint: "What it may write; one per line, globs allowed. Two tasks never share a file at the same time.",
      },
      {
        name: "blocked_by",
        label: "Waits for",
        half: true,
        value: start.blocked_by ?? "",
        hint: "Ids, aliases or group:NAME, with commas.",
      },
      {
        name: "assignee",
        label: "For",
        half: true,
        suggest: namesIn(ctx, team),
        hint: "A teammate; empty: whoever is free.",
      },
      {
        name: "role",
        label: "Role",
        half: true,
        suggest: rolesIn(ctx),
        hint: "Only teammates of this role may take it.",
      },
      {
        name: "priority",
        label: "Priority",
        half: true,
        kind: "number",
        value: String(USUAL_PRIORITY),
        hint: "Lower is taken sooner.",
      },
    ],
    send: async (values) => {
      const task = {
        subject: (values.subject ?? "").trim(),
        description: values.description?.trim() ?? "",
        files: entries(values.files),
        blocked_by: entries(values.blocked_by),
        ...(values.assignee?.trim() ? { assignee: values.assignee.trim() } : {}),
        ...(values.role?.trim() ? { role: values.role.trim() } : {}),
        ...(whole(values.priority) === undefined ? {} : { priority: whole(values.priority) }),
      };
      /** @type {{ created?: { tasks?: number[] } }} */
      const answer = await ctx.api.ask({ task_create: { tasks: [task] } }, values.team ?? team);
      id = answer.created?.tasks?.[0] ?? 0;
      ctx.say(id ? `Task ${id} created` : "Task created", "good");
    },
  });
  return id;
}

/** @param {Ctx} ctx @param {number} id */
export async function edit(ctx, id) {
  /** @type {TaskPage} */
  let page;
  try {
    page = await ctx.api.get(`task/${id}`);
  } catch (error) {
    ctx.complain(error);
    return false;
  }
  const { task } = page;
  const waits = (task.blocked_by ?? []).join(", ");
  return form({
    title: `Edit task ${id}`,
    yes: "Save",
    fields: [
      { name: "subject", label: "Subject", required: true, max: 500, value: task.subject },
      { name: "description", label: "Description", kind: "long", value: task.description ?? "" },
      {
        name: "files",
        label: "Files",
        kind: "list",
        value: (task.files ?? []).join("\n"),
        hint: "One per line, globs allowed.",
      },
      {
        name: "blocked_by",
        label: "Waits for",
        value: waits,
        hint: "Ids, aliases or group:NAME, with commas.",
      },
      {
        name: "role",
        label: "Role",
        half: true,
        value: task.role ?? "",
        suggest: rolesIn(ctx),
        hint: "Empty: any role.",
      },
      {
        name: "priority",
        label: "Priority",
        half: true,
        kind: "number",
        value: String(task.priority),
      },
    ],
    send: async (values) => {
      const changes = changesOf(task, values);
      if (Object.keys(changes).length === 0) return;
      await ctx.api.ask({ task_update: { task: String(id), changes } }, task.team);
      ctx.say(`Task ${id} changed`, "good");
    },
  });
}

/**
 * Only what differs: somebody else may have changed the rest meanwhile.
 * @param {TaskPage["task"]} task @param {Record<string, string>} values
 */
export function changesOf(task, values) {
  /** @type {Record<string, unknown>} */
  const changes = {};
  const subject = (values.subject ?? "").trim();
  if (subject !== task.subject) changes.subject = subject;
  if ((values.description ?? "") !== (task.description ?? ""))
    changes.description = values.description;
  if ((values.role ?? "").trim() !== (task.role ?? "")) changes.role = (values.role ?? "").trim();
  const priority = whole(values.priority);
  if (priority !== undefined && priority !== task.priority) changes.priority = priority;
  const files = entries(values.files);
  if (files.join("\n") !== (task.files ?? []).join("\n")) changes.files = files;
  const before = task.blocked_by ?? [];
  const after = entries(values.blocked_by);
  const add = after.filter((one) => !before.includes(one));
  const gone = before.filter((one) => !after.includes(one));
  if (add.length > 0) changes.add_blocked_by = add;
  if (gone.length > 0) changes.remove_blocked_by = gone;
  return changes;
}

/** @param {Ctx} ctx @param {number} id */
export function assign(ctx, id) {
  const card = ctx.store.tasks.get(id);
  if (!card) return Promise.resolve(false);
  const held = card.status === "in_progress" ? nameOf(card.owner) : "";
  return form({
    title: `${held ? "Reassign" : "Assign"} task ${id}`,
    text: held
      ? `${held} works on it. It is told, its work is set aside, and the task begins again with whom you choose.`
      : card.subject,
    yes: held ? "Reassign" : "Assign",
    danger: held !== "",
    fields: [
      {
        name: "to",
        label: "To",
        kind: "select",
        value: card.assignee ?? "",
        options: [
          { value: "", label: "Whoever is free" },
          ...namesIn(ctx, card.team).map((name) => ({ value: name, label: name })),
        ],
      },
    ],
    send: async ({ to }) => {
      await ctx.api.ask({ task_assign: { task: String(id), to: to || null } }, card.team);
      ctx.say(to ? `Task ${id} is for ${to}` : `Task ${id} is for whoever is free`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {number} id */
export function release(ctx, id) {
  const card = ctx.store.tasks.get(id);
  return form({
    title: `Release task ${id}`,
    text: `It is taken from ${nameOf(card?.owner) || "its teammate"} and goes back to the board. Work that is not merged is set aside, not lost.`,
    yes: "Release",
    danger: true,
    fields: [reasonField("The teammate is told it.")],
    send: async (values) => {
      await ctx.api.ask(
        { task_release: { task: String(id), token: null, reason: reasonOf(values) } },
        card?.team,
      );
      ctx.say(`Task ${id} released`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {number} id */
export function retry(ctx, id) {
  const card = ctx.store.tasks.get(id);
  return confirm({
    title: `Retry task ${id}`,
    text: el(
      "div",
      null,
      el("p", null, "It goes back to the board with its attempts renewed."),
      card?.last_failure
        ? el("div", null, "It failed with:", output(card.last_failure))
        : null,
    ),
    yes: "Retry",
    send: async () => {
      await ctx.api.ask({ task_retry: { task: String(id) } }, card?.team);
      ctx.say(`Task ${id} is on the board again`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {number} id */
export function remove(ctx, id) {
  const card = ctx.store.tasks.get(id);
  return confirm({
    title: `Delete task ${id}`,
    text: `“${card?.subject ?? ""}” leaves the board. Tasks that wait for it stay blocked until that dependency is removed.`,
    yes: "Delete",
    danger: true,
    send: async () => {
      await ctx.api.ask({ task_delete: { task: String(id) } }, card?.team);
      ctx.say(`Task ${id} deleted`, "good");
    },
  });
}
