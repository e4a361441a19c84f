// What waits for a person: plans, permissions, scope requests, questions and approvals in one
// queue, the one that holds up the most work first.
//
// One press decides one decision: that which was on the screen when the press began. The next one
// is decided once somebody has chosen it. For a few seconds a decision can be taken back; should the
// team refuse it, the item comes back with the reason and what was typed: nothing that was not
// accepted looks as if it was.

import { button, el, empty, put, refill, setText } from "../dom.js";
import { ago, count, decisionKind, moment, nameOf, seatOf, taskState } from "../words.js";
import { Refused } from "../api.js";
import { workTime } from "./critical.js";
import { past } from "./decision_past.js";
import { changeOf, workOf } from "./decision_work.js";

/** @import { Ctx, DecisionView, Key, Part, Screen } from "../types.d.ts" */

const SIGNS = { plan: "▤", permission: "!", scope: "▦", question: "?", approval: "✓" };

/** @param {Ctx} ctx @param {string[]} params @returns {Screen} */
export function open(ctx, params) {
  const queue = new Queue(ctx, Number(params[0] ?? 0));
  return {
    node: queue.node,
    title: "Decisions",
    update: (changed) => queue.update(changed),
    close: () => queue.close(),
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
export function verdicts(one) {
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
export function others(one) {
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
    this.outbox = ctx.outbox;
    this.drafts = draftsOf(ctx.root);
    /** @type {Map<string, HTMLElement>} */
    this.changes = new Map();
    /** @type {DecisionView[]} */
    this.items = [];
    /** What somebody has chosen to look at; nothing takes its place by itself. */
    this.chosen = "";
    /** When the chosen item was first painted, and when the pointer last went down. */
    this.shownAt = Infinity;
    this.pressedAt = 0;
    this.drawn = "";
    this.held = el("div", { class: "held", tabindex: -1, role: "status", "aria-label": "Not sent yet" });
    this.past = past(ctx);
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
      this.held,
      this.none,
      this.panes,
      this.past.node,
    );
    this.node.addEventListener("pointerdown", (event) => (this.pressedAt = event.timeStamp), true);
    this.outbox.shown = (refused) => this.told(refused);
    const first = ctx.store.decisions.find((one) => one.id === wanted);
    if (first) this.panes.dataset.open = "yes";
    // Whoever comes here looks at the first of them.
    const waiting = ctx.store.decisions.filter((one) => !this.outbox.hides(keyOf(one)));
    const begin = first ?? waiting[0];
    if (begin) this.chosen = keyOf(begin);
    ctx.tick(() => this.age());
    this.show();
  }

  close() {
    this.keepTyped();
    this.outbox.shown = null;
  }

  /** Something was held, taken back, sent or refused. */
  /** @param {{ key: string, error: Refused }} [refused] */
  told(refused) {
    if (refused) {
      this.draft(refused.key).problem = refused.error;
      this.chosen = refused.key;
      this.drawn = "";
    }
    this.show();
    if (refused) this.detail.focus();
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const late = this.outbox.sent.size > 0;
    if (late || changed.has("decisions") || changed.has("whole") || changed.has("tasks")) this.show();
    if (changed.has("decisions") || changed.has("whole")) this.past.update();
  }

  show() {
    const all = this.ctx.store.decisions;
    const there = new Set(all.map(keyOf));
    // Before the first news of the team, nothing is there; that settles nothing.
    const known = this.ctx.store.position > 0;
    if (known) {
      for (const gone of this.outbox.look(there, this.ctx.store.position)) {
        this.ctx.say(`Not sent: ${gone.what}. It waits no more.`, "bad");
      }
    }
    for (const key of this.drafts.keys()) if (known && !there.has(key)) this.drafts.delete(key);
    this.items = all.filter((one) => !this.outbox.hides(keyOf(one)));
    if (!this.items.some((one) => keyOf(one) === this.chosen)) {
      this.chosen = "";
      this.panes.dataset.open = "no";
    }
    this.showHeld();
    this.showQueue();
    this.showDetail();
  }

  /** What can still be taken back, the last one first. */
  showHeld() {
    const { held } = this.outbox;
    refill(this.held, held.map((one) => one.key), () =>
      [...held].reverse().map((one, at) =>
        el(
          "p",
          { class: "held-line" },
          el("span", { class: "wrap" }, el("strong", null, one.what), " ", el("span", { class: "dim", data: { due: one.due } }, this.left(one.due))),
          at === 0
            ? [
                button("Undo", (event) => event.detail < 2 && this.undo(), { key: "u" }),
                button("Send now", (event) => event.detail < 2 && this.outbox.empty(), { key: "s", kind: "quiet" }),
              ]
            : null,
        ),
      ),
    );
  }

  /** @param {number} due */
  left(due) {
    return `sent in ${Math.max(1, Math.ceil((due - performance.now()) / 1000))} s`;
  }

  undo() {
    const held = this.outbox.undo();
    if (!held) return;
    this.choose(held.key, true);
    this.ctx.say(`Taken back: ${held.what}`);
  }

  showQueue() {
    const none = this.items.length === 0;
    this.panes.hidden = none;
    this.none.hidden = !none;
    if (none) {
      const asked = this.outbox.sent.size + this.outbox.held.length > 0 ? "Your last answer is on its way." : "";
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
    for (const node of this.held.querySelectorAll("[data-due]")) {
      setText(node, this.left(Number(node.getAttribute("data-due"))));
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
    // Where nothing is looked at yet, the first of them is next.
    const next = this.items[at < 0 ? 0 : at + way];
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
      this.arm("");
      delete this.detail.dataset.key;
      put(this.detail, empty("Choose a decision.", "Press `j`, or click on one: what is decided is what you look at."));
      this.detail.setAttribute("aria-label", "No decision is chosen");
      return;
    }
    // Nothing under a hand that types is built anew unless the item itself changed.
    const drawn = JSON.stringify([one, one.task === undefined ? null : this.ctx.store.tasks.get(one.task)]);
    if (!anew && drawn === this.drawn) return;
    if (this.detail.dataset.key === keyOf(one)) this.keepTyped();
    else this.arm(keyOf(one));
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
        one.kind === "approval" ? el("span", { class: "dim" }, " asked by shipmate") : null,
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
            button(said.yes, (event) => this.meant(event) && this.yes(), { kind: "main", key: "y" }),
            said.no ? button(said.no, (event) => this.meant(event) && this.no(), { kind: "danger", key: "d" }) : null,
            others(one).map((text) => button(title(text), (event) => this.meant(event) && this.other(one, text), {})),
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
    const send = button("Answer", (event) => this.meant(event) && this.answerOption(), { kind: "main", key: "Enter" });
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
        if (this.meant(event)) send();
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
          ? button("Answer", (event) => this.meant(event) && send(), { kind: "main" })
          : button(verdicts(one).no ?? "Deny", (event) => this.meant(event) && send(), { kind: "danger" }),
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
    else if (one.kind === "approval") this.send(one, { phase_approve: { approval: one.id } }, "Approved; the team goes on");
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

  /**
   * Decides: it is sent in a few seconds, unless it is taken back. Nothing comes up in its place.
   * @param {DecisionView} one @param {object | string} ask @param {string} done
   */
  send(one, ask, done) {
    const key = keyOf(one);
    this.keepTyped();
    this.draft(key).problem = null;
    const about = one.who ? `${decisionKind(one.kind)} from ${nameOf(one.who)}` : `${decisionKind(one.kind)} for team ${one.team}`;
    this.outbox.hold({ key, what: `${done} (${about})`, ask, team: one.team, done });
    this.held.focus();
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
      h: { does: "what was decided", run: () => this.past.node.toggleAttribute("open") },
    };
    if (this.outbox.held.length > 0) {
      keys.u = { does: "take the last decision back", run: (event) => !event.repeat && this.undo() };
      keys.s = { does: "send it now", run: (event) => !event.repeat && this.outbox.empty() };
    }
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

  /** From the frame on that shows it, a press may decide it. @param {string} key */
  arm(key) {
    this.shownAt = Infinity;
    delete this.detail.dataset.shown;
    if (!key) return;
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (this.detail.dataset.key !== key || this.shownAt !== Infinity) return;
        this.shownAt = performance.now();
        this.detail.dataset.shown = "yes";
      }),
    );
  }

  /**
   * One press is one answer, to what was on the screen when it began: neither a key held down nor
   * the second half of a double click decides anything, and no press what was not shown yet.
   * @param {KeyboardEvent | MouseEvent} event
   */
  meant(event) {
    const again = event instanceof KeyboardEvent ? event.repeat : event.detail > 1;
    // A click that a key has made has no pointer.
    const pointed = event instanceof MouseEvent && event.detail > 0;
    return !again && (pointed ? this.pressedAt : event.timeStamp) >= this.shownAt;
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
export function firstLine(one) {
  const line = (one.text ?? "").split("\n").find((text) => text.trim() !== "") ?? "";
  if (line) return line.slice(0, 160);
  return one.work ? `${count(one.work.tasks?.length ?? 0, "task")} planned` : "no words";
}
