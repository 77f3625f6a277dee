/* Small behaviours that a page can do without: copying a whole hash, scroll containers that take focus, the
   current page's tab in sight, and keys. */
"use strict";

(() => {
  const announcer = () => document.getElementById("announcer");

  function say(text) {
    const place = announcer();
    if (!place) return;
    place.textContent = "";
    // A changed text is read out; the same text set twice is not, hence the empty moment in between.
    window.setTimeout(() => { place.textContent = text; }, 30);
  }

  async function copy(text) {
    if (navigator.clipboard && window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return;
    }
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "visually-hidden";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("The browser refused to copy");
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const text = button.dataset.copy;
    try {
      await copy(text);
      button.classList.add("copied");
      window.setTimeout(() => button.classList.remove("copied"), 1600);
      say(`copied ${text}`);
    } catch {
      say(`Could not copy. The whole text is ${text}`);
    }
    button.focus();
  });

  /* A table wider than its container must be reachable with the keyboard, and only then be a tab stop. */
  function markScrollers() {
    for (const box of document.querySelectorAll(".scroll, main pre")) {
      if (box.scrollWidth > box.clientWidth + 1) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    }
  }

  markScrollers();
  window.addEventListener("resize", markScrollers);

  /* On a phone, where a row is a card, a long table shows its first cards and a button for the rest. A row that
     the address points at is never folded away. */
  const CARDS = 800; // px of cards before the rest is folded up
  const phone = window.matchMedia("(max-width: 600px)");

  function fold(table) {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const top = table.getBoundingClientRect().top;
    const first = rows.findIndex((row) => row.getBoundingClientRect().bottom - top > CARDS);
    const kept = Math.max(first, 2);
    if (first < 0 || rows.length - kept < 2) return;
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (target && table.contains(target)) return;
    rows.slice(kept).forEach((row) => row.classList.add("beyond"));
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button unfold";
    button.textContent = `Show all ${rows.length} rows`;
    button.addEventListener("click", () => {
      rows.forEach((row) => row.classList.remove("beyond"));
      button.remove();
      const link = rows[kept].querySelector("a, button") || rows[kept];
      if (link === rows[kept]) link.tabIndex = -1;
      link.focus({ preventScroll: true });
    });
    table.parentElement.after(button);
  }

  function foldAll() {
    if (!phone.matches) return;
    for (const table of document.querySelectorAll(".scroll > table:not([data-folded])")) {
      if (!table.checkVisibility()) continue; // in something closed: when that opens
      table.dataset.folded = "";
      fold(table);
    }
  }

  foldAll();
  phone.addEventListener("change", foldAll);
  document.addEventListener("toggle", foldAll, true);
  window.addEventListener("hashchange", () => {
    const row = document.getElementById(decodeURIComponent(window.location.hash.slice(1)))?.closest("tr.beyond");
    if (!row) return;
    row.closest(".scroll").nextElementSibling?.matches("button.unfold") &&
      row.closest(".scroll").nextElementSibling.click();
    row.scrollIntoView();
  });

  /* A page that is still longer than some screens of a phone keeps its headings and opens its later parts on
     demand: from the last to the second, until it is short enough. */
  const LONGEST = 5000; // px of a page on a phone
  const UNDRAWN = 330; // px that a figure grows by when it is drawn
  const SHORT = 500; // px of a part that is never folded

  function partsOf(heading) {
    const parts = [];
    for (let next = heading.nextElementSibling; next && next.tagName !== "H2"; next = next.nextElementSibling) {
      if (!next.matches("script")) parts.push(next);
    }
    return parts;
  }

  const tall = (node) => node.offsetHeight + UNDRAWN * [...node.querySelectorAll("[data-figure]")].filter(
    (plot) => plot.checkVisibility() && !plot.dataset.ready).length;

  function showPart(heading) {
    heading.classList.remove("closed");
    heading.nextElementSibling?.matches("button.open-part") && heading.nextElementSibling.remove();
    partsOf(heading).forEach((part) => part.classList.remove("beyond"));
    foldAll();
  }

  function foldParts() {
    const main = document.getElementById("content");
    if (!phone.matches || !main) return;
    let height = tall(document.body);
    const headings = [...main.querySelectorAll("h2")].filter(
      (heading) => !heading.closest("details, aside, dialog, form, li, table") && heading.checkVisibility());
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    for (const heading of headings.slice(1).reverse()) {
      if (height <= LONGEST) return;
      const parts = partsOf(heading);
      const size = parts.reduce((sum, part) => sum + tall(part), 0);
      if (size < SHORT || target === heading || parts.some((part) => part.contains(target))) continue;
      parts.forEach((part) => part.classList.add("beyond"));
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button unfold open-part";
      button.append("Show this part");
      const what = document.createElement("span");
      what.className = "visually-hidden";
      what.textContent = `: ${heading.textContent.trim()}`;
      button.append(what);
      button.addEventListener("click", () => {
        showPart(heading);
        heading.tabIndex = -1;
        heading.focus({ preventScroll: true });
      });
      heading.classList.add("closed");
      heading.after(button);
      height -= size;
    }
  }

  foldParts();
  phone.addEventListener("change", foldParts);
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    const part = target?.closest("main .beyond");
    if (!part) return;
    let heading = part;
    while (heading && heading.tagName !== "H2") heading = heading.previousElementSibling;
    if (heading) showPart(heading);
    target.scrollIntoView();
  });

  /* Times are UTC; pointed at, each says itself in this browser's zone. */
  for (const moment of document.querySelectorAll("time[datetime]:not([title])")) {
    const at = new Date(moment.dateTime);
    if (!Number.isNaN(at.getTime())) moment.title = `${at.toLocaleString(undefined, { timeZoneName: "short" })} here`;
  }

  /* Of pages in a row wider than a phone, the current one is in sight. */
  for (const row of document.querySelectorAll(".subnav")) {
    const current = row.querySelector("[aria-current]");
    if (!current || row.scrollWidth <= row.clientWidth + 1) continue;
    const [here, frame] = [current.getBoundingClientRect(), row.getBoundingClientRect()];
    row.scrollLeft += here.left - frame.left - (frame.width - here.width) / 2;
  }

  /* "/" leads to the search from anywhere; the arrows walk through what it found. */
  const typing = (place) => place.closest("input, textarea, select, [contenteditable]") !== null;

  const keys = document.getElementById("keys");
  const showKeys = () => { if (keys && !keys.open) keys.showModal(); };
  for (const button of document.querySelectorAll("button[data-keys]")) {
    button.hidden = false;
    button.addEventListener("click", showKeys);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?" && !typing(event.target)) {
      showKeys();
      return;
    }
    const field = document.querySelector('form[role="search"] input[type="search"]');
    if (event.key === "/" && field && !typing(event.target)) {
      event.preventDefault();
      field.focus();
      field.select();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const results = [...document.querySelectorAll("a.result")];
    const here = results.indexOf(event.target);
    if (!results.length || (here < 0 && event.target !== field)) return;
    event.preventDefault();
    const next = here + (event.key === "ArrowDown" ? 1 : -1);
    if (next < 0) field?.focus();
    else results[Math.min(next, results.length - 1)].focus();
  });

  /* On paper every collapsed part is open. */
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => {
    closed.forEach((part) => { part.open = false; });
  });
})();
