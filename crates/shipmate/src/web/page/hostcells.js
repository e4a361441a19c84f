// The machines that share a team, above the teams. Where there is one machine nothing is shown.

/** @import { Ctx, HostView, TeammateView } from "./types.d.ts" */

import { badge, el, put, setText } from "./dom.js";
import { ago, hostState } from "./words.js";

/** Those that were not removed. @param {HostView[]} hosts */
export function present(hosts) {
  return hosts.filter((host) => host.state !== "left");
}

/** The machine somebody runs on, where there is another one. @param {HostView[]} hosts @param {TeammateView} mate */
export function hostOf(hosts, mate) {
  return present(hosts).length > 1 ? (mate.host ?? "") : "";
}

/** @param {Ctx} ctx */
export function hostsBox(ctx) {
  const rows = el("tbody");
  const node = el(
    "section",
    { class: "box hosts-box", "aria-label": "Hosts" },
    el(
      "div",
      { class: "wide-box", tabindex: 0, role: "group", "aria-label": "Hosts, their slots and signs" },
      el(
        "table",
        { class: "table" },
        el(
          "thead",
          null,
          el(
            "tr",
            null,
            ["Host", "State", "Slots", "Labels", "Last sign"].map((head) => el("th", { scope: "col" }, head)),
          ),
        ),
        rows,
      ),
    ),
  );
  /** @type {(() => void)[]} */
  let ticks = [];
  const draw = () => {
    const hosts = present(ctx.store.hosts);
    node.hidden = hosts.length === 0;
    ticks = [];
    put(rows, hosts.map((host) => row(ctx, host, ticks)));
  };
  draw();
  return { node, draw, tick: () => ticks.forEach((tick) => tick()) };
}

/** @param {Ctx} ctx @param {HostView} host @param {(() => void)[]} ticks */
function row(ctx, host, ticks) {
  const sign = el("span");
  const tick = () => {
    if (host.here) setText(sign, "this machine");
    else setText(sign, host.sign_at ? ago(Math.max(0, ctx.store.time() - host.sign_at)) : "not heard yet");
  };
  tick();
  ticks.push(tick);
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, host.name, " ", host.home ? el("span", { class: "chip" }, "home") : null),
    el(
      "td",
      null,
      badge(hostState(host)),
      host.lacks?.length ? el("div", { class: "small soft" }, "still gets the code") : null,
    ),
    el("td", null, slots(host)),
    el("td", { class: "grow" }, el("span", { class: "labels" }, host.labels.map((label) => el("span", { class: "chip" }, label)))),
    el("td", null, sign),
  );
}

/** @param {HostView} host */
function slots({ taken, slots: all }) {
  const fill = el("span", { class: "meter-fill" });
  fill.style.width = `${Math.min(100, Math.round((taken / all) * 100))}%`;
  return el(
    "span",
    { class: "meter-box" },
    el("span", { class: "meter", "aria-hidden": "true" }, fill),
    el("span", { class: "meter-word" }, `${taken} of ${all}`),
  );
}
