// One task: what it is, why it stands where it stands, how it got there, what it changed. The
// card of the store is there at once; the rest is fetched, and again when the task changes.

/** @import { Card, Ctx, DiffPage, Screen, Span, TaskPage } from "../types.d.ts" */

import { Refused } from "../api.js";
import { renderDiff } from "../diff.js";
import { badge, button, el, empty, keep, prose, put, refill, setText } from "../dom.js";
import { write } from "../mateacts.js";
import { deeds, perform } from "../taskacts.js";
import { decideLink, decisionOn, reasons } from "../taskcard.js";
import { costs, gateRun, handoffPart, messageRow, output, priorParts, section, story } from "../taskparts.js";
import { noteRow } from "./notes.js";
import {
  USUAL_PRIORITY,
  ago,
  attempts,
  clock,
  failure,
  lasted,
  moment,
  nameOf,
  parts,
  shortCommit,
  spanEnd,
  taskState,
  waitsFor,
} from "../words.js";

/** Changes come in bursts; one fetch for a burst is enough. */
const SETTLE_MS = 250;

/** @param {Ctx} ctx @param {string[]} params @returns {Screen} */
export function open(ctx, params) {
  const id = Number(params[0]);
  const page = new TaskScreen(ctx, id);
  const on = (/** @type {string} */ key) => ({
    run: () => perform(ctx, ctx.store.tasks.get(id), key),
  });
  return {
    node: page.node,
    title: `Task ${params[0]}`,
    update: (changed) => {
      const { touched } = ctx.store;
      if (touched.whole || touched.tasks.has(id)) page.again();
      // What it waits for shows its state too.
      else if (changed.has("tasks")) page.links();
      if (changed.has("decisions")) page.drawHead();
    },
    close: () => page.close(),
    keys: {
      e: { does: "edit", ...on("e") },
      a: { does: "assign", ...on("a") },
      x: { does: "release", ...on("x") },
      r: { does: "retry", ...on("r") },
      Delete: { does: "delete", ...on("Delete") },
      m: { does: "message to its teammate", run: () => page.message() },
      Escape: { does: "back to the board", run: () => ctx.go("board") },
    },
  };
}

/** What its reasons are reasons for. @param {Card} card */
function whyOf(card) {
  if (card.status !== "pending") return "Why it waits: ";
  return card.available ? "Not for everybody: " : "Why it is not taken: ";
}

class TaskScreen {
  /** @param {Ctx} ctx @param {number} id */
  constructor(ctx, id) {
    this.ctx = ctx;
    this.id = id;
    /** @type {TaskPage | null} */
    this.page = null;
    /** What the diff was fetched for. */
    this.diffOf = "";
    this.life = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.head = el("div", { class: "task-head" });
    this.text = el("div");
    this.story = el("div");
    this.gates = el("div");
    this.gateList = el("div");
    this.diff = el("div");
    this.talk = el("div");
    this.facts = el("div");
    this.needs = el("div");
    this.spent = el("div");
    this.when = el("span", { class: "dim" });
    this.body = el("div", { class: "page task-page" });
    this.node = el("section", { class: "screen scroll", "aria-label": `Task ${id}` }, this.body);
    ctx.tick(() => this.tick());
    this.drawHead();
    put(
      this.body,
      this.head,
      el("div", { class: "skeleton", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
    );
    void this.fetch();
  }

  close() {
    clearTimeout(this.timer);
    this.life.abort();
  }

  again() {
    this.drawHead();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetch(), SETTLE_MS);
  }

  async fetch() {
    try {
      const page = /** @type {TaskPage} */ (
        await this.ctx.api.get(`task/${this.id}`, this.life.signal)
      );
      const first = this.page === null;
      this.page = page;
      if (first) this.frame();
      this.draw(page);
      this.fetchDiff(page);
    } catch (error) {
      if (this.life.signal.aborted) return;
      const told = error instanceof Refused ? error : new Refused(String(error), "", 0, "");
      if (this.page) this.ctx.complain(error);
      else {
        put(
          this.body,
          empty(
            told.message,
            told.remedy || null,
            el("p", null, el("a", { href: this.ctx.href("board") }, "Back to the board")),
          ),
        );
      }
    }
  }

  /** The places of the page, once. */
  frame() {
    put(
      this.body,
      this.head,
      el(
        "div",
        { class: "task-cols" },
        el(
          "div",
          { class: "task-main" },
          this.text,
          section("Changes", this.diff),
          section("Gate", this.gates),
          section("Story", this.story),
          section("Messages about it", this.talk),
        ),
        el(
          "aside",
          { class: "task-side", "aria-label": "Facts" },
          this.needs,
          this.facts,
          this.spent,
        ),
      ),
    );
  }

  drawHead() {
    const card = this.ctx.store.tasks.get(this.id);
    if (!card) return;
    const failed = failure(card);
    const why = waitsFor(card);
    const tried = attempts(card);
    const decision = decisionOn(this.ctx, this.id);
    const sign = [
      card.subject,
      card.alias,
      card.status,
      card.stage,
      card.available,
      card.owner,
      card.assignee,
      tried,
      failed,
      why,
      decision?.id,
    ];
    refill(this.head, sign, () => [
      el(
        "nav",
        { class: "crumbs small", "aria-label": "Where this is" },
        el("a", { href: this.ctx.href("board") }, "Board"),
        el("span", { class: "dim", "aria-hidden": "true" }, " / "),
        el("span", { class: "dim" }, `#${card.id}`),
        card.alias ? el("span", { class: "dim" }, ` · ${card.alias}`) : null,
      ),
      el("div", { class: "task-title" }, el("h1", { class: "wrap" }, card.subject)),
      el(
        "div",
        { class: "task-line" },
        badge(taskState(card)),
        card.owner
          ? el(
              "span",
              null,
              card.status === "in_progress" ? "by " : "last by ",
              this.mate(card.owner),
            )
          : null,
        !card.owner && card.assignee ? el("span", { class: "soft" }, `for ${card.assignee}`) : null,
        tried ? el("span", { class: "warn" }, tried.long) : null,
        this.when,
        el(
          "span",
          { class: "task-deeds" },
          decision ? decideLink(this.ctx, "button main") : null,
          deeds(this.ctx, card).map((deed) =>
            button(deed.label, () => void deed.run(), {
              kind: deed.kind ?? "plain",
              key: deed.key,
            }),
          ),
        ),
      ),
      failed
        ? el(
            "div",
            { class: "note wrap bad-note" },
            el("strong", null, "It failed with: "),
            failed.trimEnd().includes("\n") ? output(failed) : failed,
          )
        : null,
      why.length > 0
        ? el(
            "div",
            { class: "note wrap" },
            el("strong", null, whyOf(card)),
            reasons(this.ctx, why),
          )
        : null,
    ]);
    this.tick();
  }

  tick() {
    const card = this.ctx.store.tasks.get(this.id);
    if (card) setText(this.when, `changed ${ago(this.ctx.store.time() - card.changed_at)}`);
  }

  /** @param {string} who */
  mate(who) {
    const { team, name } = parts(who);
    const known = this.ctx.store.teammates.has(`${team}/${name}`);
    return known
      ? el("a", { href: this.ctx.href(`team/${team}/${name}`) }, name)
      : el("span", null, name || who);
  }

  message() {
    const owner = this.ctx.store.tasks.get(this.id)?.owner;
    if (owner)
      void write(this.ctx, parts(owner).name, parts(owner).team, `About task ${this.id}: `);
    else this.ctx.say("Nobody has this task: there is nobody to write to.");
  }

  /** @param {TaskPage} page */
  draw(page) {
    const { task } = page;
    put(
      this.text,
      task.description
        ? el("p", { class: "prose wrap" }, task.description)
        : el("p", { class: "dim" }, "No description."),
      task.result
        ? el("div", { class: "note wrap" }, el("strong", null, "Result: "), task.result)
        : null,
      task.handoff ? handoffPart(task.handoff) : null,
      task.handoffs?.length ? priorParts(this.ctx, task) : null,
      task.notes?.length
        ? section(
            "Notes about it",
            el("ul", { class: "talk" }, task.notes.map((one) => noteRow(this.ctx, one))),
          )
        : null,
    );
    const runs = (page.gates ?? []).slice().reverse();
    // Kept by number: what a person unfolded stays so when the next run comes.
    keep(
      this.gateList,
      runs,
      (gate) => String(gate.n),
      (gate) => gateRun(gate, gate === runs[0]),
    );
    refill(this.gates, runs.length > 0, () => [
      runs.length > 0
        ? this.gateList
        : el(
            "p",
            { class: "dim" },
            "The gate has not run for it yet: it runs when the task is submitted.",
          ),
    ]);
    put(this.story, story(page.steps ?? [], this.id));
    put(
      this.talk,
      page.messages?.length
        ? el(
            "ul",
            { class: "talk" },
            page.messages.map((one) => messageRow(one)),
          )
        : el("p", { class: "dim" }, "No message names this task."),
    );
    this.links();
    refill(this.facts, [task, page.spans], () => [
      this.factsOf(page),
      this.claims(page.spans ?? []),
    ]);
    put(this.spent, costs(this.ctx, page.costs ?? []));
  }

  /** Dependencies both ways, with the state of each. */
  links() {
    const task = this.page?.task;
    if (!task) return;
    const near = [...(task.blocked_by ?? []), ...(task.blocks ?? [])].map((one) => {
      const card = this.ctx.store.tasks.get(Number(one));
      return [one, card?.subject, card && taskState(card).key];
    });
    refill(this.needs, near, () => [
      this.linkList(
        "Waits for",
        (task.blocked_by ?? []).map(String),
        "Nothing: it waits for no other task.",
      ),
      this.linkList("Waited for by", (task.blocks ?? []).map(String), "No task waits for it."),
    ]);
  }

  /** @param {string} title @param {string[]} ids @param {string} none */
  linkList(title, ids, none) {
    return el(
      "section",
      { class: "side-part" },
      el("h2", null, title, ids.length > 1 ? el("span", { class: "dim" }, ` ${ids.length}`) : null),
      ids.length === 0
        ? el("p", { class: "dim small" }, none)
        : el(
            "ul",
            { class: "dep-list" },
            ids.map((one) => {
              const card = this.ctx.store.tasks.get(Number(one)) ?? this.byAlias(one);
              return el(
                "li",
                null,
                card
                  ? [
                      el(
                        "span",
                        {
                          class: "sign",
                          data: { state: taskState(card).key },
                          title: taskState(card).word,
                        },
                        taskState(card).sign,
                      ),
                      el(
                        "a",
                        { href: this.ctx.href(`task/${card.id}`) },
                        `#${card.id} ${card.subject}`,
                      ),
                      el("span", { class: "unseen" }, ` (${taskState(card).word})`),
                    ]
                  : el(
                      "span",
                      null,
                      one.startsWith("group:") ? `all of group ${one.slice(6)}` : one,
                    ),
              );
            }),
          ),
    );
  }

  /** @param {string} alias @returns {Card | undefined} */
  byAlias(alias) {
    return [...this.ctx.store.tasks.values()].find((card) => card.alias === alias);
  }

  /** @param {TaskPage} page */
  factsOf({ task }) {
    /** @type {[string, (Node | string | null | undefined)][]} */
    const rows = [
      ["Team", task.team],
      ["Group", task.group],
      ["Role", task.role],
      ["Assigned to", task.assignee],
      ["Priority", task.priority === USUAL_PRIORITY ? undefined : String(task.priority)],
      ["Attempts", attempts(task)?.long],
      ["Expected", task.duration_ms ? lasted(task.duration_ms) : undefined],
      ["Path to the end", task.path_ms ? lasted(task.path_ms) : undefined],
      ["Lease", task.lease_ms ? lasted(task.lease_ms) : undefined],
      ["Commit", task.commit ? this.commit(task.commit) : undefined],
      [
        "Created",
        el(
          "span",
          { title: moment(task.created_at) },
          `${moment(task.created_at)} by ${nameOf(task.created_by) || "somebody"}`,
        ),
      ],
      ...Object.entries(task.metadata ?? {}),
    ];
    return el(
      "section",
      { class: "side-part" },
      el("h2", null, "Facts"),
      el(
        "dl",
        { class: "facts" },
        rows
          .filter(([, value]) => value)
          .map(([name, value]) =>
            el("div", null, el("dt", null, name), el("dd", { class: "wrap" }, value)),
          ),
      ),
      task.files?.length
        ? [
            el("h3", { class: "side-sub" }, "Files"),
            el(
              "ul",
              { class: "mono small file-list" },
              task.files.map((file) => el("li", { class: "wrap" }, file)),
            ),
          ]
        : null,
      task.set_aside?.length
        ? [
            el("h3", { class: "side-sub" }, "Work set aside"),
            el(
              "ul",
              { class: "mono small file-list" },
              task.set_aside.map((one) => el("li", { class: "wrap" }, one)),
            ),
          ]
        : null,
    );
  }

  /** @param {string} commit */
  commit(commit) {
    return el(
      "button",
      {
        type: "button",
        class: "copy mono",
        title: "Copy the whole commit id",
        on: {
          click: () => {
            navigator.clipboard.writeText(commit).then(
              () => this.ctx.say("Commit id copied", "good"),
              () => this.ctx.say(commit),
            );
          },
        },
      },
      shortCommit(commit),
    );
  }

  /**
   * Each claim of it, with the way to what its teammate printed meanwhile.
   * @param {Span[]} spans
   */
  claims(spans) {
    if (spans.length === 0) return null;
    const now = this.ctx.store.time();
    return el(
      "section",
      { class: "side-part" },
      el("h2", null, "Who worked on it"),
      el(
        "ul",
        { class: "claims" },
        spans
          .slice()
          .reverse()
          .map((span) => {
            const { team, name } = parts(span.who);
            return el(
              "li",
              null,
              el(
                "div",
                null,
                this.mate(span.who),
                el("span", { class: "dim" }, ` · ${spanEnd(span.end)}`),
              ),
              el(
                "div",
                { class: "small dim", title: moment(span.began) },
                `${clock(span.began)} · ${lasted((span.ended ?? now) - span.began)}`,
              ),
              el(
                "a",
                { class: "small", href: this.ctx.href(`team/${team}/${name}/${span.epoch}`) },
                "Transcript",
              ),
            );
          }),
      ),
    );
  }

  /** Fetched once per commit or stage. @param {TaskPage} page */
  fetchDiff({ task }) {
    const about = `${task.status} ${task.stage ?? ""} ${task.commit ?? ""}`;
    if (about === this.diffOf) return;
    const first = this.diffOf === "";
    this.diffOf = about;
    if (first) put(this.diff, el("p", { class: "dim" }, "Fetching the changes…"));
    /** @type {Promise<DiffPage>} */ (
      this.ctx.api.get(`task/${this.id}/diff`, this.life.signal)
    ).then(
      (page) => put(this.diff, renderDiff(page)),
      (error) => {
        if (this.life.signal.aborted) return;
        this.diffOf = "";
        put(
          this.diff,
          el(
            "p",
            { class: "dim" },
            prose(error instanceof Refused ? `${error.message} ${error.remedy}` : String(error)),
          ),
        );
      },
    );
  }
}
