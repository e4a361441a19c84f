// Dialogs: a form, a yes-or-no, and a plain one. The browser's own <dialog> keeps focus inside,
// gives it back and closes on Esc. What must hold: what a person typed is not lost because the
// server refused it, nor because the dialog was closed; the refusal is shown in the form, beside
// the words it is about. Enter sends from one-line fields, Ctrl with Enter from all.

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
 *   placeholder?: string,
 *   options?: { value: string, label: string }[],
 *   suggest?: string[],
 *   max?: number,
 *   half?: boolean,
 * }} Field
 */

/** Half-written words of one kind, kept while the tab is open. @param {string} kind */
export function draft(kind) {
  const key = `shipmate.draft.${kind}`;
  return {
    /** @returns {Record<string, string> | null} */
    get() {
      try {
        return JSON.parse(sessionStorage.getItem(key) ?? "null");
      } catch {
        return null;
      }
    },
    /** @param {Record<string, string> | null} values */
    set(values) {
      if (values) sessionStorage.setItem(key, JSON.stringify(values));
      else sessionStorage.removeItem(key);
    },
  };
}

/** How long texts are sent, in the same words everywhere. */
export function sendHint() {
  return el(
    "span",
    { class: "dim small send-hint" },
    el("kbd", null, "Ctrl"),
    " ",
    el("kbd", null, "Enter"),
    " sends",
  );
}

/** What is said where somebody gives no reason. */
const NO_REASON = "by hand";

/** A reason that may be left out. @param {string} [hint] @returns {Field} */
export function reasonField(hint) {
  const field = { name: "reason", label: "Reason", placeholder: NO_REASON, max: 2000 };
  return hint ? { ...field, hint } : field;
}

/** @param {Record<string, string>} values */
export function reasonOf(values) {
  return values.reason?.trim() || NO_REASON;
}

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
 *   draft?: string,
 *   send: (values: Record<string, string>) => Promise<unknown>,
 * }} spec `draft` names what is half-written: it is there again when the form is opened next
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
    const kept = spec.draft ? draft(spec.draft) : null;
    const made = spec.fields.map(field);
    const first = made.map((one) => one.value());
    const restored = restore(spec.fields, made, kept?.get() ?? null);
    const again = el("div", { class: "form-text small", role: "status", hidden: !restored });
    const anew = button(
      "Begin anew",
      () => {
        made.forEach((one, at) => one.set(first[at] ?? ""));
        kept?.set(null);
        again.hidden = true;
        made[0]?.focus();
      },
      { kind: "quiet" },
    );
    put(again, "What you wrote before is here again. ", anew);
    const values = () => {
      /** @type {Record<string, string>} */
      const all = {};
      spec.fields.forEach((one, at) => (all[one.name] = made[at]?.value() ?? ""));
      return all;
    };
    const long = spec.fields.some((one) => one.kind === "long" || one.kind === "list");
    const node = el(
      "form",
      { class: "form", novalidate: true },
      el(
        "div",
        { class: "form-body" },
        spec.text ? el("div", { class: "form-text" }, spec.text) : null,
        again,
        made.map((one) => one.node),
      ),
      el(
        "div",
        { class: "dialog-foot" },
        problem,
        long ? sendHint() : null,
        button("Cancel", close),
        yes,
      ),
    );
    const send = async () => {
      const missing = spec.fields.findIndex((one, at) => one.required && !made[at]?.value().trim());
      if (missing >= 0) {
        tell(problem, `${spec.fields[missing]?.label} is empty.`, "Fill it in.");
        made[missing]?.focus();
        return;
      }
      if (yes.disabled) return;
      yes.disabled = true;
      problem.hidden = true;
      try {
        await spec.send(values());
        sent = true;
        kept?.set(null);
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
    if (kept)
      node.addEventListener("input", () => {
        const differs = made.some((one, at) => one.value() !== first[at]);
        kept.set(differs ? values() : null);
      });
    // Ctrl or Cmd with Enter sends from a long text too; of one-line fields a choice alone does
    // not send by itself.
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      if (event.ctrlKey || event.metaKey || event.target instanceof HTMLSelectElement) {
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

/** @typedef {{ node: HTMLElement, value: () => string, set: (text: string) => void, focus: () => void }} Made */

/**
 * Puts in what was kept; says whether that was anything.
 * @param {Field[]} fields @param {Made[]} made @param {Record<string, string> | null} kept
 */
function restore(fields, made, kept) {
  if (!kept) return false;
  fields.forEach((one, at) => {
    const text = kept[one.name];
    if (typeof text === "string") made[at]?.set(text);
  });
  return true;
}

/** @param {Field} spec @returns {Made} */
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
    set: (text) => {
      if (check) input.checked = text === "yes";
      else input.value = text;
    },
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
    placeholder: spec.placeholder,
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
