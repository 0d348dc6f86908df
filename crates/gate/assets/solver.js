// Does the work of a challenge, in a worker: for each search asked for, finds a number from which a walk through a table
// ends at a number that begins with zeros. crates/gate/src/challenge/work.rs says why it is made like this.
// Plain JavaScript on purpose: it needs nothing that a browser may lack or a visitor may have switched off.
"use strict";

const WORDS = 1 << 16;
const STEPS = 2048;
const SPREAD_0 = 0x9e3779b1 | 0;
const SPREAD_1 = 0x85ebca77 | 0;

const words = new Int32Array(WORDS);
let made = "";

// Makes the table of a challenge, once.
function make(seed) {
  const parts = [0, 8, 16, 24].map((at) => parseInt(seed.slice(at, at + 8), 16) | 0);
  if (made !== seed) {
    let word = parts[0] ^ parts[1];
    for (let i = 0; i < WORDS; i++) {
      word = (Math.imul(word ^ (word >>> 15), SPREAD_0) + parts[i & 3]) | 0;
      words[i] = word;
    }
    made = seed;
  }
  return parts;
}

function begin(number, key) {
  let x = Math.imul(number ^ key, SPREAD_0);
  x = Math.imul(x ^ (x >>> 15), SPREAD_1);
  return x ^ (x >>> 13);
}

function end(x) {
  x = Math.imul(x ^ (x >>> 16), SPREAD_1);
  return x ^ (x >>> 15);
}

// Eight walks side by side, written out: while one waits for memory the others go on.
function search(t, key, shift, steps) {
  for (let n = 0; n <= 0xffffffff; n += 8) {
    const n0 = n | 0, n1 = (n + 1) | 0, n2 = (n + 2) | 0, n3 = (n + 3) | 0;
    const n4 = (n + 4) | 0, n5 = (n + 5) | 0, n6 = (n + 6) | 0, n7 = (n + 7) | 0;
    let a = begin(n0, key), b = begin(n1, key), c = begin(n2, key), d = begin(n3, key);
    let e = begin(n4, key), f = begin(n5, key), g = begin(n6, key), h = begin(n7, key);
    for (let i = 0; i < steps; i++) {
      a = (Math.imul(a ^ t[a >>> 16], SPREAD_0) + n0) | 0;
      b = (Math.imul(b ^ t[b >>> 16], SPREAD_0) + n1) | 0;
      c = (Math.imul(c ^ t[c >>> 16], SPREAD_0) + n2) | 0;
      d = (Math.imul(d ^ t[d >>> 16], SPREAD_0) + n3) | 0;
      e = (Math.imul(e ^ t[e >>> 16], SPREAD_0) + n4) | 0;
      f = (Math.imul(f ^ t[f >>> 16], SPREAD_0) + n5) | 0;
      g = (Math.imul(g ^ t[g >>> 16], SPREAD_0) + n6) | 0;
      h = (Math.imul(h ^ t[h >>> 16], SPREAD_0) + n7) | 0;
      a = (a << 15) | (a >>> 17);
      b = (b << 15) | (b >>> 17);
      c = (c << 15) | (c >>> 17);
      d = (d << 15) | (d >>> 17);
      e = (e << 15) | (e >>> 17);
      f = (f << 15) | (f >>> 17);
      g = (g << 15) | (g >>> 17);
      h = (h << 15) | (h >>> 17);
    }
    if (end(a) >>> shift === 0) return n;
    if (end(b) >>> shift === 0) return n + 1;
    if (end(c) >>> shift === 0) return n + 2;
    if (end(d) >>> shift === 0) return n + 3;
    if (end(e) >>> shift === 0) return n + 4;
    if (end(f) >>> shift === 0) return n + 5;
    if (end(g) >>> shift === 0) return n + 6;
    if (end(h) >>> shift === 0) return n + 7;
  }
  throw new Error("no number");
}

// Short searches before the first real one. Without them the engine compiles the search within its first loop, and has to compile it again
// for each way out of that loop: a new worker would need half as long again for a challenge.
for (let i = 0; i < 3000; i++) search(words, i, 31, 4);

// The number for one search.
function solve(seed, bits, part) {
  // Sixteen searches stand for four bits.
  const zeros = Math.max(0, bits - 4);
  if (zeros === 0) return 0;
  const parts = make(seed);
  return search(words, (parts[3] + Math.imul(part, SPREAD_1)) | 0, 32 - zeros, STEPS);
}

if (typeof module === "object") {
  module.exports = solve;
} else {
  onmessage = (event) => {
    const { seed, bits, part } = event.data;
    postMessage({ part, number: solve(seed, bits, part) });
  };
}
