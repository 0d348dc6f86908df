// Runs on the challenge page: has workers do the work, sends the answer and opens the page first asked for.
"use strict";

(() => {
  const PARTS = 16;
  const WORKERS_MAX = 8;
  // The challenge of the page and two new ones; where cookies seem to be refused, one new one.
  const ROUNDS_MAX = 3;
  const ROUNDS_WITHOUT_COOKIE_MAX = 2;
  // A page that comes back this soon after its challenge was solved, this often, has lost its cookie.
  const RETURN_MS = 60000;
  const RETURNS_MAX = 2;

  const page = document.getElementById("cattlegrid");
  const status = document.getElementById("status");
  const left = document.getElementById("left");
  const bar = document.getElementById("progress");
  const again = document.getElementById("again");
  // A question instead, where the site asks one.
  const instead = document.getElementById("instead");
  const say = page.dataset;

  const stop = (text) => {
    status.textContent = text;
    left.textContent = "";
    bar.hidden = true;
    again.hidden = false;
    again.focus();
  };

  const fail = () => {
    stop(say.failed);
    if (!instead) return;
    instead.elements.token.value = say.token;
    instead.hidden = false;
  };

  // How often this tab solved a challenge and met the next one all the same. Storage may be refused like cookies.
  const returns = () => {
    try {
      const [count, time] = JSON.parse(sessionStorage.getItem("cattlegrid")) || [0, 0];
      return Date.now() - time < RETURN_MS ? count : 0;
    } catch (_) {
      return 0;
    }
  };
  const remember = (count) => {
    try {
      sessionStorage.setItem("cattlegrid", JSON.stringify([count, Date.now()]));
    } catch (_) {
      // Then nothing is remembered, and the visitor can leave the page himself.
    }
  };

  const open = (path) => {
    status.textContent = say.done;
    left.textContent = "";
    bar.value = PARTS;
    const target = new URL(path, location.href);
    if (target.origin !== location.origin) return location.replace("/");
    // The same address again: a reload keeps what stands behind its '#', a replacement would not load at all.
    if (target.pathname + target.search === location.pathname + location.search) return location.reload();
    location.replace(target.href);
  };

  // All numbers of a puzzle. Workers go on when the tab is in the background.
  const work = (puzzle) =>
    new Promise((resolve, reject) => {
      const found = new Array(PARTS);
      const began = performance.now();
      const workers = [];
      let next = 0;
      let done = 0;
      const end = () => workers.forEach((worker) => worker.terminate());
      const give = (worker) => {
        if (next < PARTS) worker.postMessage({ seed: puzzle.seed, bits: puzzle.bits, part: next++ });
      };
      const count = Math.min(WORKERS_MAX, Math.max(1, navigator.hardwareConcurrency || 2));
      for (let i = 0; i < count; i++) {
        const worker = new Worker(say.solver);
        workers.push(worker);
        worker.onerror = (event) => {
          end();
          reject(event);
        };
        worker.onmessage = (event) => {
          found[event.data.part] = event.data.number;
          bar.value = ++done;
          const seconds = Math.round(((performance.now() - began) / done) * (PARTS - done) / 1000);
          left.textContent = seconds > 1 ? say.left.replace("{n}", seconds) : "";
          if (done === PARTS) {
            end();
            resolve(found);
          } else {
            give(worker);
          }
        };
        give(worker);
      }
    });

  const post = async (name, body) => {
    const answer = await fetch(say.prefix + name, {
      method: "POST",
      credentials: "same-origin",
      cache: "no-store",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body,
    });
    return answer.json();
  };

  const run = async () => {
    let puzzle = { token: say.token, seed: say.seed, bits: Number(say.bits) };
    let withoutCookie = 0;
    for (let round = 1; ; round++) {
      bar.value = 0;
      const found = await work(puzzle);
      const answer = await post("answer", "token=" + puzzle.token + "&work=" + found.join("."));
      if (answer.ok) {
        remember(returns() + 1);
        return open(answer.return);
      }
      if (answer.refused === "no_cookie" && ++withoutCookie === ROUNDS_WITHOUT_COOKIE_MAX) return stop(say.cookies);
      if (round === ROUNDS_MAX) return fail();
      status.textContent = say.repeated;
      puzzle = await post("challenge", "token=" + puzzle.token);
      // Another tab has solved one in the meantime.
      if (puzzle.cleared) return open(puzzle.return);
    }
  };

  const start = () => {
    again.hidden = true;
    bar.hidden = false;
    status.textContent = say.working;
    if (!navigator.cookieEnabled) return stop(say.cookies);
    run().catch(fail);
  };

  // A new page has a new challenge; this one may have expired.
  again.onclick = () => {
    remember(0);
    location.reload();
  };
  if (returns() >= RETURNS_MAX) stop(say.cookies);
  else start();
})();
