// One message on a screen: who to whom, what, and how far it got with each recipient.

import { badge, button, el, put } from "../dom.js";
import { clock, count, deliveryState, moment, nameOf, seatOf } from "../words.js";

/** @import { Ctx, MessageRow } from "../types.d.ts" */

/** Recipients that are named one by one; more are counted. */
const NAMED = 4;

/**
 * How far a message got, in plain words; what each means is in its title, beside the word that the
 * commands use.
 * @type {Partial<Record<import("../types.d.ts").DeliveryState, [string, string]>>}
 */
const PLAIN = {
  queued: ["waiting", "queued: it waits until the teammate can be given it"],
  offered: ["handed over", "offered: it was handed over, and may not be in the conversation yet"],
  injected: ["in its conversation", "injected: it is in the teammate's conversation"],
  acknowledged: ["read", "acknowledged: it was read"],
  expired: ["expired", "expired: nobody took it in time"],
  bounced: ["not delivered", "bounced: it could not be delivered"],
};

/** @param {NonNullable<MessageRow["to"]>[number]} one */
function delivered(one) {
  const state = deliveryState(one.state);
  const [word, title] = PLAIN[one.state] ?? [state.word, ""];
  const unread = one.to === "person" && isWaiting(one.state);
  const node = badge({ ...state, word: unread ? "unread" : word });
  node.title = unread ? "you have not read it yet" : title;
  return node;
}

/** @param {import("../types.d.ts").DeliveryState} state */
const isWaiting = (state) => state === "queued" || state === "offered" || state === "injected";

/** What the runtime says of its own accord, and nobody answers. @param {MessageRow} row */
export const isNotice = (row) => row.from === "runtime";

/** Whether the person has still to read it. @param {MessageRow} row */
export function isUnread(row) {
  return (row.to ?? []).some((one) => one.to === "person" && isWaiting(one.state));
}

/** @param {string} who */
export const called = (who) => (who === "person" ? "you" : nameOf(who));

/** `ana`, `ana, bo`, `9 teammates` @param {MessageRow} row */
export function recipients(row) {
  const to = row.to ?? [];
  if (to.length === 0) return "nobody";
  if (to.length > 3) return count(to.length, "teammate");
  return to.map((one) => called(one.to)).join(", ");
}

/** `plan_approval_request` → `plan approval request` @param {string} kind */
export const kindWord = (kind) => kind.replace(/[_-]+/g, " ");

/**
 * @param {Ctx} ctx
 * @param {MessageRow} row
 * @param {{ reply: (row: MessageRow) => void, read: (row: MessageRow) => void,
 *   thread?: (row: MessageRow) => void, replied?: MessageRow | undefined }} does
 */
export function messageNode(ctx, row, does) {
  const unread = isUnread(row);
  const body = el("div", { class: "message-body wrap" }, row.body ?? "");
  const own = row.from === "person";
  const back = does.replied;
  return el(
    "article",
    {
      class: "message",
      tabindex: -1,
      "aria-label": `From ${called(row.from)} to ${recipients(row)}${unread ? ", unread" : ""}`,
      data: { own: own ? "yes" : "no", unread: unread ? "yes" : "no" },
    },
    el(
      "header",
      { class: "message-head" },
      el("span", { class: "message-from" }, personLink(ctx, row.from)),
      el("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      el("span", { class: "message-to" }, (row.to ?? []).length > 3 || (row.to ?? []).length === 0 ? recipients(row) : listed(ctx, row)),
      unread ? el("span", { class: "unread-mark" }, el("span", { "aria-hidden": "true" }, "◆ "), "unread") : null,
      row.kind !== "message" ? el("span", { class: "chip" }, kindWord(row.kind)) : null,
      el("time", { class: "message-at", datetime: new Date(row.sent_at).toISOString(), title: moment(row.sent_at) }, clock(row.sent_at)),
    ),
    back ? el("p", { class: "message-quote cut" }, `${called(back.from)}: ${(back.body ?? "").split("\n")[0]}`) : null,
    body,
    row.cut ? cutNote(ctx, row, body) : null,
    el(
      "footer",
      { class: "message-foot" },
      deliveries(row),
      el(
        "span",
        { class: "message-deeds" },
        unread ? button("Mark as read", () => does.read(row), { kind: "quiet" }) : null,
        own || !canAnswer(ctx, row.from) ? null : button("Reply", () => does.reply(row), { kind: "quiet" }),
        does.thread ? button("Thread", () => does.thread?.(row), { kind: "quiet" }) : null,
      ),
    ),
  );
}

/** @param {Ctx} ctx @param {string} from */
export const canAnswer = (ctx, from) => ctx.store.teammates.has(seatOf(from));

/** @param {Ctx} ctx @param {string} who */
function personLink(ctx, who) {
  if (who === "person") return "you";
  const seat = seatOf(who);
  return ctx.store.teammates.has(seat) ? el("a", { href: ctx.href(`team/${seat}`) }, nameOf(who)) : nameOf(who);
}

/** @param {Ctx} ctx @param {MessageRow} row */
const listed = (ctx, row) => (row.to ?? []).flatMap((one, i) => [i > 0 ? ", " : "", personLink(ctx, one.to)]);

/** @param {Ctx} ctx @param {MessageRow} row @param {HTMLElement} body */
function cutNote(ctx, row, body) {
  const note = el("p", { class: "hint" }, "Only the beginning is shown. ");
  note.append(
    button("Show all of it", async () => {
      try {
        /** @type {any} */
        const answer = await ctx.api.ask({ message_trace: { message: row.id } });
        put(body, String(answer?.trace?.message?.body ?? row.body ?? ""));
        note.remove();
      } catch (error) {
        ctx.complain(error);
      }
    }, { kind: "quiet" }),
  );
  return note;
}

/** How far it got with each; many recipients are counted by state first. @param {MessageRow} row */
function deliveries(row) {
  const to = row.to ?? [];
  /** @param {NonNullable<MessageRow["to"]>[number]} one */
  const line = (one) =>
    el(
      "li",
      { class: "delivery" },
      to.length > 1 ? el("span", { class: "delivery-to" }, called(one.to)) : null,
      delivered(one),
      el("time", { class: "dim small", title: moment(one.at), datetime: new Date(one.at).toISOString() }, clock(one.at)),
      one.detail ? el("span", { class: "dim small wrap" }, one.detail) : null,
    );
  if (to.length <= NAMED) return el("ul", { class: "deliveries", "aria-label": "Delivery" }, to.map(line));
  /** @type {Map<string, typeof to>} */
  const sums = new Map();
  for (const one of to) sums.set(one.state, [...(sums.get(one.state) ?? []), one]);
  return el(
    "details",
    { class: "deliveries-many" },
    el(
      "summary",
      null,
      [...sums.values()].flatMap((same) => {
        const node = delivered(/** @type {(typeof to)[number]} */ (same[0]));
        node.querySelector(".word")?.prepend(`${same.length} `);
        return [node, " "];
      }),
    ),
    el("ul", { class: "deliveries", "aria-label": "Delivery" }, to.map(line)),
  );
}
