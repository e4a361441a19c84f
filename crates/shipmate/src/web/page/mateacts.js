// What a person can do with a teammate or a team. Each dialog says what will happen to the
// process and to its work; none of it passes through a model.

/** @import { Ctx, TeamView, TeammateView } from "./types.d.ts" */

import { Refused } from "./api.js";
import { confirm, entries, form, reasonField, reasonOf } from "./dialog.js";
import { count } from "./words.js";

const DEADLINE_MS = 60_000;
/** The agent programs that every installation knows by name. */
const AGENTS = [
  "native",
  "claude",
  "codex",
  "gemini",
  "opencode",
  "goose",
  "claude-agent-acp",
  "codex-acp",
];

/**
 * @typedef {{ key?: string, label: string, title: string, kind?: "plain" | "main" | "danger", run: () => Promise<unknown> }} Deed
 */

/** It has a process, or is about to lose it. @param {TeammateView} mate */
export function runs(mate) {
  return mate.state === "active" || mate.state === "idle" || mate.state === "paused" || mate.state === "parked";
}

/**
 * A session that came by itself has a process that only its own program can start.
 * @param {TeammateView} mate
 */
function startable(mate) {
  return (
    mate.supervision !== "none" ||
    Boolean(mate.command) ||
    (mate.epoch === 0 && Boolean(mate.agent))
  );
}

/**
 * What can be done with it as it is.
 * @param {Ctx} ctx
 * @param {TeammateView} mate
 * @returns {Deed[]}
 */
export function deeds(ctx, mate) {
  /** @type {Deed[]} */
  const all = [
    {
      key: "m",
      label: "Message",
      title: "Write to it",
      run: () => write(ctx, mate.name, mate.team),
    },
  ];
  if (mate.state === "paused") {
    all.push({
      key: "p",
      label: "Continue",
      title: "It takes tasks again",
      kind: "main",
      run: () => resume(ctx, mate),
    });
  } else if (runs(mate)) {
    all.push({
      key: "p",
      label: "Pause",
      title: "It takes no new task until it is continued",
      run: () => pause(ctx, mate),
    });
  }
  if (runs(mate)) {
    if (startable(mate))
      all.push({
        label: "Replace",
        title: "Stop this process, then start a fresh one under the same name",
        run: () => replace(ctx, mate),
      });
    all.push({
      label: "Shut down",
      title: "Ask it to end, then end its process",
      kind: "danger",
      run: () => shutdown(ctx, mate),
    });
  } else if (mate.state !== "stopping") {
    if (startable(mate))
      all.push({
        label: mate.epoch > 0 ? "Start again" : "Start",
        title: "A fresh process under this name",
        kind: "main",
        run: () => start(ctx, mate),
      });
    all.push({
      label: "Remove",
      title: "It leaves the team",
      kind: "danger",
      run: () => remove(ctx, mate),
    });
  }
  return all;
}

/** The name of what is half-written to somebody. @param {Ctx} ctx @param {string} name @param {string} team */
export function messageDraft(ctx, name, team) {
  return `message.${team || ctx.root}/${name}`;
}

/** @param {Ctx} ctx @param {string} name @param {string} team @param {string} [begin] */
export function write(ctx, name, team, begin = "") {
  return form({
    title: `Message to ${name}`,
    yes: "Send",
    draft: messageDraft(ctx, name, team),
    text: "It arrives in its inbox at once, and in its conversation at the next pause between two steps.",
    fields: [{ name: "body", label: "Message", kind: "long", required: true, value: begin }],
    send: async ({ body }) => {
      await ctx.api.ask({
        send: {
          to: team && team !== ctx.root ? `${team}/${name}` : name,
          body: body ?? "",
          kind: null,
          reply_to: null,
        },
      });
      ctx.say(`Sent to ${name}`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {TeammateView} mate */
export function pause(ctx, mate) {
  const holds = mate.holds?.length ?? 0;
  return form({
    title: `Pause ${mate.name}`,
    text:
      holds > 0
        ? `It keeps ${count(holds, "task")} and takes no new one until it is continued.`
        : "It takes no task until it is continued.",
    yes: "Pause",
    fields: [reasonField("Shown beside its state.")],
    send: async (values) => {
      const reason = reasonOf(values);
      await ctx.api.ask({ teammate_pause: { name: mate.name, reason } }, mate.team);
      ctx.say(`${mate.name} is paused`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {TeammateView} mate */
export function resume(ctx, mate) {
  return ctx.attempt({ teammate_continue: { name: mate.name } }, `${mate.name} goes on`, mate.team);
}

/** @param {Ctx} ctx @param {string} account */
export function resumeAccount(ctx, account) {
  return ctx.attempt({ account_resume: { account } }, `${account} goes on`);
}

/** @param {TeammateView} mate */
function losing(mate) {
  const held = (mate.holds ?? []).map((id) => `#${id}`).join(", ");
  return held
    ? ` It works on ${held}: what is not merged is kept, and the task goes back to the board.`
    : "";
}

/** @param {Ctx} ctx @param {TeammateView} mate */
export function shutdown(ctx, mate) {
  return form({
    title: `Shut down ${mate.name}`,
    text: `It is asked to finish and has ${count(DEADLINE_MS / 1000, "second")} for it; then its process is ended.${losing(mate)}`,
    yes: "Shut down",
    danger: true,
    fields: [reasonField("It is told this.")],
    send: async (values) => {
      await ctx.api.ask(
        { shutdown: { name: mate.name, reason: reasonOf(values), deadline_ms: DEADLINE_MS } },
        mate.team,
      );
      ctx.say(`${mate.name} was asked to stop`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {TeammateView} mate */
export function start(ctx, mate) {
  return ctx.attempt(
    { teammate_start: { name: mate.name, supervision: "supervised" } },
    `${mate.name} starts`,
    mate.team,
  );
}

/**
 * Shutdown, and a start once it has stopped. The second half is this page's: it must stay open.
 * @param {Ctx} ctx @param {TeammateView} mate
 */
export function replace(ctx, mate) {
  const key = `${mate.team}/${mate.name}`;
  return form({
    title: `Replace ${mate.name}`,
    text: `Its process is stopped, which may take up to ${count(DEADLINE_MS / 1000, "second")}; then a fresh one starts under the same name, with the same role, agent and inbox but an empty conversation.${losing(mate)} Keep this page open until it has started.`,
    yes: "Replace",
    danger: true,
    fields: [
      {
        name: "reason",
        label: "Reason",
        required: true,
        max: 2000,
        value: "replaced by a fresh process",
      },
    ],
    send: async ({ reason }) => {
      await ctx.api.ask(
        { shutdown: { name: mate.name, reason: reason ?? "", deadline_ms: DEADLINE_MS } },
        mate.team,
      );
      ctx.say(`${mate.name} is stopping; a fresh one follows`, "good");
      const { store } = ctx;
      const watch = store.subscribe(() => {
        const now = store.teammates.get(key);
        if (now && !["stopped", "disappeared", "failed"].includes(now.state)) return;
        watch();
        if (now) void start(ctx, now);
      });
    },
  });
}

/** @param {Ctx} ctx @param {TeammateView} mate */
export function remove(ctx, mate) {
  return confirm({
    title: `Remove ${mate.name}`,
    text: "It leaves the team for good. What it did stays in the log.",
    yes: "Remove",
    danger: true,
    send: async () => {
      await ctx.api.ask({ teammate_remove: { name: mate.name } }, mate.team);
      ctx.say(`${mate.name} left the team`, "good");
    },
  });
}

/** @param {Ctx} ctx */
export function add(ctx) {
  const teams = [...ctx.store.teams.values()].filter((team) => team.phase === "active");
  const roles = [
    ...new Set([...ctx.store.teammates.values()].map((mate) => mate.role ?? "").filter(Boolean)),
  ];
  return form({
    title: "Add a teammate",
    text: "It starts by itself when there is a task or a message for it.",
    yes: "Add",
    fields: [
      { name: "name", label: "Name", required: true, max: 64, hint: "Letters, digits, - and _." },
      ...(teams.length > 1
        ? [
            {
              name: "team",
              label: "Team",
              kind: /** @type {const} */ ("select"),
              value: ctx.root,
              options: teams.map((one) => ({ value: one.name, label: one.name })),
            },
          ]
        : []),
      {
        name: "agent",
        label: "Agent",
        half: true,
        suggest: AGENTS,
        hint: "The program behind it, such as claude or codex.",
      },
      { name: "model", label: "Model", half: true, hint: "Empty: the agent's own choice." },
      {
        name: "command",
        label: "Command",
        hint: "Instead of an agent: a command line that is run once for each task.",
      },
      {
        name: "role",
        label: "Role",
        half: true,
        suggest: roles,
        hint: "Tasks of this role are for it.",
      },
      {
        name: "mode",
        label: "Mode",
        half: true,
        kind: "select",
        value: "",
        options: [
          { value: "", label: "normal" },
          { value: "plan", label: "plan: writes once its plan is approved" },
          { value: "delegate", label: "delegate: hands out, never writes" },
          { value: "read_only", label: "read only" },
        ],
      },
      {
        name: "scope",
        label: "May write",
        kind: "list",
        hint: "Files, one per line, globs allowed. Empty: anywhere.",
      },
    ],
    send: async (values) => {
      const agent = (values.agent ?? "").trim();
      const command = (values.command ?? "").trim();
      if (!agent && !command) {
        throw new Refused(
          "There is nothing to start: it has neither an agent nor a command.",
          "Name one of them.",
          0,
          "",
        );
      }
      const name = (values.name ?? "").trim();
      await ctx.api.ask(
        {
          teammate_add: {
            name,
            agent,
            command,
            model: (values.model ?? "").trim(),
            role: (values.role ?? "").trim() || null,
            scope: entries(values.scope),
            mode: values.mode || null,
            when_needed: true,
          },
        },
        values.team ?? ctx.root,
      );
      ctx.say(`${name} joins; it starts when there is a task or a message for it`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {TeamView} team */
export function pauseTeam(ctx, team) {
  return form({
    title: `Pause ${team.name}`,
    text: "Nobody starts and nobody takes a task until it is continued. Whoever works goes on with the task in hand.",
    yes: "Pause",
    fields: [reasonField()],
    send: async (values) => {
      await ctx.api.ask({ team_pause: { reason: reasonOf(values) } }, team.name);
      ctx.say(`${team.name} is paused`, "good");
    },
  });
}

/** @param {Ctx} ctx @param {string} name */
export function continueTeam(ctx, name) {
  const running = ctx.store.teams.get(name)?.running ?? 0;
  const done =
    running > 0
      ? `${name} goes on`
      : `${name} may go on; nobody is running: \`shipmate resume\` or a new task starts somebody`;
  return ctx.attempt("team_continue", done, name);
}

/** @param {Ctx} ctx @param {TeamView} team @param {string} phase */
export function skipPhase(ctx, team, phase) {
  return form({
    title: `Leave out ${phase}`,
    text: "The team goes on with the next phase as if this one were done.",
    yes: "Leave it out",
    danger: true,
    fields: [{ name: "reason", label: "Reason", required: true, max: 2000 }],
    send: async ({ reason }) => {
      await ctx.api.ask({ phase_skip: { phase, reason: reason ?? "" } }, team.name);
      ctx.say(`${phase} is left out`, "good");
    },
  });
}
