"use strict";
/* Keeps the fetch queue, or a crawl, up to date while something moves in it. Without scripts, reloading does the same. */
(() => {
  const EVERY_MS = 2000;
  let queue = document.getElementById("queue");

  async function renew() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("queue");
    // Whoever is about to press a button there must not lose it.
    if (!fresh || queue.contains(document.activeElement) || fresh.innerHTML === queue.innerHTML) return;
    queue.replaceWith(fresh);
    queue = fresh;
  }

  async function look() {
    try {
      if (!document.hidden && queue.dataset.moving !== "0") await renew();
    } catch {
      /* The line to the desk is down: what is shown stays. */
    }
    setTimeout(look, EVERY_MS);
  }

  if (queue) setTimeout(look, EVERY_MS);
})();
