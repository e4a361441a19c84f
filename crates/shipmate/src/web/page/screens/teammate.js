// One teammate: its output as it comes, who it is and how it does, what was said with it, and a
// place to write to it. An earlier life of it is read from its file, not from the stream.

/** @import { Ctx, MessageRow, OutputPage, OutputPiece, Part, Screen } from "../types.d.ts" */

import { Refused } from "../api.js";
import { draft, sendHint } from "../dialog.js";
import { accountWords } from "../accountcells.js";
import { badge, button, el, empty, keep, put, refill, setText } from "../dom.js";
import { deeds, messageDraft, pause, resume, runs } from "../mateacts.js";
import { ago, contextBar, handSign, inHand, program, signOfLife } from "../matecells.js";
import { OutputLog } from "../outputlog.js";
import { messageRow } from "../taskparts.js";
import { cost, count, mateState, number, ownBudget, parts, placeWords, seatOf, tokens } from "../words.js";

const TALK_MAX = 60;

/** @param {Ctx} ctx @param {string[]} params team, name and perhaps a life @returns {Screen} */
export function open(ctx, params) {
  const [team = "", name = "", life] = params;
  const screen = new TeammateScreen(ctx, team, name, life ? Number(life) : 0);
  return {
    node: screen.node,
    title: name,
    update: (changed) => screen.update(changed),
    output: (piece) => screen.piece(piece),
    close: () => screen.life.abort(),
    keys: {
      m: { does: "write to it", run: () => screen.box.focus() },
      p: { does: "pause or continue", run: () => screen.pause() },
      End: { does: "newest output", run: () => screen.log.end() },
      Escape: { does: "back to the team", run: () => ctx.go("team") },
    },
  };
}

class TeammateScreen {
  /**
   * @param {Ctx} ctx
   * @param {string} team
   * @param {string} name
   * @param {number} epoch 0: the present one
   */
  constructor(ctx, team, name, epoch) {
    this.ctx = ctx;
    this.team = team;
    this.name = name;
    this.key = `${team}/${name}`;
    this.life = new AbortController();
    const mate = this.mate();
    /** Which life is shown; the present one comes live. */
    this.epoch = epoch || (mate?.epoch ?? 0);
    this.live = this.epoch === (mate?.epoch ?? 0);
    this.head = el("div", { class: "task-head mate-head" });
    this.sign = signOfLife(ctx, () => this.mate(), ago);
    this.facts = el("div");
    this.hand = el("div");
    this.talk = el("ul", { class: "talk" });
    this.noTalk = el("p", { class: "dim small" }, "No message with it yet.");
    this.lives = el("select", {
      "aria-label": "Which life",
      hidden: true,
      on: { change: () => ctx.go(`team/${this.key}/${this.lives.value}`) },
    });
    this.state = el("span", { class: "dim small" });
    this.newest = button("Newest ↓", () => this.log.end(), { key: "End" });
    this.newest.hidden = true;
    this.log = new OutputLog(() => (this.newest.hidden = this.log.follows));
    this.box = el("textarea", {
      rows: 3,
      id: "mate-box",
      placeholder: "It arrives at its next pause between two steps",
      "aria-label": `Message to ${name}`,
    });
    this.draft = draft(messageDraft(ctx, name, team));
    this.box.value = this.draft.get()?.body ?? "";
    this.box.addEventListener("input", () =>
      this.draft.set(this.box.value ? { body: this.box.value } : null),
    );
    this.node = mate ? this.frame() : this.nobody();
    if (!mate) return;
    ctx.tick(() => this.sign.tick());
    this.drawHead();
    this.drawFacts();
    this.drawTalk();
    if (this.live) ctx.listen(this.key);
    void this.fetch();
  }

  mate() {
    return this.ctx.store.teammates.get(this.key);
  }

  nobody() {
    return el(
      "section",
      { class: "screen scroll", "aria-label": this.name },
      empty(
        `There is no teammate ${this.name} in ${this.team}.`,
        "It may have been removed from the team.",
        el("p", null, el("a", { href: this.ctx.href("team") }, "Back to the team")),
      ),
    );
  }

  frame() {
    const send = button("Send", () => void this.send(), { kind: "main" });
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        void this.send();
      }
    });
    return el(
      "section",
      { class: "screen mate-screen", "aria-label": this.name },
      this.head,
      el(
        "div",
        { class: "mate-cols" },
        el(
          "div",
          { class: "live" },
          el(
            "div",
            { class: "live-bar" },
            el("h2", null, "Output"),
            this.state,
            el("span", { class: "end" }, this.newest, this.lives),
          ),
          this.log.node,
        ),
        el(
          "aside",
          { class: "mate-side", "aria-label": `About ${this.name}` },
          el(
            "section",
            { class: "side-part" },
            el("h2", null, el("label", { for: "mate-box" }, "Write to it")),
            this.box,
            el(
              "div",
              { class: "box-foot" },
              sendHint(),
              send,
            ),
          ),
          this.facts,
          el("section", { class: "side-part" }, el("h2", null, "Messages"), this.noTalk, this.talk),
        ),
      ),
    );
  }

  drawHead() {
    const mate = this.mate();
    if (!mate) return;
    refill(this.head, [mate.state, mate.why, mate.epoch], () => [
      el(
        "nav",
        { class: "crumbs small", "aria-label": "Where this is" },
        el("a", { href: this.ctx.href("team") }, "Team"),
        el("span", { class: "dim", "aria-hidden": "true" }, " / "),
        el("span", { class: "dim" }, this.team),
      ),
      el(
        "div",
        { class: "task-line" },
        el("h1", null, mate.name),
        badge(mateState(mate)),
        el("span", { class: "soft wrap" }, mate.why ?? ""),
        el("span", { class: "dim" }, "last sign of life ", this.sign.node),
        el(
          "span",
          { class: "task-deeds" },
          deeds(this.ctx, mate)
            .filter((deed) => deed.label !== "Message")
            .map((deed) =>
              button(deed.label, () => this.perform(deed.label), {
                kind: deed.kind ?? "plain",
                title: deed.title,
                ...(deed.key ? { key: deed.key } : {}),
              }),
            ),
        ),
      ),
    ]);
    this.sign.tick();
  }

  /** On the teammate as it is now, not as it was when the button was made. @param {string} label */
  perform(label) {
    const mate = this.mate();
    if (mate)
      void deeds(this.ctx, mate)
        .find((deed) => deed.label === label)
        ?.run();
  }

  drawFacts() {
    const mate = this.mate();
    if (!mate) return;
    refill(this.hand, handSign(this.ctx, mate), () => inHand(this.ctx, mate));
    /** @type {[string, Node | string | null | undefined | false][]} */
    const rows = [
      ["Task", this.hand],
      ["Role", mate.lead ? `${mate.role ?? ""} lead`.trim() : mate.role],
      ["Agent", program(mate)],
      ["Command", mate.command && el("code", null, mate.command)],
      ["Mode", mate.mode],
      ["Made from", mate.from && el("code", null, mate.from)],
      ["Not held of it", mate.unheld?.length ? mate.unheld.join("; ") : null],
      ["Model it asks", mate.other_model ? el("span", { class: "warn" }, `⚠ ${mate.model_used}, not ${mate.model} as asked`) : mate.model_used],
      ["Account", mate.account && accountWords(this.ctx, mate.account)],
      ["In place of", mate.instead_of && `${mate.instead_of}, whose account has no room`],
      ["Falls over to", !mate.instead_of && mate.fallback],
      ["Context", contextBar(mate)],
      ["Tokens", tokens(mate.tokens_used) + (mate.tokens_estimated ? `, ${tokens(mate.tokens_estimated)} of them estimated` : "")],
      ["Cost", cost(mate)],
      ["Budget", ownBudget(mate)],
      ["Unread", mate.unread > 0 && count(mate.unread, "message")],
      ["May write", mate.scope?.length ? el("code", null, mate.scope.join(" ")) : null],
      ["Tools", mate.tools?.length ? mate.tools.join(", ") : null],
      ["Life", String(mate.epoch)],
      ["Process", mate.pid ? String(mate.pid) : null],
      ["Host", mate.host],
      ["Runs only", placeWords(mate.place)],
      ["Fence", mate.fence],
      ["Session", mate.session && el("code", null, mate.session)],
    ];
    const focused = this.hand.contains(document.activeElement) ? document.activeElement : null;
    put(
      this.facts,
      el(
        "section",
        { class: "side-part" },
        el("h2", null, "Facts"),
        el(
          "dl",
          { class: "facts" },
          rows
            .filter(([, value]) => value)
            .map(([name, value]) =>
              el("div", null, el("dt", null, name), el("dd", { class: "wrap" }, value || null)),
            ),
        ),
      ),
    );
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }

  /** @param {MessageRow} row */
  withIt(row) {
    const here = (/** @type {string} */ who) =>
      seatOf(who) === this.key ||
      (parts(who).team === "" && parts(who).name === this.name && this.team === this.ctx.root);
    return here(row.from) || (row.to ?? []).some((one) => here(one.to));
  }

  drawTalk() {
    const rows = [...this.ctx.store.messages.values()]
      .filter((row) => this.withIt(row))
      .sort((a, b) => b.id - a.id)
      .slice(0, TALK_MAX);
    this.noTalk.hidden = rows.length > 0;
    keep(
      this.talk,
      rows,
      (row) => `${row.id} ${(row.to ?? []).map((one) => one.state).join()}`,
      messageRow,
    );
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const { touched } = this.ctx.store;
    const mate = this.mate();
    if (!mate) return;
    if (touched.whole || touched.teammates.has(this.key)) {
      this.drawHead();
      this.drawFacts();
      // It was started again: its new output is in another file.
      if (this.live && mate.epoch !== this.epoch) {
        this.epoch = mate.epoch;
        this.ctx.listen(null);
        this.ctx.listen(this.key);
        void this.fetch();
      }
    } else if (changed.has("tasks")) this.drawFacts();
    if (changed.has("messages")) this.drawTalk();
  }

  /** @param {OutputPiece} piece */
  piece(piece) {
    if (!this.live || piece.who !== this.key) return;
    this.log.add(piece);
    this.tellState();
  }

  async fetch() {
    try {
      const query = this.epoch ? `?life=${this.epoch}` : "";
      const page = /** @type {OutputPage} */ (
        await this.ctx.api.get(`output/${this.path()}${query}`, this.life.signal)
      );
      this.offer(page.lives ?? []);
      if (this.log.kept === 0 || this.log.life !== page.life) this.log.add(page);
      this.tellState();
    } catch (error) {
      if (this.life.signal.aborted) return;
      setText(
        this.state,
        error instanceof Refused ? `${error.message} ${error.remedy}` : String(error),
      );
    }
  }

  path() {
    return `${encodeURIComponent(this.team)}/${encodeURIComponent(this.name)}`;
  }

  /** Earlier lives, where there are any. @param {number[]} lives */
  offer(lives) {
    this.lives.hidden = lives.length < 2;
    const last = this.mate()?.epoch ?? 0;
    put(
      this.lives,
      lives
        .slice()
        .reverse()
        .map((one) =>
          el("option", { value: one }, one === last ? `life ${one} (now)` : `life ${one}`),
        ),
    );
    this.lives.value = String(this.epoch);
  }

  tellState() {
    const mate = this.mate();
    const going = this.live && mate !== undefined && (runs(mate) || mate.state === "stopping");
    setText(
      this.state,
      this.log.to === 0
        ? going
          ? "It has printed nothing yet."
          : "It printed nothing."
        : `${number(this.log.to)} bytes${going ? ", live" : ""}`,
    );
    const more = this.log.from > 0;
    if (more !== this.log.older.hasChildNodes())
      put(this.log.older, more ? button("Older output", () => void this.older()) : null);
  }

  async older() {
    const { from, life } = this.log;
    try {
      const page = /** @type {OutputPage} */ (
        await this.ctx.api.get(
          `output/${this.path()}?life=${life}&before=${from}`,
          this.life.signal,
        )
      );
      if (this.log.from === from && this.log.life === life) this.log.before(page);
      this.tellState();
    } catch (error) {
      if (!this.life.signal.aborted) this.ctx.complain(error);
    }
  }

  async send() {
    const body = this.box.value.trim();
    if (!body) {
      this.ctx.say("The message is empty.", "bad");
      return;
    }
    const to = this.team === this.ctx.root ? this.name : this.key;
    if (
      await this.ctx.attempt(
        { send: { to, body, kind: null, reply_to: null } },
        `Sent to ${this.name}`,
      )
    ) {
      this.box.value = "";
      this.draft.set(null);
    }
  }

  pause() {
    const mate = this.mate();
    if (!mate) return;
    if (mate.state === "paused") void resume(this.ctx, mate);
    else if (runs(mate)) void pause(this.ctx, mate);
    else this.ctx.say(`${mate.name} does not run.`);
  }
}
