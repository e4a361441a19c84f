// A long list of rows of one height: only those in sight are in the page. Rows are made anew when
// they come into sight and when the list says that they changed; a row keeps no state of its own.

import { el } from "../dom.js";

const SPARE = 6;

/**
 * @param {object} how
 * @param {string} how.label   what the list holds, for those who hear it
 * @param {number} how.height  of one row, in pixels
 * @param {() => number} how.count
 * @param {(index: number) => HTMLElement} how.make
 */
export function rows({ label, height, count, make }) {
  const inner = el("div", { class: "rows-inner", role: "list", "aria-label": label });
  const node = el("div", { class: "rows", tabindex: 0, role: "group", "aria-label": label }, inner);
  /** @type {Map<number, HTMLElement>} */
  const shown = new Map();

  const fill = () => {
    const total = count();
    const first = Math.max(0, Math.floor(node.scrollTop / height) - SPARE);
    const last = Math.min(total, Math.ceil((node.scrollTop + node.clientHeight) / height) + SPARE);
    for (const [index, row] of shown) {
      if (index >= first && index < last) continue;
      if (row.contains(document.activeElement)) continue;
      row.remove();
      shown.delete(index);
    }
    for (let index = first; index < last; index++) {
      if (shown.has(index)) continue;
      const row = make(index);
      row.classList.add("row");
      row.setAttribute("role", "listitem");
      row.setAttribute("aria-setsize", String(total));
      row.setAttribute("aria-posinset", String(index + 1));
      row.style.transform = `translateY(${index * height}px)`;
      row.style.height = `${height}px`;
      const next = [...shown].filter(([i]) => i > index).sort((a, b) => a[0] - b[0])[0]?.[1];
      inner.insertBefore(row, next ?? null);
      shown.set(index, row);
    }
  };

  const refresh = () => {
    const focused = [...shown].find(([, row]) => row.contains(document.activeElement))?.[0];
    for (const row of shown.values()) row.remove();
    shown.clear();
    inner.style.height = `${count() * height}px`;
    fill();
    if (focused !== undefined) focus(focused);
  };

  /** @param {number} index */
  const reveal = (index) => {
    const top = index * height;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + node.clientHeight) {
      node.scrollTop = top + height - node.clientHeight;
    }
    fill();
  };

  /** @param {number} index */
  const focus = (index) => {
    reveal(index);
    const row = shown.get(index);
    const inside = row?.querySelector("a, button, input, textarea, select");
    if (inside instanceof HTMLElement) inside.focus({ preventScroll: true });
  };

  node.addEventListener("scroll", fill, { passive: true });
  const watched = new ResizeObserver(fill);
  watched.observe(node);
  return { node, refresh, reveal, focus, close: () => watched.disconnect() };
}
