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
    for (const box of document.querySelectorAll(".scroll, .manual pre")) {
      if (box.scrollWidth > box.clientWidth + 1) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    }
  }

  markScrollers();
  window.addEventListener("resize", markScrollers);

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
