// The parts that show a teammate, on the team's screen and on its own: state and why, context,
// sign of life, tasks in hand.

/** @import { Ctx, TeammateView } from "./types.d.ts" */

import { el, setText } from "./dom.js";
import { age, ago, percent, taskState, tokens } from "./words.js";

/**
 * The fill of its context; red words near the end, because an agent then forgets.
 * @param {TeammateView} mate
 */
export function contextBar(mate) {
  const { context_used: used, context_max: max } = mate;
  if (used === undefined || used === null || !max) return el("span", { class: "dim small" }, "–");
  const share = Math.min(1, used / max);
  const level = share > 0.9 ? "high" : share > 0.75 ? "warm" : "calm";
  const fill = el("span", { class: "meter-fill", data: { level } });
  fill.style.width = `${Math.round(share * 100)}%`;
  const words = `${tokens(used)} of ${tokens(max)} tokens of context`;
  return el(
    "span",
    { class: "meter-box", title: words },
    el(
      "span",
      { class: "meter", role: "img", "aria-label": `Context ${percent(used, max)} full: ${words}` },
      fill,
    ),
    el("span", { class: "meter-word", "aria-hidden": "true" }, percent(used, max)),
  );
}

/**
 * A text that says how long ago it last showed a sign of life; `tick` renews it.
 * @param {Ctx} ctx @param {() => TeammateView | undefined} mate
 * @param {(ms: number) => string} [word]
 */
export function signOfLife(ctx, mate, word = age) {
  const node = el("span", { class: "life", title: "Last sign of life" });
  const tick = () => {
    const now = mate();
    const over = !now || now.state === "stopped" || now.state === "added";
    if (!now?.sign_at || over) setText(node, "–");
    else setText(node, word(Math.max(0, ctx.store.time() - now.sign_at)));
  };
  tick();
  return { node, tick };
}

/** What it works on, and what of it is in the gate. @param {Ctx} ctx @param {TeammateView} mate */
export function inHand(ctx, mate) {
  const ids = [
    ...new Set([...(mate.holds ?? []), ...(mate.returned ?? []), ...(mate.submitted ?? [])]),
  ];
  if (ids.length === 0) return [el("span", { class: "dim" }, "no task")];
  return ids.map((id) => {
    const card = ctx.store.tasks.get(id);
    const state = card ? taskState(card) : null;
    return el(
      "a",
      {
        class: "in-hand",
        href: ctx.href(`task/${id}`),
        title: card ? `${state?.word}: ${card.subject}` : undefined,
      },
      state
        ? el(
            "span",
            { class: "sign", data: { state: state.key }, "aria-hidden": "true" },
            state.sign,
          )
        : null,
      el("span", { class: "cut" }, `#${id}${card ? ` ${card.subject}` : ""}`),
      // The usual one is said by the teammate's own state; the others are for eyes too.
      state
        ? el(
            "span",
            { class: state.key === "claimed" ? "unseen" : "in-hand-word dim small" },
            state.key === "claimed" ? ` (${state.word})` : state.word,
          )
        : null,
    );
  });
}

/** What of it is shown, to see whether it differs. @param {Ctx} ctx @param {TeammateView} mate */
export function handSign(ctx, mate) {
  return [...(mate.holds ?? []), ...(mate.returned ?? []), ...(mate.submitted ?? [])].map((id) => {
    const card = ctx.store.tasks.get(id);
    return [id, card?.subject, card && taskState(card).key];
  });
}

/** Agent and model in one line. @param {TeammateView} mate */
export function program(mate) {
  const what = mate.agent || (mate.command ? "command" : "session");
  return mate.model ? `${what} · ${mate.model}` : what;
}

export { ago };
