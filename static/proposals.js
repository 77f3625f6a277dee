/* Working through proposals from the keyboard: one is current; keys move, accept, change and reject. */
"use strict";

(() => {
  const list = document.querySelector(".proposals");
  const cards = list ? [...list.querySelectorAll("[data-proposal]")] : [];
  if (!cards.length || !cards[0].querySelector("form")) return;
  let at = Math.max(0, cards.findIndex((card) => card.id === (list.dataset.at || location.hash.slice(1))));

  function show(place) {
    cards[at].removeAttribute("data-current");
    at = Math.min(cards.length - 1, Math.max(0, place));
    const card = cards[at];
    card.setAttribute("data-current", "");
    const wanted = card.querySelector("[data-do=record]") || card;
    // Only now: a card that takes focus by itself would take it from the button when the address names the card.
    if (wanted === card) card.tabIndex = -1;
    wanted.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }

  function choose(verdict) {
    const form = cards[at].querySelector("form");
    form.elements.verdict.value = verdict;
    return form;
  }

  function firstField(form) {
    return form.querySelector("input:not([type=hidden]), select:not([name=verdict])") || form.elements.verdict;
  }

  const keys = {
    j: () => show(at + 1),
    k: () => show(at - 1),
    r: () => choose("rejected").requestSubmit(),
    a: () => {
      const form = choose("accepted");
      const missing = [...form.querySelectorAll("select:not([name=verdict])")].find((field) => field.name === "change" && !field.value);
      if (missing) missing.focus();
      else form.requestSubmit(form.querySelector("[data-do=preview]"));
    },
    c: () => firstField(choose("edited")).focus(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    if (field) {
      if (event.key === "Escape") show(at);
      return;
    }
    const act = keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });

  cards[at].setAttribute("data-current", "");
  if (list.dataset.at || location.hash === "#open") {
    // An address that names a card takes the focus away once more when the page has loaded.
    const begin = () => requestAnimationFrame(() => setTimeout(() => show(at)));
    if (document.readyState === "complete") begin();
    else window.addEventListener("load", begin);
  }
})();
