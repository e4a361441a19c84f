// What went wrong, in words for the place where something should have been: the fact, and what to
// do about it where that is known.

import { Refused } from "../api.js";

/** @param {unknown} error */
export function told(error) {
  if (error instanceof Refused) return [error.message, error.remedy].filter(Boolean).join(" ");
  return error instanceof Error ? error.message : String(error);
}
