// The page's colours for a canvas, which knows neither variables nor `light-dark()`: an element in
// between turns each token into a plain colour, in the theme of the moment.

import { el } from "../dom.js";

/**
 * `inkOf(node)("accent")` is a colour; `"font"` is the family of the page's texts.
 * @param {HTMLElement} node
 * @returns {(token: string) => string}
 */
export function inkOf(node) {
  /** @type {Map<string, string>} */
  const known = new Map([["font", getComputedStyle(node).fontFamily]]);
  return (token) => {
    let colour = known.get(token);
    if (colour === undefined) {
      const probe = el("span", { hidden: true });
      probe.style.color = `var(--${token})`;
      node.append(probe);
      colour = getComputedStyle(probe).color;
      probe.remove();
      known.set(token, colour);
    }
    return colour;
  };
}
