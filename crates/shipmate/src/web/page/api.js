// The one door to the server. Every request carries the page's token; a refusal arrives as an
// error with the fact and the remedy in words for people. No retries here: an ask changes
// something, so it is the person who asks again.

/** @import { RootApi } from "./types.d.ts" */

/** What the server would not do, or that it could not be reached. */
export class Refused extends Error {
  /** @param {string} message @param {string} remedy @param {number} status @param {string} code */
  constructor(message, remedy, status, code) {
    super(message);
    this.name = "Refused";
    this.remedy = remedy;
    this.status = status;
    this.code = code;
  }

  /** The page's token is not, or no longer, good. */
  get locked() {
    return this.status === 401;
  }
}

const KEY = "shipmate.token";

/**
 * The token of the link that was opened: out of the address at once, so that it is not shared.
 * Any page anywhere can open a link to this one, so a token that opens nothing replaces none.
 */
export async function takeToken() {
  const found = /^#token=([0-9a-fA-F]+)$/.exec(location.hash)?.[1];
  if (found) {
    history.replaceState(null, "", "#/");
    if (!localStorage.getItem(KEY) || (await opens(found))) localStorage.setItem(KEY, found);
  }
  return localStorage.getItem(KEY) ?? "";
}

/** @param {string} token */
async function opens(token) {
  const headers = { authorization: `Bearer ${token}` };
  const asked = fetch("/api/teams", { headers, cache: "no-store", credentials: "omit" });
  // Where nobody answers nothing is known against it.
  return (await asked.catch(() => null))?.status !== 401;
}

/** @param {string} path @param {RequestInit} [init] @returns {Promise<Response>} */
export async function request(path, init = {}) {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${localStorage.getItem(KEY) ?? ""}`);
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { ...init, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(
      "The server does not answer.",
      "Is `shipmate serve` still running?",
      0,
      "unreachable",
    );
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** @param {Response} response */
async function refusal(response) {
  /** @type {any} */
  let body = null;
  try {
    body = await response.json();
  } catch {
    // A refusal without words: the status is all there is.
  }
  const told = body?.refused ?? {};
  const message = told.message ?? `The server answered ${response.status}.`;
  return new Refused(message, told.remedy ?? "", response.status, told.code ?? "");
}

/** @template T @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
export async function get(path, signal) {
  const response = await request(path, signal ? { signal } : {});
  return /** @type {T} */ (await response.json());
}

/** The api of one tree of teams. @param {string} root @returns {RootApi} */
export function apiOf(root) {
  const base = `/api/t/${encodeURIComponent(root)}/`;
  return {
    get: (path, signal) => get(base + path, signal),
    async ask(ask, team, leaving = false) {
      const body = JSON.stringify(team && team !== root ? { team, ask } : { ask });
      const response = await request(`${base}ask`, {
        method: "POST",
        keepalive: leaving,
        headers: { "content-type": "application/json" },
        body,
      });
      const told = await response.json();
      if (told.refused) {
        const { message, remedy, code } = told.refused;
        throw new Refused(message, remedy ?? "", response.status, code ?? "");
      }
      return told.answer;
    },
  };
}
