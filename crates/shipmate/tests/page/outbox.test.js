// Decisions that can be taken back for a few seconds. The timers are driven by hand, and the server
// is a list of what was asked.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Refused } from "../../src/web/page/api.js";
import { Outbox, UNDO_MS } from "../../src/web/page/outbox.js";

const listeners = new Map();
globalThis.addEventListener = (name, run) => listeners.set(name, run);
globalThis.removeEventListener = (name, run) => listeners.get(name) === run && listeners.delete(name);

beforeEach(() => listeners.clear());

/** An outbox with everything it does, in order. `answer` is what the server says. */
function outbox(t, answer = () => ({ done: { last: 7 } })) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const done = [];
  const api = {
    ask: async (ask, team, leaving) => {
      done.push(`ask ${ask} of ${team}${leaving ? ", leaving" : ""}`);
      return answer();
    },
  };
  const shell = {
    say: (text) => done.push(`say ${text}`),
    complain: (error) => done.push(`complain ${error.message}`),
  };
  const box = new Outbox(api, shell);
  box.shown = (refused) => refused && done.push(`refused ${refused.key}: ${refused.error.message}`);
  const hold = (key) => box.hold({ key, what: key, ask: `yes-${key}`, team: "alpha", done: `${key} is decided` });
  return { box, done, hold };
}

/** Lets everything run that waits for an answer. */
const settled = () => new Promise((done) => setImmediate(done));

test("a decision is sent when it can no longer be taken back, and not before", async (t) => {
  const { done, hold, box } = outbox(t);
  hold("a");
  t.mock.timers.tick(UNDO_MS - 1);
  assert.deepEqual([done, box.hides("a")], [[], true]);
  t.mock.timers.tick(1);
  await settled();
  assert.deepEqual(done, ["ask yes-a of alpha", "say a is decided"]);
});

test("what is taken back is never sent, and the others are", async (t) => {
  const { done, hold, box } = outbox(t);
  hold("a");
  hold("b");
  assert.equal(box.undo().key, "b");
  assert.equal(box.hides("b"), false);
  t.mock.timers.tick(UNDO_MS);
  await settled();
  assert.deepEqual(done, ["ask yes-a of alpha", "say a is decided"]);
  assert.equal(box.undo(), undefined);
});

test("the last one pressed is taken back first", (t) => {
  const { hold, box } = outbox(t);
  for (const key of ["a", "b", "c"]) hold(key);
  assert.deepEqual([box.undo(), box.undo(), box.undo()].map((held) => held.key), ["c", "b", "a"]);
});

test("each decision has its own time", async (t) => {
  const { done, hold, box } = outbox(t);
  hold("a");
  t.mock.timers.tick(3000);
  hold("b");
  t.mock.timers.tick(2000);
  await settled();
  assert.deepEqual(done, ["ask yes-a of alpha", "say a is decided"]);
  assert.deepEqual(box.held.map(({ key }) => key), ["b"]);
});

test("whoever leaves the page has decided: all is sent at once, and once", async (t) => {
  const { done, hold } = outbox(t);
  hold("a");
  hold("b");
  listeners.get("pagehide")();
  t.mock.timers.tick(UNDO_MS);
  await settled();
  const asked = done.filter((one) => one.startsWith("ask"));
  assert.deepEqual(asked, ["ask yes-a of alpha, leaving", "ask yes-b of alpha, leaving"]);
});

test("a closed outbox has sent what it held and listens no more", async (t) => {
  const { done, hold, box } = outbox(t);
  hold("a");
  box.close();
  await settled();
  assert.deepEqual([done, listeners.size], [["ask yes-a of alpha", "say a is decided"], 0]);
});

test("what was sent stays hidden until the answer's record is in the picture", async (t) => {
  const { hold, box } = outbox(t);
  hold("a");
  box.empty();
  box.look(new Set(["a"]), 1000);
  assert.equal(box.hides("a"), true, "nothing is answered yet");
  await settled();
  box.look(new Set(["a"]), 6);
  assert.equal(box.hides("a"), true, "record 7 is not there yet");
  box.look(new Set(["a"]), 7);
  assert.equal(box.hides("a"), false, "it was not settled by the answer");
});

test("what was sent is forgotten when the team's list has it no more", async (t) => {
  const { hold, box } = outbox(t);
  hold("a");
  box.empty();
  await settled();
  box.look(new Set(), 6);
  assert.equal(box.sent.size, 0);
});

test("an answer without a record hides nothing at the next look", async (t) => {
  const { hold, box } = outbox(t, () => null);
  hold("a");
  box.empty();
  await settled();
  box.look(new Set(["a"]), 1);
  assert.equal(box.hides("a"), false);
});

test("what waits no more is not sent, and is told to whoever looks", async (t) => {
  const { done, hold, box } = outbox(t);
  hold("a");
  hold("b");
  const gone = box.look(new Set(["b"]), 3);
  assert.deepEqual(gone.map(({ key }) => key), ["a"]);
  t.mock.timers.tick(UNDO_MS);
  await settled();
  assert.deepEqual(done, ["ask yes-b of alpha", "say b is decided"]);
});

test("a refusal is shown where the decision is, which can be decided again", async (t) => {
  const { done, hold, box } = outbox(t, () => {
    throw new Refused("plan 3 is decided", "", 200, "Decided");
  });
  hold("a");
  box.empty();
  await settled();
  assert.deepEqual(done, ["ask yes-a of alpha", "refused a: plan 3 is decided"]);
  assert.equal(box.hides("a"), false);
});

test("where nobody shows it, or the page is locked, the shell complains", async (t) => {
  const locked = outbox(t, () => {
    throw new Refused("no token", "", 401, "Locked");
  });
  locked.hold("a");
  locked.box.empty();
  await settled();
  assert.deepEqual(locked.done, ["ask yes-a of alpha", "complain no token"]);
});

test("a refusal after the screen was left is complained of", async (t) => {
  const { done, hold, box } = outbox(t, () => {
    throw new Refused("too late", "", 200, "");
  });
  box.shown = null;
  hold("a");
  box.empty();
  await settled();
  assert.deepEqual(done, ["ask yes-a of alpha", "complain too late"]);
});

test("what is not held cannot be sent", async (t) => {
  const { done, box } = outbox(t);
  await box.send("nothing");
  assert.deepEqual(done, []);
});
