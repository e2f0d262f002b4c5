"use strict";
/* Keeps an open page up to date. Everything else works without it. */

(() => {
  for (const text of document.querySelectorAll(".other textarea")) {
    text.addEventListener("input", () => { text.closest(".other").querySelector("input[type=radio]").checked = true; });
  }

  const address = document.body.dataset.events;
  const live = document.getElementById("live");
  if (!address || !("EventSource" in window)) return;

  let count = 0;
  let later = 0;
  let failed = 0;
  let edited = false;

  document.addEventListener("input", () => { edited = true; });
  document.addEventListener("reset", () => { edited = false; });

  const isBoard = () => /\/board$/.test(location.pathname);
  const isBusy = () => edited || Boolean(document.activeElement?.closest("form"));

  function say() {
    const words = document.createElement("span");
    words.textContent = `${count} new ${count === 1 ? "change" : "changes"} — `;
    const link = document.createElement("a");
    link.href = location.pathname + location.search;
    link.textContent = "reload";
    live.replaceChildren(words, link);
  }

  /* What is open and what has the focus is found again by its place in the page. */
  function marks() {
    const all = [...document.querySelectorAll("main details")];
    const open = all.filter((one) => one.open).map((one) => nameOf(one));
    const focus = document.activeElement;
    const inside = focus && focus.closest("main") && focus.id !== "main";
    return { open: new Set(open), focus: inside ? focus.getAttribute("href") || focus.id : null };
  }

  function nameOf(details) {
    const near = details.closest("li, section");
    return `${near?.querySelector(".id")?.textContent ?? near?.id ?? ""}|${details.querySelector("summary")?.textContent}`;
  }

  function restore(kept) {
    for (const one of document.querySelectorAll("main details")) if (kept.open.has(nameOf(one))) one.open = true;
    if (!kept.focus) return;
    const again = [...document.querySelectorAll("main a, main [id]")];
    const same = again.find((one) => one.getAttribute("href") === kept.focus || one.id === kept.focus);
    if (same) same.focus({ preventScroll: true });
  }

  async function renew() {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (!answer.ok || answer.redirected) return say();
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = fresh.querySelector("main");
    if (!main || isBusy()) return say();
    const kept = marks();
    const [x, y] = [scrollX, scrollY];
    document.querySelector("main").replaceWith(document.adoptNode(main));
    for (const part of [".tabs", ".foot"]) {
      const [old, young] = [document.querySelector(part), fresh.querySelector(part)];
      if (old && young && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(young));
    }
    restore(kept);
    scrollTo(x, y);
    const words = `Updated: ${count} new ${count === 1 ? "change" : "changes"}.`;
    live.textContent = words;
    count = 0;
  }

  function changed() {
    count += 1;
    clearTimeout(later);
    later = setTimeout(() => {
      if (isBoard() && !isBusy()) renew().catch(say);
      else say();
    }, 250);
  }

  const source = new EventSource(address);
  source.addEventListener("change", changed);
  source.addEventListener("open", () => { failed = 0; });
  source.addEventListener("error", () => {
    failed += 1;
    if (failed > 30) source.close();
  });
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
