"use strict";
// The table of sources: sorted, searched and paged here, so that a hundred thousand rows cost only the fifty that are shown.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const sources = data.source.split("\n");
  const count = data.requests.length;
  const rows = 50;
  const body = document.querySelector("#sources tbody");
  const status = document.getElementById("status");
  const numbers = new Intl.NumberFormat("en");
  let order = [], page = 0, key = "requests", descending = true, band = document.querySelector("button[data-band]").dataset.band, words = "";

  const values = {
    source: (a, b) => (sources[a] < sources[b] ? -1 : sources[a] > sources[b] ? 1 : 0),
    band: (a, b) => data.band[a] - data.band[b],
    requests: (a, b) => data.requests[a] - data.requests[b],
    pages: (a, b) => data.pages[a] - data.pages[b],
    bytes: (a, b) => data.bytes[a] - data.bytes[b],
    sure: (a, b) => data.sure[a] - data.sure[b],
  };

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function bytes(number) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let unit = 0;
    while (number >= 1000 && unit < 5) { number /= 1000; unit += 1; }
    return (unit && number < 100 ? number.toFixed(1) : Math.round(number)) + " " + units[unit];
  }

  function span(ms) {
    if (ms < 1000) return ms + " ms";
    if (ms < 60000) return (ms / 1000).toFixed(1) + " s";
    return ms < 3600000 ? (ms / 60000).toFixed(1) + " min" : (ms / 3600000).toFixed(1) + " h";
  }

  function curve(at) {
    const text = data.curve[at];
    if (!text) return element("span", "");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 " + text.length + " 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", "spark");
    svg.setAttribute("aria-hidden", "true");
    svg.style.setProperty("--band", "var(--" + data.bands[data.band[at]].key + ")");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    let line = "M0 10";
    for (let step = 0; step < text.length; step += 1) {
      const height = parseInt(text[step], 36) / 3.5;
      line += "V" + (10 - height).toFixed(1) + "H" + (step + 1);
    }
    path.setAttribute("d", line + "V10Z");
    svg.append(path);
    return svg;
  }

  function choose() {
    order = [];
    for (let at = 0; at < count; at += 1) {
      if (band === "unwanted" ? !data.bands[data.band[at]].unwanted : band !== "all" && data.band[at] !== Number(band)) continue;
      if (words && !(sources[at] + " " + data.agents[data.agent[at]] + " " + data.names[data.name[at]]).toLowerCase().includes(words)) continue;
      order.push(at);
    }
    sort();
  }

  function sort() {
    const compare = values[key], sign = descending ? -1 : 1;
    order.sort((a, b) => sign * compare(a, b) || a - b);
    page = 0;
    show();
  }

  // The command that blocks a source. A pseudonym or a token from the log cannot be blocked.
  function command(at) {
    const isPerson = data.bands[data.band[at]].key === "people";
    if (isPerson || !/^[0-9a-f.:]+(\/\d+)?$/i.test(sources[at])) return "";
    return "cattlegrid kb deny " + sources[at] + " --days 30";
  }

  function details(at) {
    const cell = element("td");
    cell.colSpan = 7;
    const numbersOf = [numbers.format(data.requests[at]) + " requests, " + numbers.format(data.pages[at]) + " of them for pages", bytes(data.bytes[at])];
    if (data.ms.length) numbersOf.push(span(data.ms[at]) + " of server time");
    if (data.seen[at]) numbersOf.push(data.seen[at], data.many[at] === 1 ? "one user agent" : data.many[at] + " user agents in its busiest window");
    cell.append(element("p", (data.attack[at] ? data.attack[at] + "; " : "") + numbersOf.join("; "), "soft"));
    if (data.window[at]) cell.append(element("p", "Reasons: " + data.window[at] + ".", "soft"));
    const why = element("ul", undefined, "why");
    const reasons = data.why[at];
    for (const [weight, text] of reasons || []) {
      why.append(element("li", text + " " + (weight > 0 ? "+" : "") + weight + " dB"));
    }
    if (!reasons && data.rule[at] >= 0) why.append(element("li", "strongest rule: " + data.rules[data.rule[at]] + " (inspect the source for the rest)"));
    if (!why.children.length) why.append(element("li", "no evidence either way"));
    cell.append(why);
    if (reasons && reasons.length) cell.append(element("p", data.decibans, "soft"));
    cell.append(element("p", data.agents[data.agent[at]] || "the text of its user agent was not kept", "agent"));
    const got = data.got[at];
    if (got) {
      cell.append(element("p", "Answers: " + got.statuses + ". Asked for most:", "soft"));
      const pages = element("ul", undefined, "why");
      for (const [requests, target] of got.pages) pages.append(element("li", numbers.format(requests) + " × " + target, "path"));
      cell.append(pages);
    }
    if (command(at)) cell.append(element("pre", command(at)));
    const row = element("tr");
    row.append(cell);
    return row;
  }

  function row(at) {
    const made = element("tr");
    const first = element("td");
    const open = element("button", sources[at], "open");
    open.type = "button";
    open.setAttribute("aria-expanded", "false");
    open.addEventListener("click", () => {
      const isOpen = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) made.nextSibling.remove();
      else made.after(details(at));
    });
    first.append(open);
    if (data.names[data.name[at]]) first.append(element("div", data.names[data.name[at]], "agent"));
    const what = element("td");
    const dot = element("i", undefined, "dot");
    dot.style.setProperty("--band", "var(--" + data.bands[data.band[at]].key + ")");
    what.append(dot, data.bands[data.band[at]].short);
    made.append(first, what);
    for (const [label, text] of [["requests", numbers.format(data.requests[at])], ["pages", numbers.format(data.pages[at])], ["traffic", bytes(data.bytes[at])], ["sure", data.bands[data.band[at]].key === "undecided" ? "—" : data.sure[at] + " %"]]) {
      const cell = element("td", text, "n");
      cell.dataset.label = label;
      made.append(cell);
    }
    const shape = element("td");
    shape.append(curve(at));
    made.append(shape);
    return made;
  }

  function show() {
    const pages = Math.max(1, Math.ceil(order.length / rows));
    body.replaceChildren(...order.slice(page * rows, page * rows + rows).map(row));
    status.textContent = numbers.format(order.length) + " sources, page " + (page + 1) + " of " + numbers.format(pages);
    document.getElementById("before").disabled = page === 0;
    document.getElementById("after").disabled = page >= pages - 1;
    for (const head of document.querySelectorAll("#sources th[data-key]")) {
      const isKey = head.dataset.key === key;
      head.setAttribute("aria-sort", isKey ? (descending ? "descending" : "ascending") : "none");
    }
  }

  for (const head of document.querySelectorAll("#sources th[data-key] button")) {
    head.addEventListener("click", () => {
      const wanted = head.parentElement.dataset.key;
      descending = wanted === key ? !descending : wanted !== "source";
      key = wanted;
      sort();
    });
  }
  function press(button) {
    band = button.dataset.band;
    for (const other of document.querySelectorAll("button[data-band]")) other.setAttribute("aria-pressed", String(other === button));
    choose();
  }
  for (const button of document.querySelectorAll("button[data-band]")) button.addEventListener("click", () => press(button));
  document.getElementById("search").addEventListener("input", (event) => {
    words = event.target.value.trim().toLowerCase();
    // Whoever searches for an address looks for it among all.
    if (words && band === "unwanted") press(document.querySelector("button[data-band=all]"));
    else choose();
  });
  document.getElementById("before").addEventListener("click", () => { page -= 1; show(); });
  document.getElementById("after").addEventListener("click", () => { page += 1; show(); });
  document.getElementById("interactive").hidden = false;
  choose();
})();
