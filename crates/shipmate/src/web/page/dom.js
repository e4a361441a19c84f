// Builds the page's nodes. What must hold: text from the team (a subject, a message, a file
// name, an agent's output) only ever becomes a text node or an attribute value that cannot
// run; nothing here or elsewhere parses a string as markup. Absent on purpose: a virtual
// tree. Screens keep the nodes they made and change them.

/** @typedef {Node | string | number | false | null | undefined} Child */
/**
 * @typedef {{
 *   class?: string,
 *   on?: { [name: string]: (event: any) => void },
 *   data?: { [name: string]: string | number },
 *   [name: string]: any,
 * }} Props
 */

/**
 * An element. A prop is an attribute: `true` sets it empty, `false`, `null` and `undefined`
 * leave it out. `on` holds listeners, `data` the data-attributes.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  if (props) dress(node, props);
  fill(node, children);
  return node;
}

/**
 * Text as it stands there: marks that make a browser write backwards are shown instead of obeyed,
 * else `rm -rf` could be read as something else by whoever is asked to allow it.
 * @param {string} text
 */
export function honest(text) {
  return text.replace(
    /[\u202a-\u202e\u2066-\u2069]/g,
    (mark) => `\\u{${mark.charCodeAt(0).toString(16)}}`,
  );
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * The same for drawings.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, props, ...children) {
  const node = /** @type {SVGElementTagNameMap[T]} */ (document.createElementNS(SVG, tag));
  if (props) dress(node, props);
  fill(node, children);
  return node;
}

/** @param {Element} node @param {Props} props */
function dress(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") {
      for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    } else if (name === "data") {
      for (const [key, text] of Object.entries(value))
        node.setAttribute(`data-${key}`, String(text));
    } else if (name === "href") {
      link(node, String(value));
    } else if (name.startsWith("on") || name === "style" || name === "srcdoc") {
      throw new Error(`${name} is not set as an attribute`);
    } else {
      const said = value === true ? "" : String(value);
      node.setAttribute(name, name === "title" || name === "aria-label" ? honest(said) : said);
    }
  }
}

/**
 * Links stay inside the page: an address from elsewhere could be `javascript:`.
 * @param {Element} node @param {string} href
 */
function link(node, href) {
  if (!href.startsWith("#")) throw new Error("a link of this page begins with #");
  node.setAttribute("href", href);
}

/** @param {Node} node @param {(Child | Child[])[]} children */
function fill(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) fill(node, child);
    else if (child instanceof Node) node.appendChild(child);
    else if (child !== false && child !== null && child !== undefined) {
      node.appendChild(document.createTextNode(honest(String(child))));
    }
  }
}

/**
 * Puts these in place of all that is in it.
 * @param {Element} node @param {...(Child | Child[])} children
 */
export function put(node, ...children) {
  node.replaceChildren();
  fill(node, children);
}

/**
 * Sets the text only where it differs, so that a tick without news touches nothing.
 * @param {Node} node @param {string} text
 */
export function setText(node, text) {
  const now = honest(text);
  if (node.textContent !== now) node.textContent = now;
}

/** @param {Element} node @param {string} name @param {string | null} value */
export function setAttr(node, name, value) {
  if (node.getAttribute(name) === value) return;
  if (value === null) node.removeAttribute(name);
  else node.setAttribute(name, value);
}

/** @type {WeakMap<Element, string>} */
const filled = new WeakMap();

/**
 * Puts anew what `make` gives only where `sign` differs from last time. What has the focus gets
 * it back where its like is still there: news must not throw a person out of a button.
 * @param {Element} node @param {unknown} sign @param {() => (Child | Child[])[]} make
 */
export function refill(node, sign, make) {
  const now = JSON.stringify(sign);
  if (filled.get(node) === now) return;
  filled.set(node, now);
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  put(node, ...make());
  if (!focused || node.contains(document.activeElement)) return;
  const like = [...node.querySelectorAll(focused.tagName)].find(
    (one) => one.textContent === focused.textContent,
  );
  if (like instanceof HTMLElement) like.focus({ preventScroll: true });
}

/**
 * Makes `parent` hold one node per item, in order, keeping the nodes of keys that stay.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => HTMLElement} make
 * @param {(node: HTMLElement, item: T) => void} [change]
 */
export function keep(parent, items, key, make, change) {
  /** @type {Map<string, HTMLElement>} */
  const old = new Map();
  for (const node of parent.children) {
    if (node instanceof HTMLElement && node.dataset.key !== undefined)
      old.set(node.dataset.key, node);
  }
  /** @type {ChildNode | null} */
  let at = parent.firstChild;
  for (const item of items) {
    const name = key(item);
    let node = old.get(name);
    if (node) {
      old.delete(name);
      change?.(node, item);
    } else {
      node = make(item);
      node.dataset.key = name;
    }
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/**
 * @param {string} label @param {(event: MouseEvent) => void} run
 * @param {{ kind?: "plain" | "main" | "danger" | "quiet", title?: string, key?: string, disabled?: boolean }} [more]
 */
export function button(label, run, more = {}) {
  return el(
    "button",
    {
      type: "button",
      class: `button ${more.kind ?? "plain"}`,
      title: more.title,
      disabled: more.disabled,
      "aria-keyshortcuts": more.key,
      on: { click: run },
    },
    label,
    more.key ? el("kbd", { "aria-hidden": "true" }, more.key) : null,
  );
}

/**
 * A state: its sign, which only eyes need, and its word.
 * @param {{ key: string, sign: string, word: string }} state
 */
export function badge(state) {
  return el(
    "span",
    { class: "state", data: { state: state.key } },
    el("span", { class: "sign", "aria-hidden": "true" }, state.sign),
    el("span", { class: "word" }, state.word),
  );
}

/**
 * Words in which `such` parts are things to type: they become code.
 * @param {string} text @returns {(Node | string)[]}
 */
export function prose(text) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? el("code", null, part) : part));
}

/**
 * What there is instead of a list that is empty: the fact, and what to do.
 * @param {string} title @param {...(string | HTMLElement | null)} more
 */
export function empty(title, ...more) {
  return el(
    "div",
    { class: "empty" },
    el("p", { class: "empty-title" }, prose(title)),
    more.map((one) => (typeof one === "string" ? el("p", null, prose(one)) : one)),
  );
}
