// The team: what each team is at, and every teammate with its state and the reason for it. Only
// the rows of teammates that changed are written anew; ages tick by themselves.

/** @import { Ctx, Key, Part, Screen, TeamView, TeammateView } from "../types.d.ts" */

import { badge, button, el, empty, keep, put, refill } from "../dom.js";
import { show } from "../dialog.js";
import {
  add,
  continueTeam,
  deeds,
  pause,
  pauseTeam,
  resume,
  resumeAccount,
  runs,
  skipPhase,
  write,
} from "../mateacts.js";
import { accountsBox } from "../accountcells.js";
import { hostOf, hostsBox } from "../hostcells.js";
import { contextBar, handSign, inHand, program, signOfLife } from "../matecells.js";
import { budgetWords, cost, count, mateState, number, pauseWords, percent, phaseState, tokens } from "../words.js";

/** @param {Ctx} ctx @returns {Screen} */
export function open(ctx) {
  const screen = new TeamScreen(ctx);
  return {
    node: screen.node,
    title: "Team",
    update: (changed) => screen.update(changed),
    keys: screen.keys(),
  };
}

class TeamScreen {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.hosts = hostsBox(ctx);
    this.accounts = accountsBox(ctx, (account) => void resumeAccount(ctx, account));
    this.teams = el("div", { class: "team-boxes" });
    /** @type {Map<string, { fill: () => void, tick: () => void, link: HTMLElement }>} */
    this.rows = new Map();
    /** @type {Map<string, HTMLElement>} */
    this.lists = new Map();
    this.node = el(
      "section",
      { class: "screen scroll", "aria-label": "Team" },
      el(
        "div",
        { class: "page wide-page" },
        el(
          "div",
          { class: "page-head" },
          el("h1", null, "Team"),
          el(
            "span",
            { class: "end" },
            button("Add a teammate", () => void add(ctx), { key: "+" }),
          ),
        ),
        this.hosts.node,
        this.accounts.node,
        this.teams,
      ),
    );
    ctx.tick(() => {
      this.hosts.tick();
      for (const row of this.rows.values()) row.tick();
    });
    this.drawTeams();
    this.drawMates();
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const { touched } = this.ctx.store;
    if (changed.has("teams") || changed.has("queue")) this.drawTeams();
    if (changed.has("accounts")) this.accounts.draw();
    if (changed.has("hosts")) {
      this.hosts.draw();
      for (const row of this.rows.values()) row.fill();
    }
    if (!changed.has("teammates") && !changed.has("tasks")) return;
    if (
      touched.whole ||
      [...touched.teammates].some((key) => this.ctx.store.teammates.has(key) !== this.rows.has(key))
    )
      this.drawMates();
    const about = new Set(touched.teammates);
    // The state of a task that somebody has in hand is shown beside them.
    for (const [key, mate] of this.ctx.store.teammates) {
      if ([...(mate.holds ?? []), ...(mate.returned ?? []), ...(mate.submitted ?? [])].some((id) =>
          touched.tasks.has(id),
        ))
        about.add(key);
    }
    for (const key of about) this.rows.get(key)?.fill();
  }

  /** The root first, then its departments by name. */
  sorted() {
    return [...this.ctx.store.teams.values()]
      .filter((team) => team.phase !== "deleted")
      .sort(
        (a, b) =>
          Number(a.name !== this.ctx.root) - Number(b.name !== this.ctx.root) ||
          a.name.localeCompare(b.name),
      );
  }

  drawTeams() {
    keep(
      this.teams,
      this.sorted(),
      (team) => team.name,
      (team) => {
        const list = el("ul", { class: "mates", "aria-label": `Teammates of ${team.name}` });
        this.lists.set(team.name, list);
        // For eyes only: each row says for itself what its parts are.
        const heads = el(
          "div",
          { class: "mate mate-heads", "aria-hidden": "true" },
          ["Teammate", "State, and why", "Task", "Last words", "Context", "Cost", "Sign", ""].map(
            (head) => el("span", null, head),
          ),
        );
        const box = el(
          "section",
          { class: "box team-box", "aria-label": team.name },
          el(
            "div",
            { class: "team-top" },
            el("div", { class: "team-head" }),
            el("div", { class: "team-words" }),
            el("div", { class: "team-sums" }),
            el("div", { class: "phases-box" }),
          ),
          heads,
          list,
        );
        this.drawTeam(box, team);
        return box;
      },
      (box, team) => this.drawTeam(box, team),
    );
  }

  /** @param {HTMLElement} box @param {TeamView} team */
  drawTeam(box, team) {
    const { ctx } = this;
    const { pending, in_progress, completed, failed } = team.tasks;
    const all = pending + in_progress + completed + failed;
    const done = el("span", { class: "meter-fill", data: { level: "done" } });
    done.style.width = percent(completed, all || 1);
    const [head, words, sums, phases] = box.firstElementChild?.children ?? [];
    if (!head || !words || !sums || !phases) return;
    const pause = pauseWords(team);
    const asks = team.pause?.kind === "approval";
    refill(head, [team.parent, team.paused, team.pause, team.phase, team.breaker], () => [
      el("h2", null, team.name),
      team.parent ? el("span", { class: "chip" }, `department of ${team.parent}`) : null,
      team.paused !== undefined ? badge({ key: "returned", sign: "‖", word: pause.word }) : null,
      team.phase === "ending" ? badge({ key: "submitted", sign: "◑", word: "ending" }) : null,
      team.breaker !== "closed"
        ? badge({
            key: "failed",
            sign: "✕",
            word:
              team.breaker === "open"
                ? "breaker open: too many disappeared"
                : "breaker: one is tried",
          })
        : null,
      el(
        "span",
        { class: "end" },
        asks
          ? el("a", { class: "button main", href: ctx.href("decisions") }, "Decide")
          : team.paused !== undefined
          ? button("Continue the team", () => void continueTeam(ctx, team.name), { kind: "main" })
          : team.phase === "active"
            ? button("Pause the team", () => void pauseTeam(ctx, team))
            : null,
      ),
    ]);
    const queue = team.name === ctx.root ? ctx.store.queue : "";
    refill(words, [team.description, team.paused, team.pause, queue], () => [
      team.description ? el("p", { class: "soft wrap" }, team.description) : null,
      pause.text ? el("p", { class: "warn small wrap" }, pause.text) : null,
      queue ? el("p", { class: "small soft" }, `◑ Gate: ${queue}`) : null,
    ]);
    put(
      sums,
      el(
        "span",
        { class: "meter-box" },
        el(
          "span",
          {
            class: "meter long",
            role: "img",
            "aria-label": `${completed} of ${all} tasks completed`,
          },
          done,
        ),
        el("span", null, `${number(completed)} of ${count(all, "task")}`),
      ),
      el("span", null, `${in_progress} in progress`),
      failed ? el("span", { class: "bad" }, `✕ ${failed} failed`) : null,
      el("span", null, `${team.running} of ${count(team.teammates, "teammate")} running`),
      budgetWords(team).map(({ text, over }) => el("span", { class: over ? "bad" : "" }, over ? `✕ ${text}` : text)),
      team.branch
        ? el(
            "span",
            { class: "mono dim cut", title: team.base ? `since ${team.base}` : undefined },
            team.branch,
          )
        : null,
    );
    refill(phases, [team.playbook, team.phases], () => this.phases(team));
  }

  /** @param {TeamView} team */
  phases(team) {
    if (!team.phases?.length) return [];
    return [
      el("span", { class: "dim small" }, team.playbook ? `Playbook ${team.playbook}` : "Phases"),
      el(
        "ol",
        { class: "phases" },
        team.phases.map((phase) => {
          const state = phaseState(phase);
          const title = phase.title || phase.name;
          return el(
            "li",
            {
              class: "phase",
              data: { state: state.key },
              "aria-current": phase.state === "runs" ? "step" : null,
            },
            el(
              "span",
              { class: "phase-name" },
              el(
                "span",
                { class: "sign", data: { state: state.key }, "aria-hidden": "true" },
                state.sign,
              ),
              title,
              phase.round > 1 ? el("span", { class: "dim" }, ` round ${phase.round}`) : null,
            ),
            el(
              "span",
              { class: "small dim cut", title: phase.why },
              phase.why ? `${state.word}: ${phase.why}` : state.word,
            ),
            phase.optional && (phase.state === "waits" || phase.state === "ahead")
              ? el(
                  "button",
                  {
                    type: "button",
                    class: "link-button small",
                    on: { click: () => void skipPhase(this.ctx, team, phase.name) },
                  },
                  `Leave out ${title}`,
                )
              : null,
          );
        }),
      ),
    ];
  }

  drawMates() {
    const { teammates } = this.ctx.store;
    for (const key of this.rows.keys()) if (!teammates.has(key)) this.rows.delete(key);
    for (const team of this.sorted()) {
      const list = this.lists.get(team.name);
      if (!list) continue;
      const mates = [...teammates.values()]
        .filter((mate) => mate.team === team.name)
        .sort(
          (a, b) =>
            Number(b.lead) - Number(a.lead) ||
            a.name.localeCompare(b.name, undefined, { numeric: true }),
        );
      list.hidden = mates.length === 0;
      if (list.previousElementSibling instanceof HTMLElement)
        list.previousElementSibling.hidden = list.hidden;
      keep(
        list,
        mates,
        (mate) => mate.name,
        (mate) => this.mateRow(`${mate.team}/${mate.name}`),
      );
      const none = list.nextElementSibling;
      if (mates.length > 0) none?.remove();
      else if (!none) {
        list.after(
          empty(
            "Nobody is in this team yet.",
            el(
              "p",
              null,
              "Add one here with ",
              el("kbd", null, "+"),
              ", or in the terminal: ",
              el("code", null, "shipmate teammate add NAME --agent claude"),
            ),
          ),
        );
      }
    }
  }

  /** @param {string} key */
  mateRow(key) {
    const { ctx } = this;
    const mate = () => ctx.store.teammates.get(key);
    const link = el(
      "a",
      { class: "mate-name", href: ctx.href(`team/${key}`) },
      key.split("/")[1] ?? key,
    );
    const about = el("div", { class: "mate-about small dim cut" });
    const marks = el("span", { class: "mate-marks" });
    const state = el("div", { class: "mate-state" });
    const tasks = el("div", { class: "mate-tasks" });
    const words = el("div", { class: "mate-words mono small" });
    const context = el("div", { class: "mate-context" });
    const spent = el("div", { class: "mate-spent small" });
    const does = el("div", { class: "mate-does" });
    const life = signOfLife(ctx, mate);
    const node = el(
      "li",
      { class: "mate", data: { mate: key } },
      el("div", { class: "mate-who" }, el("div", { class: "mate-top" }, link, marks), about),
      state,
      tasks,
      words,
      context,
      spent,
      el("div", { class: "mate-life small" }, life.node),
      does,
    );
    const fill = () => {
      const now = mate();
      if (!now) return;
      put(
        marks,
        now.lead ? el("span", { class: "chip" }, "lead") : null,
        now.other_model
          ? el("span", { class: "chip warn", title: `It asks ${now.model_used}, not ${now.model} as asked` }, "⚠ other model")
          : null,
        now.unread > 0
          ? el(
              "span",
              { class: "chip", title: `${count(now.unread, "unread message")}` },
              `✉ ${now.unread}`,
            )
          : null,
      );
      const host = hostOf(ctx.store.hosts, now);
      put(about, [now.role, program(now), host && `on ${host}`].filter(Boolean).join(" · "));
      about.title = about.textContent ?? "";
      put(
        state,
        badge(mateState(now)),
        el("div", { class: "small soft mate-why", title: now.why ?? "" }, now.why ?? ""),
      );
      refill(tasks, handSign(ctx, now), () => inHand(ctx, now));
      put(words, now.last_words || el("span", { class: "dim" }, "–"));
      words.title = now.last_words ?? "";
      put(context, contextBar(now));
      put(
        spent,
        el("div", { title: cost(now) }, cost(now).startsWith("subscription") ? "subscription" : cost(now)),
        el(
          "div",
          { class: "dim", title: now.tokens_estimated ? `${tokens(now.tokens_estimated)} of them estimated` : undefined },
          `${now.tokens_estimated ? "about " : ""}${tokens(now.tokens_used)}`,
        ),
      );
      refill(does, [now.state, now.epoch > 0], () => [
        deeds(ctx, now)
          .filter((deed) => deed.kind !== "danger" && deed.label !== "Replace")
          .map((deed) =>
            button(deed.label, () => this.again(key, deed.label), { title: deed.title }),
          ),
        el(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": `More for ${now.name}`,
            on: { click: () => this.more(key) },
          },
          "⋯",
        ),
      ]);
      life.tick();
    };
    fill();
    this.rows.set(key, { fill, tick: life.tick, link });
    return node;
  }

  /**
   * A deed on the teammate as it is now, not as it was when its button was made.
   * @param {string} key
   * @param {string} label
   */
  again(key, label) {
    const mate = this.ctx.store.teammates.get(key);
    if (mate)
      void deeds(this.ctx, mate)
        .find((deed) => deed.label === label)
        ?.run();
  }

  /** @param {string} key */
  more(key) {
    const mate = this.ctx.store.teammates.get(key);
    if (!mate) return;
    void show(
      mate.name,
      (close) => [
        el(
          "div",
          { class: "menu" },
          button(
            "Open",
            () => {
              close();
              this.ctx.go(`team/${key}`);
            },
            { key: "Enter" },
          ),
          deeds(this.ctx, mate).map((deed) =>
            button(
              deed.label,
              () => {
                close();
                this.again(key, deed.label);
              },
              {
                kind: deed.kind ?? "plain",
                title: deed.title,
                ...(deed.key ? { key: deed.key } : {}),
              },
            ),
          ),
        ),
      ],
      "narrow",
    );
  }

  /** Keys of teammates in the order they are shown in. */
  order() {
    return [...this.node.querySelectorAll("[data-mate]")].map((one) =>
      one instanceof HTMLElement ? (one.dataset.mate ?? "") : "",
    );
  }

  current() {
    const at = document.activeElement?.closest("[data-mate]");
    return at instanceof HTMLElement
      ? this.ctx.store.teammates.get(at.dataset.mate ?? "")
      : undefined;
  }

  /** @param {number} by */
  step(by) {
    const order = this.order();
    const now = this.current();
    const at = now ? order.indexOf(`${now.team}/${now.name}`) + by : 0;
    const next = order[Math.min(order.length - 1, Math.max(0, at))];
    if (next) this.rows.get(next)?.link.focus();
  }

  /** @param {(mate: TeammateView) => void} run */
  with(run) {
    const mate = this.current();
    if (mate) run(mate);
    else this.ctx.say("No teammate is chosen: choose one with j and k first.");
  }

  /** @returns {Record<string, Key>} */
  keys() {
    const { ctx } = this;
    return {
      j: { does: "next teammate", run: () => this.step(1) },
      k: { does: "teammate before", run: () => this.step(-1) },
      ArrowDown: { does: "next teammate", run: () => this.step(1) },
      ArrowUp: { does: "teammate before", run: () => this.step(-1) },
      Enter: {
        does: "open",
        run: () => this.with((mate) => ctx.go(`team/${mate.team}/${mate.name}`)),
      },
      m: { does: "message", run: () => this.with((mate) => void write(ctx, mate.name, mate.team)) },
      p: {
        does: "pause or continue",
        run: () =>
          this.with((mate) => {
            if (mate.state === "paused") void resume(ctx, mate);
            else if (runs(mate)) void pause(ctx, mate);
            else ctx.say(`${mate.name} does not run.`);
          }),
      },
      "+": { does: "add a teammate", run: () => void add(ctx) },
    };
  }
}
