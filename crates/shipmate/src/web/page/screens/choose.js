// Where no team is named: all trees of teams that this server shows, or straight on to the
// only one. Without a stream: it is looked at for a moment.

/** @import { Screen, TeamView } from "../types.d.ts" */

import { Refused, get } from "../api.js";
import { badge, el, empty } from "../dom.js";
import { count, money } from "../words.js";

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
            "Or see one at work, without a key and without a network: ",
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
  };
}

/** @param {TeamView} team @param {number} children */
function row(team, children) {
  const { pending, in_progress, completed, failed } = team.tasks;
  const state = team.paused
    ? { key: "returned", sign: "‖", word: "paused" }
    : team.phase === "ending"
      ? { key: "submitted", sign: "◑", word: "ending" }
      : team.running > 0
        ? { key: "claimed", sign: "◐", word: "working" }
        : { key: "pending", sign: "○", word: "quiet" };
  return el(
    "li",
    null,
    el(
      "a",
      { class: "box team-link", href: `#/${encodeURIComponent(team.name)}/board` },
      el("span", { class: "team-link-head" }, el("strong", null, team.name), badge(state)),
      team.description ? el("span", { class: "soft cut" }, team.description) : null,
      el(
        "span",
        { class: "dim small" },
        [
          `${completed} of ${count(pending + in_progress + completed + failed, "task")} completed`,
          failed ? `${failed} failed` : "",
          count(team.teammates, "teammate"),
          children ? count(children, "department") : "",
          money(team.cost_micros),
        ]
          .filter(Boolean)
          .join(" · "),
      ),
    ),
  );
}
