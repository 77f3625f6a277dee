/* Follows a running job: asks again and again, less often while nothing changes, and shows the whole page when it ends. */
"use strict";

(() => {
  const place = document.getElementById("live");
  if (!place || "ended" in place.dataset) return;
  const SHORTEST = 1000;
  const LONGEST = 15000;
  const stateOf = (root) => root.querySelector(".job-live")?.dataset.state;
  let wait = SHORTEST;

  async function look() {
    try {
      const answer = await fetch(place.dataset.address, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      const next = new DOMParser().parseFromString(text, "text/html");
      if (stateOf(next) !== stateOf(place)) {
        window.location.reload();
        return;
      }
      const fresh = next.querySelector(".job-live");
      const shown = place.querySelector(".job-live");
      if (fresh.textContent !== shown.textContent) {
        shown.replaceWith(fresh);
        wait = SHORTEST;
      } else {
        wait = Math.min(wait * 1.5, LONGEST);
      }
    } catch {
      wait = Math.min(wait * 2, LONGEST);
    }
    window.setTimeout(look, wait);
  }

  window.setTimeout(look, wait);
})();
