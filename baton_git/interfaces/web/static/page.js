"use strict";
/* Keeps an open page up to date. Everything else works without it. */

(() => {
  /* A cookie goes to every port of this host. What forms must bring besides, the answer to the login tells, and only
     pages of this origin can read it here. Without it each form asks for the token. */
  const login = document.documentElement.dataset.login;
  const entered = document.getElementById("entered");

  function kept() {
    try { return localStorage.getItem(login); } catch { return null; }
  }

  function keep(seal) {
    try {
      const older = Object.keys(localStorage).filter((name) => name.split(".")[0] === login.split(".")[0]);
      for (const one of older) localStorage.removeItem(one);
      localStorage.setItem(login, seal);
    } catch { /* then each form asks */ }
  }

  function sealForms(root) {
    const seal = login && kept();
    if (!seal) return;
    for (const one of root.querySelectorAll("input[name=mark]")) one.setAttribute("value", seal);
    for (const one of root.querySelectorAll(".key")) one.remove();
  }

  if (entered) {
    keep(entered.dataset.seal);
    location.replace(entered.dataset.next);
    return;
  }
  sealForms(document);

  for (const one of document.querySelectorAll(".other textarea, .other [type=checkbox]")) {
    one.addEventListener("input", () => { one.closest(".other").querySelector("input[type=radio]").checked = true; });
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
    sealForms(main);
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

  function changed(number = 1) {
    count += number;
    clearTimeout(later);
    later = setTimeout(() => {
      if (isBoard() && !isBusy()) renew().catch(say);
      else say();
    }, 250);
  }

  /* A browser has six connections to a server, for all windows together: a few windows have a stream, the others ask
     now and then, and a window that nobody sees does neither. */
  const STREAMS = 3;
  const ASK_EVERY = 5000;
  let known = { commit: new URL(address, location.href).searchParams.get("since"), revision: Number(document.body.dataset.revision) };
  let source = null;
  let leave = null;
  let asking = 0;
  let isTaking = false;

  function listen() {
    source = new EventSource(`${address.split("?")[0]}?since=${encodeURIComponent(known.commit)}`);
    source.addEventListener("change", (event) => {
      if (event.lastEventId) known = { commit: event.lastEventId, revision: JSON.parse(event.data).revision };
      changed();
    });
    source.addEventListener("open", () => { failed = 0; });
    source.addEventListener("error", () => {
      failed += 1;
      if (source?.readyState !== EventSource.CLOSED) return;  // it comes back by itself
      failed += 5;
      stop();
      asking = setTimeout(begin, ASK_EVERY);
    });
  }

  /* One of the places for a stream, as long as this window is seen; false where all are taken. */
  function takePlace(number = 0) {
    if (!navigator.locks || number === STREAMS) return Promise.resolve(false);
    return new Promise((tell) => {
      navigator.locks.request(`baton stream ${number}`, { ifAvailable: true }, (lock) => {
        if (!lock) return void takePlace(number + 1).then(tell);
        return new Promise((release) => { leave = release; tell(true); });
      }).catch(() => tell(false));
    });
  }

  async function ask() {
    const answer = await fetch(`${address.split("?")[0]}?now`, { credentials: "same-origin", cache: "no-store" });
    if (answer.status !== 200) { failed = 31; return; }
    const now = await answer.json();
    if (now.commit && now.commit !== known.commit) changed(Math.max(1, now.revision - known.revision));
    known = now;
  }

  async function begin() {
    clearTimeout(asking);
    if (document.hidden || source || isTaking || failed > 30) return;
    isTaking = true;
    const has = await takePlace();
    isTaking = false;
    if (document.hidden) return void stop();
    if (has) return listen();
    await ask().catch(() => { failed += 1; });
    asking = setTimeout(begin, ASK_EVERY);
  }

  function stop() {
    clearTimeout(asking);
    source?.close();
    leave?.();
    source = leave = null;
  }

  document.addEventListener("visibilitychange", () => { document.hidden ? stop() : begin(); });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  begin();
})();
