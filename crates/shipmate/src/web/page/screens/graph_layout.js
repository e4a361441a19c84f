// Where each task of a dependency graph is drawn.
//
// Tasks stand in columns: a task's column is the length of the longest chain before it, so whatever
// stands left of it must be done first. Inside a column the order is chosen for few crossings, and
// heights so that edges run level. Nothing here knows a page, a clock of the team or a colour: the
// same tasks give the same drawing, in a browser and in a test.
//
// The work is bounded: sweeps end at a deadline, and edges over many columns are only led around
// tasks while there are few enough of them.

/**
 * @typedef {{ key: string, after: string[], group?: string }} Item
 *   `after`: keys of other items, or `group:NAME`
 * @typedef {object} Placed
 * @property {string[]} keys           an item's key, or `group:NAME`
 * @property {Map<string, number>} at  the other way round
 * @property {Float64Array} x          left edge
 * @property {Float64Array} y          upper edge
 * @property {Int32Array} layer
 * @property {Int32Array} from         edges, both ends as numbers into `keys`
 * @property {Int32Array} to
 * @property {(Float64Array | null)[]} bends  points x, y that an edge goes through in between
 * @property {number[][]} columns      who stands at x = number of column × BOX.stepX, from above
 * @property {number} width
 * @property {number} height
 * @property {number} crossings        −1 where they were not counted
 */

/** How large a task is drawn, in graph units; the same for all of a drawing. */
export const BOX = {
  width: 196,
  height: 46,
  gapX: 56,
  gapY: 14,
  /** Its texts are wrapped, as large as they can be read. */
  roomy: false,
  get stepX() {
    return this.width + this.gapX;
  },
  get stepY() {
    return this.height + this.gapY;
  },
};

/** As large as usual, for drawings of many tasks. */
export function usualBoxes() {
  Object.assign(BOX, { width: 196, height: 46, gapX: 56, roomy: false });
}

/**
 * Boxes for a drawing of few tasks, as laid out with the usual ones: as large as the room allows.
 * @param {Placed} placed @param {number} width @param {number} height of the room
 */
export function roomyBoxes(placed, width, height) {
  const across = Math.max(1, placed.columns.length);
  const down = Math.max(1, Math.round((placed.height + BOX.gapY) / BOX.stepY));
  const gapX = across > 4 ? 36 : 56;
  const within = (/** @type {number} */ n, /** @type {number} */ least, /** @type {number} */ most) =>
    Math.round(Math.min(most, Math.max(least, n)));
  Object.assign(BOX, {
    gapX,
    width: within((width - (across - 1) * gapX) / across, 150, 320),
    height: within((height - (down - 1) * BOX.gapY) / down, 46, 104),
    roomy: true,
  });
}

/** An edge that only passes a column needs less room than a task. */
const PASS_Y = 16;
const PASSES_MAX = 24_000;
const SWEEPS_MAX = 12;

/**
 * @param {Item[]} items
 * @param {{ budget_ms?: number, clock?: () => number }} [how]
 * @returns {Placed}
 */
export function layOut(items, how = {}) {
  const clock = how.clock ?? (() => performance.now());
  const deadline = clock() + (how.budget_ms ?? 350);
  const graph = connect(items);
  const layer = layers(graph);
  const alone = graph.keys.map((_, n) => degree(graph, n) === 0);
  const tall = tallest(graph.keys.length);
  const net = withPasses(graph, layer, alone, tall);
  const crossings = order(net, deadline, clock);
  const fold = net.rows.some((row) => row.length * BOX.stepY > tall && net.count === net.real);
  const spots = fold ? folded(net, tall) : level(net, heights(net, deadline, clock));
  return place(graph, layer, alone, net, spots, crossings);
}

/** A drawing taller than this is folded: a column of 2,000 tasks is no picture of anything. */
const tallest = (/** @type {number} */ count) =>
  Math.max(2400, 1.2 * Math.sqrt(count * BOX.stepX * BOX.stepY));

/**
 * @typedef {{ keys: string[], at: Map<string, number>, from: Int32Array, to: Int32Array,
 *   before: number[][], behind: number[][] }} Graph
 * @param {Item[]} items
 * @returns {Graph}
 */
function connect(items) {
  const keys = items.map((item) => item.key);
  const at = new Map(keys.map((key, n) => [key, n]));
  /** @type {number[]} */
  const from = [];
  /** @type {number[]} */
  const to = [];
  // A group stands between its members and who waits for it: one edge each, never all to all.
  const waited = new Set(items.flatMap((i) => i.after.filter((k) => k.startsWith("group:"))));
  for (const key of waited) {
    at.set(key, keys.length);
    keys.push(key);
  }
  items.forEach((item, n) => {
    for (const key of new Set(item.after)) {
      const other = at.get(key);
      if (other !== undefined && other !== n) from.push(other), to.push(n);
    }
    const group = item.group === undefined ? undefined : at.get(`group:${item.group}`);
    if (group !== undefined && !item.after.includes(`group:${item.group}`)) {
      from.push(n), to.push(group);
    }
  });
  /** @type {number[][]} */
  const before = keys.map(() => []);
  /** @type {number[][]} */
  const behind = keys.map(() => []);
  from.forEach((f, e) => {
    behind[f].push(to[e]);
    before[to[e]].push(f);
  });
  return { keys, at, from: Int32Array.from(from), to: Int32Array.from(to), before, behind };
}

/** @param {Graph} graph @param {number} n */
const degree = (graph, n) => graph.before[n].length + graph.behind[n].length;

/**
 * The longest chain before each node. The board refuses cycles; were there one, its nodes keep
 * the column they had reached, and the drawing is still a drawing.
 * @param {Graph} graph
 */
function layers(graph) {
  const layer = new Int32Array(graph.keys.length);
  const open = graph.before.map((list) => list.length);
  const queue = [...open.keys()].filter((n) => open[n] === 0);
  for (let head = 0; head < queue.length; head++) {
    const n = queue[head];
    for (const next of graph.behind[n]) {
      layer[next] = Math.max(layer[next], layer[n] + 1);
      if (--open[next] === 0) queue.push(next);
    }
  }
  return layer;
}

/**
 * What is ordered: nodes and, for edges over several columns, the places where they pass.
 * @typedef {{ rows: number[][], up: number[][], down: number[][], count: number, real: number,
 *   chains: (number[] | null)[] }} Net
 * @param {Graph} graph @param {Int32Array} layer @param {boolean[]} alone @param {number} tall
 * @returns {Net}
 */
function withPasses(graph, layer, alone, tall) {
  const real = graph.keys.length;
  const { from, to } = graph;
  const deepest = layer.reduce((most, l) => Math.max(most, l), 0);
  const pass = roomForPasses(graph, layer, alone, deepest, tall);
  /** @type {number[][]} */
  const rows = Array.from({ length: deepest + 1 }, () => []);
  /** @type {number[][]} */
  const up = Array.from({ length: real }, () => []);
  /** @type {number[][]} */
  const down = Array.from({ length: real }, () => []);
  for (const n of depthFirst(graph)) if (!alone[n]) rows[layer[n]].push(n);
  let count = real;
  /** @type {(number[] | null)[]} */
  const chains = [];
  for (let e = 0; e < from.length; e++) {
    let last = from[e];
    /** @type {number[] | null} */
    let chain = null;
    for (let l = layer[from[e]] + 1; pass && l < layer[to[e]]; l++) {
      const here = count++;
      up.push([last]), down.push([]);
      down[last].push(here);
      rows[l].push(here);
      (chain ??= []).push(here);
      last = here;
    }
    up[to[e]].push(last);
    down[last].push(to[e]);
    chains.push(chain);
  }
  return { rows, up, down, count, real, chains };
}

/**
 * @param {Graph} graph @param {Int32Array} layer @param {boolean[]} alone
 * @param {number} deepest @param {number} tall
 */
function roomForPasses({ from, to }, layer, alone, deepest, tall) {
  // Where passes begin and end, summed up afterwards: an edge may cross thousands of columns.
  const passes = new Int32Array(deepest + 2);
  let wanted = 0;
  for (let e = 0; e < from.length; e++) {
    if (layer[to[e]] - layer[from[e]] < 2) continue;
    wanted += layer[to[e]] - layer[from[e]] - 1;
    passes[layer[from[e]] + 1]++;
    passes[layer[to[e]]]--;
  }
  const height = new Float64Array(deepest + 1);
  layer.forEach((l, n) => (height[l] += alone[n] ? 0 : BOX.stepY));
  let open = 0;
  return wanted <= PASSES_MAX && height.every((h, l) => h + (open += passes[l]) * PASS_Y <= tall);
}

/** Neighbours first: what hangs together begins close together. @param {Graph} graph */
function depthFirst(graph) {
  const seen = new Uint8Array(graph.keys.length);
  /** @type {number[]} */
  const found = [];
  for (let start = 0; start < seen.length; start++) {
    const stack = [start];
    while (stack.length > 0) {
      const n = /** @type {number} */ (stack.pop());
      if (seen[n]) continue;
      seen[n] = 1;
      found.push(n);
      for (const list of [graph.before[n], graph.behind[n]]) {
        for (let i = list.length - 1; i >= 0; i--) if (!seen[list[i]]) stack.push(list[i]);
      }
    }
  }
  return found;
}

/**
 * Sweeps from left to right and back; each node goes to the mean of its neighbours' places. The
 * best order seen is kept: a sweep may make it worse.
 * @param {Net} net @param {number} deadline @param {() => number} clock
 */
function order(net, deadline, clock) {
  const { rows } = net;
  const rank = new Int32Array(net.count);
  // Relative, because without passes an edge ends in a column of any length.
  const place = new Float64Array(net.count);
  const number = (/** @type {number[]} */ row) =>
    row.forEach((n, i) => {
      rank[n] = i;
      place[n] = (i + 0.5) / row.length;
    });
  rows.forEach(number);
  const counted = everyEdgeIsShort(net, rows);
  let best = counted ? crossings(net, rank) : Infinity;
  let kept = rows.map((row) => row.slice());
  const mean = new Float64Array(net.count);
  for (let sweep = 0; sweep < SWEEPS_MAX && best > 0 && clock() < deadline; sweep++) {
    const forth = sweep % 2 === 0;
    for (let i = 1; i < rows.length; i++) {
      const row = rows[forth ? i : rows.length - 1 - i];
      const near = forth ? net.up : net.down;
      for (const n of row) mean[n] = meanOf(near[n], place, place[n]);
      row.sort((a, b) => mean[a] - mean[b] || place[a] - place[b]);
      number(row);
    }
    // Where nothing is counted, a later sweep is taken for the better one.
    const now = counted ? crossings(net, rank) : SWEEPS_MAX - sweep;
    if (now < best) {
      best = now;
      kept = rows.map((row) => row.slice());
    }
  }
  net.rows = kept;
  return counted ? best : -1;
}

/** @param {Net} net @param {number[][]} rows */
function everyEdgeIsShort(net, rows) {
  const row = new Int32Array(net.count);
  rows.forEach((list, l) => list.forEach((n) => (row[n] = l)));
  return net.down.every((list, n) => list.every((d) => row[d] === row[n] + 1));
}

/** @param {number[]} near @param {Float64Array} value @param {number} otherwise */
function meanOf(near, value, otherwise) {
  if (near.length === 0) return otherwise;
  let sum = 0;
  for (const n of near) sum += value[n];
  return sum / near.length;
}

/**
 * Pairs of edges between neighbouring columns that cross, counted with a tree of sums.
 * @param {Net} net @param {Int32Array} rank
 */
function crossings(net, rank) {
  let total = 0;
  for (let l = 0; l + 1 < net.rows.length; l++) {
    const size = net.rows[l + 1].length + 1;
    const sums = new Int32Array(size + 1);
    let seen = 0;
    for (const n of net.rows[l]) {
      const ends = net.down[n].map((d) => rank[d]).sort((a, b) => a - b);
      for (const end of ends) {
        let before = 0;
        for (let i = end + 1; i > 0; i -= i & -i) before += sums[i];
        total += seen - before;
      }
      for (const end of ends) {
        for (let i = end + 1; i <= size; i += i & -i) sums[i]++;
        seen++;
      }
    }
  }
  return total;
}

/**
 * Heights that keep the order and bring each node near the mean of its neighbours.
 * @param {Net} net @param {number} deadline @param {() => number} clock
 */
function heights(net, deadline, clock) {
  const { rows, up, down, real } = net;
  const y = new Float64Array(net.count);
  const room = (/** @type {number} */ n) => (n < real ? BOX.stepY : PASS_Y);
  for (const row of rows) {
    let sum = 0;
    for (const n of row) {
      y[n] = sum + room(n) / 2;
      sum += room(n);
    }
  }
  const wish = new Float64Array(net.count);
  for (let sweep = 0; sweep < 6 && (sweep === 0 || clock() < deadline); sweep++) {
    const forth = sweep % 2 === 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[forth ? i : rows.length - 1 - i];
      for (const n of row) {
        const near = forth ? up[n] : down[n];
        wish[n] = meanOf(near.length > 0 ? near : forth ? down[n] : up[n], y, y[n]);
      }
      settle(row, wish, y, room);
    }
  }
  return y;
}

/**
 * The heights nearest to the wishes that keep order and distance: neighbours that want to pass
 * each other are merged into a block that moves as one.
 * @param {number[]} row @param {Float64Array} wish @param {Float64Array} y
 * @param {(n: number) => number} room
 */
function settle(row, wish, y, room) {
  /** @type {{ mean: number, size: number }[]} */
  const blocks = [];
  const offset = new Float64Array(row.length);
  row.forEach((n, i) => {
    if (i > 0) offset[i] = offset[i - 1] + (room(row[i - 1]) + room(n)) / 2;
    let block = { mean: wish[n] - offset[i], size: 1 };
    for (let last = blocks.at(-1); last && last.mean > block.mean; last = blocks.at(-1)) {
      blocks.pop();
      const size = last.size + block.size;
      block = { mean: (last.mean * last.size + block.mean * block.size) / size, size };
    }
    blocks.push(block);
  });
  let i = 0;
  for (const block of blocks) {
    for (let k = 0; k < block.size; k++, i++) y[row[i]] = block.mean + offset[i];
  }
}

/**
 * Columns as they are ordered, one beside the other.
 * @typedef {{ column: Int32Array, top: Float64Array }} Spots
 * @param {Net} net @param {Float64Array} middle
 * @returns {Spots}
 */
function level(net, middle) {
  const column = new Int32Array(net.count);
  let lift = Infinity;
  net.rows.forEach((row, l) => {
    for (const n of row) {
      column[n] = l;
      lift = Math.min(lift, middle[n] - BOX.height / 2);
    }
  });
  return { column, top: middle.map((m) => m - lift - BOX.height / 2) };
}

/**
 * Each column as a block of several, in reading order, so that neighbours stay at one height.
 * @param {Net} net @param {number} tall
 * @returns {Spots}
 */
function folded(net, tall) {
  const column = new Int32Array(net.count);
  const top = new Float64Array(net.count);
  const high = Math.floor(tall / BOX.stepY);
  let first = 0;
  for (const row of net.rows) {
    const across = Math.max(1, Math.ceil(row.length / high));
    const lines = Math.ceil(row.length / across);
    row.forEach((n, i) => {
      column[n] = first + (i % across);
      top[n] = (Math.floor(i / across) + (high - lines) / 2) * BOX.stepY;
    });
    first += across;
  }
  return { column, top };
}

/**
 * @param {Graph} graph @param {Int32Array} layer @param {boolean[]} alone @param {Net} net
 * @param {Spots} spots @param {number} crossings
 * @returns {Placed}
 */
function place(graph, layer, alone, net, spots, crossings) {
  const count = graph.keys.length;
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  /** @type {number[][]} */
  const columns = [];
  let width = 0;
  let height = 0;
  for (const n of net.rows.flat()) {
    if (n >= count) {
      // An edge that passes under every task of its column is part of the drawing too.
      height = Math.max(height, spots.top[n] + (BOX.height + PASS_Y) / 2);
      continue;
    }
    x[n] = spots.column[n] * BOX.stepX;
    y[n] = spots.top[n];
    (columns[spots.column[n]] ??= []).push(n);
    width = Math.max(width, x[n] + BOX.width);
    height = Math.max(height, y[n] + BOX.height);
  }
  const single = [...alone.keys()].filter((n) => alone[n]);
  if (single.length > 0) {
    const block = gridBelow(single, x, y, width, height);
    width = Math.max(width, block.width);
    height = block.height;
    block.columns.forEach((row, c) => (columns[c] ??= []).push(...row));
  }
  const bends = net.chains.map((chain) => {
    if (chain === null) return null;
    const points = new Float64Array(chain.length * 2);
    chain.forEach((n, i) => {
      points[2 * i] = spots.column[n] * BOX.stepX;
      points[2 * i + 1] = spots.top[n] + BOX.height / 2;
    });
    return points;
  });
  const { keys, at, from, to } = graph;
  return { keys, at, x, y, layer, from, to, bends, columns, width, height, crossings };
}

/**
 * Tasks that nothing hangs on stand in a block of their own under the rest, in reading order.
 * @param {number[]} single @param {Float64Array} x @param {Float64Array} y
 * @param {number} width @param {number} height
 */
function gridBelow(single, x, y, width, height) {
  const square = Math.ceil(Math.sqrt((single.length * BOX.stepY * 1.6) / BOX.stepX));
  const fit = Math.floor((width + BOX.gapX) / BOX.stepX);
  const across = Math.max(1, Math.min(single.length, Math.max(square, fit)));
  const above = height > 0 ? height + 3 * BOX.gapY : 0;
  /** @type {number[][]} */
  const columns = Array.from({ length: across }, () => []);
  single.forEach((n, i) => {
    x[n] = (i % across) * BOX.stepX;
    y[n] = above + Math.floor(i / across) * BOX.stepY;
    columns[i % across].push(n);
  });
  const rows = Math.ceil(single.length / across);
  return {
    columns,
    width: across * BOX.stepX - BOX.gapX,
    height: above + rows * BOX.stepY - BOX.gapY,
  };
}
