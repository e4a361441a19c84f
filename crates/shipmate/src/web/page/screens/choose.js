// Where no team is named: all trees of teams that this server shows, or straight on to the
// only one. Without a stream: it is looked at for a moment.

/** @import { Screen, TeamView } from "../types.d.ts" */

import { Refused, get } from "../api.js";
import { badge, el, empty } from "../dom.js";
import { cost, count, pauseWords } from "../words.js";

/**
 * @param {{ go: (root: string) => void, refused: (error: Refused) => void }} ctx
 * @returns {Promise<Screen | null>}
 */
export async function open(ctx) {
  /** @type {{ teams?: TeamView[] }} */
  let found;
  try {
    found = await get("/api/teams");
  } catch (error) {
    ctx.refused(error instanceof Refused ? error : new Refused(String(error), "", 0, ""));
    return null;
  }
  const teams = found.teams ?? [];
  const roots = teams.filter((team) => !team.parent && team.phase !== "deleted");
  const only = roots[0];
  if (roots.length === 1 && only) {
    ctx.go(only.name);
    return null;
  }
  const body =
    roots.length === 0
      ? empty(
          "There is no team yet.",
          el(
            "p",
            null,
            "Start one in your repository: ",
            el("code", null, 'shipmate run "what you want"'),
          ),
          el(
            "p",
            null,
            "Or see one at work, without an account and without a network: ",
            el("code", null, "shipmate demo"),
          ),
          el(
            "p",
            null,
            el("a", { href: "#/", on: { click: () => location.reload() } }, "Look again"),
          ),
        )
      : el(
          "ul",
          { class: "teams" },
          roots.map((team) => row(team, teams.filter((one) => one.parent === team.name).length)),
        );
  return {
    node: el(
      "div",
      { class: "screen scroll" },
      el("div", { class: "page" }, el("h1", null, roots.length ? "Teams" : "No team"), body),
    ),
    title: "Teams",
    update() {},
    keys: {
      j: { does: "next team", run: () => step(body, 1) },
      k: { does: "team before", run: () => step(body, -1) },
      ArrowDown: { does: "next team", run: () => step(body, 1) },
      ArrowUp: { does: "team before", run: () => step(body, -1) },
      Enter: { does: "open", run: () => body.querySelector("a")?.click() },
    },
  };
}

/** @param {HTMLElement} body @param {number} by */
function step(body, by) {
  const links = [...body.querySelectorAll("a")];
  const now = links.findIndex((link) => link === document.activeElement);
  const next = now < 0 ? 0 : Math.min(links.length - 1, Math.max(0, now + by));
  links[next]?.focus();
}

/** @param {TeamView} team @param {number} children */
function row(team, children) {
  const { pending, in_progress, completed, failed } = team.tasks;
  const state = team.paused !== undefined
    ? { key: "returned", sign: "‖", word: pauseWords(team).word }
    : team.phase === "ending"
      ? { key: "submitted", sign: "◑", word: "ending" }
      : in_progress > 0
        ? { key: "claimed", sign: "◐", word: "working" }
        : { key: "pending", sign: "○", word: "quiet" };
  return el(
    "li",
    null,
    el(
      "a",
      { class: "box team-link", href: `#/${encodeURIComponent(team.name)}/board` },
      el("span", { class: "team-link-head" }, el("strong", null, team.name), badge(state),
        failed > 0 ? badge({ key: "failed", sign: "✕", word: `${failed} failed` }) : null,
      ),
      team.description ? el("span", { class: "soft cut" }, team.description) : null,
      el(
        "span",
        { class: "dim small" },
        [
          `${completed} of ${count(pending + in_progress + completed + failed, "task")} completed`,
          in_progress ? `${in_progress} in progress` : "",
          count(team.teammates, "teammate"),
          children ? count(children, "department") : "",
          cost(team),
        ]
          .filter(Boolean)
          .join(" · "),
      ),
    ),
  );
}
