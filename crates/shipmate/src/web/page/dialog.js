// Dialogs: a form, a yes-or-no, and a plain one. The browser's own <dialog> keeps focus inside,
// gives it back and closes on Esc. What must hold: what a person typed is not lost because the
// server refused it; the refusal is shown in the form, beside the words it is about.

import { button, el, prose, put } from "./dom.js";
import { Refused } from "./api.js";

/**
 * @typedef {{
 *   name: string,
 *   label: string,
 *   kind?: "text" | "long" | "number" | "select" | "check" | "list",
 *   value?: string,
 *   hint?: string,
 *   required?: boolean,
 *   options?: { value: string, label: string }[],
 *   suggest?: string[],
 *   max?: number,
 *   half?: boolean,
 * }} Field
 */

/** Whether a dialog is open: keys of the screen then rest. */
export function dialogOpen() {
  return document.querySelector("dialog[open]") !== null;
}

let serial = 0;

/**
 * A frame with a title; `fill` gets a way to close it. Resolves when it is closed.
 * @param {string} title
 * @param {(close: () => void) => (Node | null)[]} fill
 * @param {string} [size]
 * @returns {Promise<void>}
 */
export function show(title, fill, size = "") {
  return new Promise((done) => {
    const id = `dialog-${++serial}`;
    const node = el("dialog", { class: `dialog ${size}`, "aria-labelledby": id });
    const close = () => node.close();
    put(
      node,
      el(
        "div",
        { class: "dialog-head" },
        el("h2", { id }, title),
        el(
          "button",
          { type: "button", class: "icon-button", "aria-label": "Close", on: { click: close } },
          "✕",
        ),
      ),
      fill(close),
    );
    node.addEventListener("close", () => {
      node.remove();
      done();
    });
    // A click beside the dialog closes it, unless the press began inside (selecting text).
    let beside = false;
    node.addEventListener("pointerdown", (event) => (beside = event.target === node));
    node.addEventListener("click", (event) => {
      if (beside && event.target === node && !node.querySelector("form")) close();
    });
    document.body.append(node);
    node.showModal();
  });
}

/**
 * A form. `send` does the deed and throws `Refused` where it is refused: then the form stays
 * open and shows why. Resolves to whether it was sent.
 * @param {{
 *   title: string,
 *   text?: string | Node,
 *   fields: Field[],
 *   yes: string,
 *   danger?: boolean,
 *   send: (values: Record<string, string>) => Promise<unknown>,
 * }} spec
 * @returns {Promise<boolean>}
 */
export async function form(spec) {
  let sent = false;
  await show(spec.title, (close) => {
    const problem = el("div", { class: "problem", role: "alert", hidden: true });
    const yes = el(
      "button",
      { type: "submit", class: `button ${spec.danger ? "danger" : "main"}` },
      spec.yes,
    );
    const made = spec.fields.map(field);
    const node = el(
      "form",
      { class: "form", novalidate: true },
      el(
        "div",
        { class: "form-body" },
        spec.text ? el("div", { class: "form-text" }, spec.text) : null,
        made.map((one) => one.node),
      ),
      el("div", { class: "dialog-foot" }, problem, button("Cancel", close), yes),
    );
    const send = async () => {
      const missing = spec.fields.findIndex((one, at) => one.required && !made[at]?.value().trim());
      if (missing >= 0) {
        tell(problem, `${spec.fields[missing]?.label} is empty.`, "Fill it in.");
        made[missing]?.focus();
        return;
      }
      /** @type {Record<string, string>} */
      const values = {};
      spec.fields.forEach((one, at) => (values[one.name] = made[at]?.value() ?? ""));
      yes.disabled = true;
      problem.hidden = true;
      try {
        await spec.send(values);
        sent = true;
        close();
      } catch (error) {
        if (error instanceof Refused) tell(problem, error.message, error.remedy);
        else tell(problem, String(error), "");
      } finally {
        yes.disabled = false;
      }
    };
    node.addEventListener("submit", (event) => {
      event.preventDefault();
      void send();
    });
    // Ctrl or Cmd with Enter sends from a long text too.
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        void send();
      }
    });
    // Without fields the safe button has the focus when the deed cannot be undone.
    queueMicrotask(() => (made[0] ? made[0].focus() : spec.danger ? null : yes.focus()));
    return [node];
  });
  return sent;
}

/**
 * @param {{ title: string, text: string | Node, yes: string, danger?: boolean, send: () => Promise<unknown> }} spec
 */
export function confirm(spec) {
  return form({ ...spec, fields: [] });
}

/** @param {HTMLElement} node @param {string} fact @param {string} remedy */
function tell(node, fact, remedy) {
  node.hidden = false;
  put(node, el("strong", null, prose(fact)), remedy ? el("span", null, " ", prose(remedy)) : null);
}

/** @param {Field} spec @returns {{ node: HTMLElement, value: () => string, focus: () => void }} */
function field(spec) {
  const id = `field-${++serial}`;
  const hint = spec.hint ? el("div", { class: "hint", id: `${id}-hint` }, spec.hint) : null;
  const input = control(spec, id, hint ? `${id}-hint` : null);
  const label = el(
    "label",
    { for: id },
    spec.label,
    spec.required ? el("span", { class: "must" }, " (needed)") : null,
  );
  const list = spec.suggest
    ? el(
        "datalist",
        { id: `${id}-list` },
        spec.suggest.map((value) => el("option", { value })),
      )
    : null;
  if (list) input.setAttribute("list", list.id);
  const check = input instanceof HTMLInputElement && input.type === "checkbox";
  return {
    node: check
      ? el("div", { class: "field check" }, input, label, hint)
      : el("div", { class: spec.half ? "field half" : "field" }, label, input, list, hint),
    value: () => (check ? (input.checked ? "yes" : "") : input.value),
    focus: () => input.focus(),
  };
}

/** @param {Field} spec @param {string} id @param {string | null} described */
function control(spec, id, described) {
  const props = {
    id,
    name: spec.name,
    "aria-describedby": described,
    required: spec.required,
    autocomplete: "off",
  };
  switch (spec.kind ?? "text") {
    case "long":
    case "list": {
      const area = el("textarea", {
        ...props,
        rows: spec.kind === "list" ? 2 : 5,
        maxlength: spec.max ?? 100_000,
      });
      area.value = spec.value ?? "";
      return area;
    }
    case "select": {
      const select = el(
        "select",
        props,
        (spec.options ?? []).map((one) => el("option", { value: one.value }, one.label)),
      );
      select.value = spec.value ?? spec.options?.[0]?.value ?? "";
      return select;
    }
    case "check": {
      const box = el("input", { ...props, type: "checkbox" });
      box.checked = spec.value === "yes";
      return box;
    }
    case "number": {
      const box = el("input", { ...props, type: "text", inputmode: "numeric" });
      box.value = spec.value ?? "";
      return box;
    }
    default: {
      const box = el("input", { ...props, type: "text", maxlength: spec.max ?? 2000 });
      box.value = spec.value ?? "";
      return box;
    }
  }
}

/** The entries of a list field: one per line or comma. @param {string | undefined} text */
export function entries(text) {
  return (text ?? "")
    .split(/[\n,]/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}
