// What waits for a person: plans, permissions, scope requests, questions and approvals in one
// queue, the one that holds up the most work first.
//
// An answer takes its item out of the queue at once and the next one comes up. Should the team
// refuse the answer, the item comes back with the reason and what was typed: nothing that was not
// accepted looks as if it was.

import { button, el, empty, put, setText } from "../dom.js";
import { ago, count, decisionKind, moment, nameOf, seatOf, taskState } from "../words.js";
import { Refused } from "../api.js";
import { workTime } from "./critical.js";
import { changeOf, workOf } from "./decision_work.js";

/** @import { Ctx, DecisionView, Key, Part, Screen } from "../types.d.ts" */

/** How long a key answers nothing after an item has made room for another by itself. */
const LOOK_MS = 700;

const SIGNS = { plan: "▤", permission: "!", scope: "▦", question: "?", approval: "✓" };

/** @param {Ctx} ctx @param {string[]} params @returns {Screen} */
export function open(ctx, params) {
  const queue = new Queue(ctx, Number(params[0] ?? 0));
  return {
    node: queue.node,
    title: "Decisions",
    update: (changed) => queue.update(changed),
    close: () => queue.keepTyped(),
    get keys() {
      return queue.keys();
    },
  };
}

/** @param {DecisionView} one */
const keyOf = (one) => `${one.kind} ${one.team} ${one.id}`;

/** `7 tasks wait, 42 min of work` @param {DecisionView} one */
export function waits(one) {
  if (one.waiting === 0) return "no task waits for it";
  const work = one.waiting_ms > 0 ? `, ${workTime(one.waiting_ms)} of work` : "";
  return `${count(one.waiting, "task")} ${one.waiting === 1 ? "waits" : "wait"}${work}`;
}

/** What yes and no are called in this one; absent where they are no answer to it. */
/** @param {DecisionView} one */
function verdicts(one) {
  const options = one.options ?? [];
  if (one.kind === "plan") return { yes: "Approve", no: "Reject" };
  if (one.kind === "approval") return { yes: "Approve" };
  const yes = options.find((text) => /^(grant|allow|approve|yes)$/i.test(text.trim()));
  const no = options.find((text) => /^(refuse|deny|reject|no)$/i.test(text.trim()));
  if (yes && no) return { yes: title(yes), no: title(no), yesIs: yes, noIs: no };
  if (one.kind !== "question" && options.length === 0) return { yes: "Allow", no: "Deny", yesIs: "allow" };
  return {};
}

/** Answers beside yes and no. @param {DecisionView} one */
function others(one) {
  const said = verdicts(one);
  return said.yesIs ? (one.options ?? []).filter((text) => text !== said.yesIs && text !== said.noIs) : [];
}

/** @param {string} text */
const title = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** @typedef {{ typed: string, chosen: number, denying: boolean, problem: Refused | null }} Draft */

/**
 * What was typed, chosen and refused, by tree and item: it outlives a look at another screen.
 * @type {Map<string, Map<string, Draft>>}
 */
const written = new Map();

/** @param {string} root */
function draftsOf(root) {
  const drafts = written.get(root) ?? new Map();
  written.set(root, drafts);
  return drafts;
}

class Queue {
  /** @param {Ctx} ctx @param {number} wanted */
  constructor(ctx, wanted) {
    this.ctx = ctx;
    /**
     * Answered here, not yet gone from the team's list; and the record after which it must be.
     * @type {Map<string, number>}
     */
    this.answered = new Map();
    this.drafts = draftsOf(ctx.root);
    /** @type {Map<string, HTMLElement>} */
    this.changes = new Map();
    /** @type {DecisionView[]} */
    this.items = [];
    this.chosen = "";
    /** When the item that was looked at went away without an answer from here. */
    this.swapped = -Infinity;
    this.drawn = "";
    this.list = el("ol", { class: "queue", "aria-label": "Waiting for you" });
    this.detail = el("article", { class: "decision", tabindex: -1, "aria-label": "The decision" });
    this.head = el("p", { class: "queue-sum" });
    this.none = el("div");
    this.panes = el(
      "div",
      { class: "decision-panes" },
      el("div", { class: "queue-pane" }, this.head, this.list),
      this.detail,
    );
    this.node = el(
      "section",
      { class: "screen decisions", "aria-label": "Decisions" },
      el("h1", { class: "unseen" }, "Decisions"),
      this.none,
      this.panes,
    );
    const first = ctx.store.decisions.find((one) => one.id === wanted);
    if (first) {
      this.chosen = keyOf(first);
      this.panes.dataset.open = "yes";
    }
    ctx.tick(() => this.age());
    this.show();
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const late = this.answered.size > 0;
    if (late || changed.has("decisions") || changed.has("whole") || changed.has("tasks")) this.show();
  }

  show() {
    const all = this.ctx.store.decisions;
    const there = new Set(all.map(keyOf));
    for (const [key, until] of this.answered) {
      // What is still there once the answer is in the picture was not settled by it.
      if (!there.has(key) || this.ctx.store.position >= until) this.answered.delete(key);
    }
    // Before the first news of the team, nothing is there; that settles nothing.
    const known = this.ctx.store.position > 0;
    for (const key of this.drafts.keys()) if (known && !there.has(key)) this.drafts.delete(key);
    const before = this.items.findIndex((one) => keyOf(one) === this.chosen);
    this.items = all.filter((one) => !this.answered.has(keyOf(one)));
    if (!this.items.some((one) => keyOf(one) === this.chosen)) {
      if (this.chosen && !this.answered.has(this.chosen)) this.swapped = performance.now();
      const next = this.items[Math.max(0, Math.min(before, this.items.length - 1))];
      this.chosen = next ? keyOf(next) : "";
    }
    this.showQueue();
    this.showDetail();
  }

  showQueue() {
    const none = this.items.length === 0;
    this.panes.hidden = none;
    this.none.hidden = !none;
    if (none) {
      const asked = this.answered.size > 0 ? "Your last answer is on its way." : "";
      put(this.none, empty("Nothing waits for you.", asked || "Plans, permissions, scope requests and questions come here, the one that holds up the most work first."));
    }
    const n = this.items.length;
    setText(this.head, `${count(n, "decision")} ${n === 1 ? "waits" : "wait"} for you, most work first`);
    const focused = this.list.contains(document.activeElement);
    put(this.list, this.items.map((one) => this.row(one)));
    if (focused) this.current()?.focus();
  }

  current() {
    const button_ = this.list.querySelector("button[aria-current]");
    return button_ instanceof HTMLElement ? button_ : null;
  }

  /** @param {DecisionView} one */
  row(one) {
    const key = keyOf(one);
    const chosen = key === this.chosen;
    return el(
      "li",
      null,
      el(
        "button",
        {
          type: "button",
          class: "queue-row",
          "aria-current": chosen ? "true" : undefined,
          on: { click: () => this.choose(key, true) },
        },
        el(
          "span",
          { class: "queue-top" },
          el("span", { class: "kind", data: { kind: one.kind } }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[one.kind] ?? "?"), decisionKind(one.kind)),
          el("span", { class: "queue-who" }, one.who ? nameOf(one.who) : one.team),
          el("time", { class: "age", data: { at: one.at } }, this.since(one.at)),
        ),
        el("span", { class: "queue-text" }, firstLine(one)),
        el("span", { class: "queue-waits", data: { any: one.waiting > 0 ? "yes" : "no" } }, waits(one)),
      ),
    );
  }

  /** @param {number} at */
  since(at) {
    return ago(Math.max(0, this.ctx.store.time() - at));
  }

  age() {
    for (const node of this.node.querySelectorAll("time[data-at]")) {
      setText(node, this.since(Number(node.getAttribute("data-at"))));
    }
  }

  /** @param {string} key @param {boolean} focus */
  choose(key, focus) {
    this.keepTyped();
    this.chosen = key;
    this.showQueue();
    this.showDetail();
    if (!focus) return;
    this.panes.dataset.open = "yes";
    this.detail.focus({ preventScroll: false });
  }

  /** @param {-1 | 1} way */
  step(way) {
    const at = this.items.findIndex((one) => keyOf(one) === this.chosen);
    const next = this.items[at + way];
    if (!next) return;
    this.choose(keyOf(next), true);
    this.current()?.scrollIntoView({ block: "nearest" });
  }

  /** On a narrow screen either the queue or one item is seen. */
  overview() {
    this.panes.dataset.open = "no";
    this.current()?.focus();
  }

  /** @returns {DecisionView | undefined} */
  item() {
    return this.items.find((one) => keyOf(one) === this.chosen);
  }

  /** @param {string} key */
  draft(key) {
    let draft = this.drafts.get(key);
    if (!draft) {
      draft = { typed: "", chosen: -1, denying: false, problem: null };
      this.drafts.set(key, draft);
    }
    return draft;
  }

  /** @returns {HTMLTextAreaElement | HTMLInputElement | null} */
  fieldNode() {
    return this.detail.querySelector("#decision-field");
  }

  keepTyped() {
    const field = this.fieldNode();
    const key = this.detail.dataset.key;
    if (field && key) this.draft(key).typed = field.value;
  }

  /** @param {boolean} [anew] */
  showDetail(anew = false) {
    const one = this.item();
    if (!one) {
      this.drawn = "";
      put(this.detail);
      return;
    }
    // Nothing under a hand that types is built anew unless the item itself changed.
    const drawn = JSON.stringify([one, one.task === undefined ? null : this.ctx.store.tasks.get(one.task)]);
    if (!anew && drawn === this.drawn) return;
    if (this.detail.dataset.key === keyOf(one)) this.keepTyped();
    this.detail.dataset.key = keyOf(one);
    const inField = this.fieldNode() === document.activeElement;
    this.drawn = drawn;
    const all = button("← All decisions", () => this.overview(), { kind: "quiet" });
    all.classList.add("to-list");
    put(this.detail, all, this.heading(one), this.body(one), this.answers(one));
    this.detail.setAttribute("aria-label", `${decisionKind(one.kind)}${one.who ? ` from ${nameOf(one.who)}` : ""}, ${waits(one)}`);
    if (inField) this.fieldNode()?.focus();
  }

  /** @param {DecisionView} one */
  heading(one) {
    const { ctx } = this;
    const card = one.task === undefined ? undefined : ctx.store.tasks.get(one.task);
    const seat = one.who ? seatOf(one.who) : "";
    const mate = ctx.store.teammates.get(seat);
    return el(
      "header",
      { class: "decision-head" },
      el(
        "h2",
        null,
        el("span", { class: "kind", data: { kind: one.kind } }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[one.kind] ?? "?"), title(decisionKind(one.kind))),
        one.who
          ? [" from ", mate ? el("a", { href: ctx.href(`team/${seat}`) }, nameOf(one.who)) : nameOf(one.who)]
          : ` for team ${one.team}`,
        mate?.role ? el("span", { class: "dim" }, ` ${mate.role}`) : null,
      ),
      el(
        "p",
        { class: "decision-facts" },
        el("strong", { data: { any: one.waiting > 0 ? "yes" : "no" } }, waits(one)),
        el("span", null, "asked ", el("time", { data: { at: one.at }, title: moment(one.at) }, this.since(one.at))),
        ctx.store.teams.size > 1 ? el("span", null, `team ${one.team}`) : null,
        card
          ? el("span", null, "about ", el("a", { href: ctx.href(`task/${card.id}`) }, `${card.id} ${card.subject}`), ` (${taskState(card).word})`)
          : null,
      ),
    );
  }

  /** @param {DecisionView} one */
  body(one) {
    return el(
      "div",
      { class: "decision-body" },
      one.text ? el("div", { class: "prose" }, one.text) : null,
      one.work ? workOf(one.work) : null,
      one.kind === "scope" && one.task !== undefined ? this.change(keyOf(one), one.task) : null,
    );
  }

  /** The change that a scope request is about; made once, and absent where it cannot be had. */
  /** @param {string} key @param {number} task */
  change(key, task) {
    const known = this.changes.get(key);
    if (known) return known;
    const node = changeOf(this.ctx, task);
    this.changes.set(key, node);
    return node;
  }

  /** @param {DecisionView} one */
  answers(one) {
    const draft = this.draft(keyOf(one));
    const said = verdicts(one);
    const options = said.yes ? [] : (one.options ?? []);
    const free = one.kind === "question" && (one.options ?? []).length === 0;
    const problem = draft.problem;
    return el(
      "div",
      { class: "decision-foot" },
      problem
        ? el("div", { class: "problem", role: "alert" }, el("strong", null, problem.message), problem.remedy ? ` ${problem.remedy}` : null)
        : null,
      options.length > 0 ? this.optionList(one, options, draft) : null,
      draft.denying || free ? this.field(one, draft, free) : null,
      !draft.denying && said.yes
        ? el(
            "div",
            { class: "buttons" },
            button(said.yes, () => this.yes(), { kind: "main", key: "y" }),
            said.no ? button(said.no, () => this.no(), { kind: "danger", key: "d" }) : null,
            others(one).map((text) => button(title(text), () => this.other(one, text), {})),
            one.kind === "scope" && others(one).includes("without")
              ? el("span", { class: "hint" }, "Without: the work is merged, but for these files.")
              : null,
            one.kind === "approval" ? el("span", { class: "hint" }, "Until then the team stays where it is.") : null,
          )
        : null,
    );
  }

  /** @param {DecisionView} one @param {string[]} options @param {{ chosen: number }} draft */
  optionList(one, options, draft) {
    const send = button("Answer", () => this.answerOption(), { kind: "main", key: "Enter" });
    send.disabled = draft.chosen < 0;
    return el(
      "fieldset",
      { class: "options" },
      el("legend", null, "Choose one"),
      options.map((text, i) => {
        const radio = el("input", {
          type: "radio",
          name: `option-${one.id}`,
          value: i,
          on: { change: () => ((draft.chosen = i), (send.disabled = false)) },
        });
        radio.checked = draft.chosen === i;
        return el("label", { class: "option" }, radio, i < 9 ? el("kbd", { "aria-hidden": "true" }, String(i + 1)) : null, el("span", null, text));
      }),
      el(
        "div",
        { class: "buttons" },
        send,
        el("span", { class: "hint" }, "Only one of these is taken as the answer. To say more, ", el("a", { href: this.ctx.href("messages") }, "write a message"), "."),
      ),
    );
  }

  /** @param {DecisionView} one @param {{ typed: string, denying: boolean }} draft @param {boolean} free */
  field(one, draft, free) {
    const plan = one.kind === "plan";
    const label = free ? "Your answer" : plan ? "What should be different?" : "Why not? (may stay empty)";
    // A plan is revised by what is written, and an answer may be long; a reason is one line.
    const long = free || plan;
    const area = long
      ? el("textarea", { id: "decision-field", rows: 3, maxlength: 30_000 })
      : el("input", { id: "decision-field", type: "text", maxlength: 30_000, autocomplete: "off" });
    area.value = draft.typed;
    area.addEventListener("input", () => (draft.typed = area.value));
    const send = () => (free ? this.answer(area.value) : this.deny(area.value));
    /** @param {KeyboardEvent} event */
    const typed = (event) => {
      const sends = event.key === "Enter" && !event.isComposing && (!long || event.ctrlKey || event.metaKey);
      if (sends) {
        event.preventDefault();
        send();
      } else if (event.key === "Escape" && !free) {
        event.preventDefault();
        event.stopPropagation();
        this.undeny();
      }
    };
    area.addEventListener("keydown", (event) => typed(/** @type {KeyboardEvent} */ (event)));
    return el(
      "div",
      { class: "field" },
      el("label", { for: "decision-field" }, label),
      area,
      el(
        "div",
        { class: "buttons" },
        free
          ? button("Answer", send, { kind: "main" })
          : button(verdicts(one).no ?? "Deny", send, { kind: "danger" }),
        free ? null : button("Cancel", () => this.undeny()),
        el("span", { class: "hint" }, long ? "Ctrl+Enter sends" : "Enter sends"),
      ),
    );
  }

  yes() {
    const one = this.item();
    if (!one) return;
    const said = verdicts(one);
    if (one.kind === "plan") this.send(one, { plan_approve: { plan: one.id } }, "Plan approved");
    else if (one.kind === "approval") this.send(one, "team_continue", "Approved; the team goes on");
    else if (said.yesIs) this.send(one, { answer: { question: one.id, answer: said.yesIs } }, `Answered: ${said.yesIs}`);
  }

  no() {
    const one = this.item();
    if (!one) return;
    const said = verdicts(one);
    if (said.noIs) this.send(one, { answer: { question: one.id, answer: said.noIs } }, `Answered: ${said.noIs}`);
    else if (said.no) {
      this.draft(keyOf(one)).denying = true;
      this.showDetail(true);
      this.fieldNode()?.focus();
    }
  }

  /** @param {DecisionView} one @param {string} text */
  other(one, text) {
    this.send(one, { answer: { question: one.id, answer: text } }, `Answered: ${text}`);
  }

  undeny() {
    this.keepTyped();
    if (this.chosen) this.draft(this.chosen).denying = false;
    this.showDetail(true);
    this.detail.focus();
  }

  /** @param {string} reason */
  deny(reason) {
    const one = this.item();
    if (!one) return;
    const text = reason.trim();
    if (one.kind === "plan") {
      if (!text) return this.missing("A rejection needs words: whoever planned revises by them.");
      this.send(one, { plan_reject: { plan: one.id, feedback: text } }, "Plan rejected");
    } else {
      this.send(one, { answer: { question: one.id, answer: text ? `deny: ${text}` : "deny" } }, "Denied");
    }
  }

  /** @param {string} words */
  answer(words) {
    const one = this.item();
    if (!one) return;
    const text = words.trim();
    if (!text) return this.missing("The answer is empty.");
    this.send(one, { answer: { question: one.id, answer: text } }, "Answered");
  }

  answerOption() {
    const one = this.item();
    const text = one?.options?.[this.draft(this.chosen).chosen];
    if (one && text !== undefined) this.send(one, { answer: { question: one.id, answer: text } }, `Answered: ${text}`);
  }

  /** @param {string} fact */
  missing(fact) {
    this.keepTyped();
    this.draft(this.chosen).problem = new Refused(fact, "Write a few words, then send them with Ctrl+Enter.", 0, "empty");
    this.showDetail(true);
    this.fieldNode()?.focus();
  }

  /** @param {DecisionView} one @param {object | string} ask @param {string} done */
  async send(one, ask, done) {
    const key = keyOf(one);
    this.keepTyped();
    this.draft(key).problem = null;
    this.answered.set(key, Infinity);
    this.show();
    if (this.items.length > 0) this.detail.focus();
    else this.node.closest("main")?.focus();
    try {
      /** @type {any} */
      const answer = await this.ctx.api.ask(ask, one.team);
      this.answered.set(key, answer?.done?.last ?? this.ctx.store.position + 1);
      this.ctx.say(done, "good");
    } catch (error) {
      this.answered.delete(key);
      if (error instanceof Refused && !error.locked) this.draft(key).problem = error;
      else this.ctx.complain(error);
      this.chosen = key;
      this.drawn = "";
      this.show();
      this.detail.focus();
    }
  }

  /** @returns {Record<string, Key>} */
  keys() {
    const one = this.item();
    const said = one ? verdicts(one) : {};
    /** @type {Record<string, Key>} */
    const keys = {
      j: { does: "next decision", run: () => this.step(1) },
      k: { does: "decision before", run: () => this.step(-1) },
      ArrowDown: { does: "next decision", run: () => this.step(1) },
      ArrowUp: { does: "decision before", run: () => this.step(-1) },
    };
    if (said.yes) keys.y = { does: "approve, yes", run: (event) => this.meant(event) && this.yes() };
    if (said.no) keys.d = { does: "deny, reject", run: (event) => this.meant(event) && this.no() };
    const options = said.yes ? [] : (one?.options ?? []);
    options.slice(0, 9).forEach((text, i) => {
      keys[String(i + 1)] = { does: `choose “${text}”`, run: () => this.pick(i) };
    });
    // Named in the list of keys even when the item at hand has nothing to choose from.
    if (options.length === 0) keys["1…9"] = { does: "choose an option, where a question has some", run: () => {} };
    if (options.length > 0) keys.Enter = { does: "send the chosen answer", run: (event) => this.meant(event) && this.answerOption() };
    else if (one?.kind === "question") {
      keys.Enter = { does: "write the answer", run: () => this.fieldNode()?.focus() };
    }
    return keys;
  }

  /**
   * One press is one answer, to what was there to be read: a key held down does not approve the
   * rest of the queue, and whoever withdraws a question does not get its answer for the next one.
   * @param {KeyboardEvent} event
   */
  meant(event) {
    return !event.repeat && performance.now() - this.swapped > LOOK_MS;
  }

  /** @param {number} i */
  pick(i) {
    const radios = this.detail.querySelectorAll("input[type=radio]");
    const radio = radios[i];
    if (!(radio instanceof HTMLInputElement)) return;
    radio.click();
    this.detail.focus();
  }
}

/** @param {DecisionView} one */
function firstLine(one) {
  const line = (one.text ?? "").split("\n").find((text) => text.trim() !== "") ?? "";
  if (line) return line.slice(0, 160);
  return one.work ? `${count(one.work.tasks?.length ?? 0, "task")} planned` : "no words";
}
