// The accounts that agents ask their models with, above the teams. One that nothing is known of is not shown.

/** @import { AccountView, Ctx, Window } from "./types.d.ts" */

import { badge, button, el, put } from "./dom.js";
import { share, when, windowWords } from "./words.js";

/** Something was told of it, or it is parked. @param {AccountView} account */
function isKnown(account) {
  return account.parked !== undefined || account.windows.length > 0;
}

/** @param {Ctx} ctx @param {(account: string) => void} resume */
export function accountsBox(ctx, resume) {
  const rows = el("tbody");
  const node = el(
    "section",
    { class: "box hosts-box", "aria-label": "Accounts" },
    el(
      "div",
      { class: "wide-box", tabindex: 0, role: "group", "aria-label": "Accounts and their windows" },
      el(
        "table",
        { class: "table" },
        el(
          "thead",
          null,
          el("tr", null, ["Account", "State", "Windows", "Teammates"].map((head) => el("th", { scope: "col" }, head))),
        ),
        rows,
      ),
    ),
  );
  const draw = () => {
    const accounts = ctx.store.accounts.filter(isKnown);
    node.hidden = accounts.length === 0;
    put(rows, accounts.map((account) => row(account, resume)));
  };
  draw();
  return { node, draw };
}

/** @param {AccountView} account @param {(account: string) => void} resume */
function row(account, resume) {
  const { parked } = account;
  const state = parked
    ? { key: "returned", sign: "‖", word: "parked" }
    : account.held
      ? { key: "returned", sign: "‖", word: "at its cap" }
      : { key: "ready", sign: "◌", word: "open" };
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, account.name),
    el("td", null, badge(state), el("div", { class: "small soft" }, parked ? until(parked) : (account.held ?? ""))),
    el("td", { class: "grow" }, account.windows.length ? account.windows.map(meter) : "nothing is known of its windows"),
    el(
      "td",
      null,
      String(account.teammates.length),
      parked || account.held ? el("div", null, button("Go on now", () => resume(account.name))) : null,
    ),
  );
}

/** @param {NonNullable<AccountView["parked"]>} parked */
function until(parked) {
  const end = parked.resumes
    ? `${parked.told ? "until" : "tried again at"} ${when(parked.until)}`
    : `until somebody lets it go on; its provider has room from ${when(parked.until)}`;
  return `${end}: ${parked.reason}`;
}

/** @param {Window} window */
function meter(window) {
  const used = window.used ?? 0;
  const reset = window.resets_at ? `, reset at ${when(window.resets_at)}` : "";
  return el(
    "div",
    { class: "small" },
    el("meter", { min: 0, max: 1000, high: 900, value: Math.min(used, 1000), "aria-label": `${window.name} used` }),
    ` ${window.name} ${share(used)}${reset}`,
  );
}

/** An account and what is left of it, in a line. @param {Ctx} ctx @param {string} name */
export function accountWords(ctx, name) {
  const account = ctx.store.accounts.find((one) => one.name === name);
  if (!account) return name;
  if (account.parked) return `${name}: parked ${until(account.parked)}`;
  return account.windows.length ? `${name}: ${windowWords(account.windows)}` : name;
}

/** A line above the board: why nothing moves. @param {AccountView} account */
export function parkedLine(account) {
  const { parked } = account;
  const [word, why] = parked ? ["is parked", until(parked)] : ["is at its cap:", account.held ?? ""];
  return el(
    "div",
    { class: "strip-line" },
    el("span", null, el("strong", null, `‖ Account ${account.name} ${word}`), ` ${why}`),
  );
}
