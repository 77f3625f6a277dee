/* The theme that somebody chose here, set before anything is painted. Without a choice it is the system's. */
"use strict";

(() => {
  const CHOICES = ["light", "dark"];
  const root = document.documentElement;

  function chosen() {
    try {
      const kept = window.localStorage.getItem("theme");
      return CHOICES.includes(kept) ? kept : "";
    } catch {
      return root.dataset.theme || ""; // storage is shut: the choice lasts for this page
    }
  }

  function apply(choice) {
    if (choice) root.dataset.theme = choice;
    else delete root.dataset.theme;
  }

  apply(chosen());

  document.addEventListener("DOMContentLoaded", () => {
    const field = document.getElementById("theme");
    if (!field) return;
    field.value = chosen();
    field.closest("label").hidden = false;
    field.addEventListener("change", () => {
      try {
        if (field.value) window.localStorage.setItem("theme", field.value);
        else window.localStorage.removeItem("theme");
      } catch { /* as above */ }
      apply(field.value);
      document.dispatchEvent(new Event("themechange"));
    });
  });

  /* Another tab chose. */
  window.addEventListener("storage", (event) => {
    if (event.key !== "theme" && event.key !== null) return;
    apply(chosen());
    const field = document.getElementById("theme");
    if (field) field.value = chosen();
    document.dispatchEvent(new Event("themechange"));
  });
})();
