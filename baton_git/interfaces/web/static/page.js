"use strict";
/* Updates open pages. Everything else on the pages works without scripts. */

(() => {
  /* Browsers send a cookie to every port of this host, so forms must also send a CSRF token. The page after the login
     contains it, and it is kept in the local storage, which only pages of this origin can read. Without it, each form
     asks for the page's token. */
  const login = document.documentElement.dataset.login;
  const entered = document.getElementById("entered");

  function readToken() {
    try { return localStorage.getItem(login); } catch { return null; }
  }

  function storeToken(token) {
    try {
      const older = Object.keys(localStorage).filter((name) => name.split(".")[0] === login.split(".")[0]);
      for (const one of older) localStorage.removeItem(one);
      localStorage.setItem(login, token);
    } catch { /* then each form asks for the page's token */ }
  }

  function fillTokens(root) {
    const token = login && readToken();
    if (!token) return;
    for (const one of root.querySelectorAll("input[name=csrf_token]")) one.setAttribute("value", token);
    for (const one of root.querySelectorAll(".key")) one.remove();
  }

  if (entered) {
    storeToken(entered.dataset.csrfToken);
    location.replace(entered.dataset.next);
    return;
  }
  fillTokens(document);

  const live = document.getElementById("live");
  let ownChange = () => {};

  for (const one of document.querySelectorAll(".other textarea, .other [type=checkbox]")) {
    one.addEventListener("input", () => { one.closest(".other").querySelector("input[type=radio]").checked = true; });
  }

  /* A drop-down closes on Escape and when something else is clicked or focused. */
  function closeDrops(target) {
    for (const one of document.querySelectorAll(".drop[open]")) if (!target || !one.contains(target)) one.open = false;
  }
  document.addEventListener("click", (event) => closeDrops(event.target));
  document.addEventListener("focusin", (event) => closeDrops(event.target));
  document.addEventListener("keydown", (event) => {
    const drop = event.key === "Escape" && document.querySelector(".drop[open]");
    if (drop) { drop.open = false; drop.querySelector("summary").focus(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest?.("form.asking")?.requestSubmit();
  });
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  /* Send a quick button's form without leaving the page, and show the notice of the result. Any other answer replaces
     the page. */
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (event.target.id !== "acts" || !button) return;
    event.preventDefault();
    button.disabled = true;
    send(button.formAction, new URLSearchParams(new FormData(event.target))).catch(() => { location.href = button.formAction; });
  });

  async function send(url, body) {
    const answer = await fetch(url, { method: "POST", body, credentials: "same-origin", cache: "no-store" });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = fresh.querySelector("main");
    if (!main || (answer.redirected && new URL(answer.url).pathname !== location.pathname)) {
      location.href = answer.redirected ? answer.url : url;
      return;
    }
    if (!answer.redirected) history.pushState(null, "", url);
    const [x, y] = [scrollX, scrollY];
    const at = [...document.querySelectorAll(".act")].findIndex((one) => one.disabled);
    replace(main, fresh);
    const acts = document.querySelectorAll(".act");
    acts[Math.min(at, acts.length - 1)]?.focus({ preventScroll: true });
    scrollTo(answer.redirected ? x : 0, answer.redirected ? y : 0);
    const notice = document.getElementById("notice");
    if (answer.redirected && notice) tell(notice);
    if (!answer.redirected) main.focus();
  }

  /* Show a notice at a place that is visible at any scroll position. */
  function tell(notice) {
    live.replaceChildren(...notice.childNodes);
    notice.remove();
  }

  function replace(main, fresh) {
    fillTokens(main);
    document.querySelector("main").replaceWith(document.adoptNode(main));
    for (const part of [".tabs", ".foot"]) {
      const [old, young] = [document.querySelector(part), fresh.querySelector(part)];
      if (old && young && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(young));
    }
    if (fresh.body.dataset.events) ownChange(fresh.body.dataset);
  }

  addEventListener("popstate", () => location.reload());

  const address = document.body.dataset.events;
  if (!address || !("EventSource" in window)) return;

  let count = 0;
  let later = 0;
  let failed = 0;
  let edited = false;

  document.addEventListener("input", () => { edited = true; });
  document.addEventListener("reset", () => { edited = false; });

  const isRenewed = () => location.pathname === "/" || /\/board$/.test(location.pathname);
  const isBusy = () => edited || Boolean(document.activeElement?.closest("form"));

  function say() {
    const words = document.createElement("span");
    words.textContent = `${count} new ${count === 1 ? "change" : "changes"} — `;
    const link = document.createElement("a");
    link.href = location.pathname + location.search;
    link.textContent = "reload";
    live.replaceChildren(words, link);
  }

  /* Return which details are open and which element has the focus, so that an update of the page can restore them. */
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
    live.textContent = `Updated: ${count} new ${count === 1 ? "change" : "changes"}.`;
    count = 0;
    replace(main, fresh);
    restore(kept);
    scrollTo(x, y);
  }

  function changed(number = 1) {
    count += number;
    clearTimeout(later);
    later = setTimeout(() => {
      if (isRenewed() && !isBusy()) renew().catch(say);
      else say();
    }, 250);
  }

  /* A browser opens at most six connections to a server, for all windows together. So at most STREAMS windows have an
     event stream, and the others ask every ASK_EVERY milliseconds. A hidden window does neither. */
  const STREAMS = 3;
  const ASK_EVERY = 5000;
  let known = { commit: new URL(address, location.href).searchParams.get("since"), revision: Number(document.body.dataset.revision) };
  ownChange = (data) => {
    known = { commit: new URL(data.events, location.href).searchParams.get("since"), revision: Number(data.revision) };
    clearTimeout(later);
    count = 0;
  };
  let source = null;
  let leave = null;
  let asking = 0;
  let isTaking = false;

  function listen() {
    source = new EventSource(`${address.split("?")[0]}?since=${encodeURIComponent(known.commit)}`);
    source.addEventListener("change", (event) => {
      if (event.lastEventId && event.lastEventId === known.commit) return;  // this page already shows its own change
      if (event.lastEventId) known = { commit: event.lastEventId, revision: JSON.parse(event.data).revision };
      changed();
    });
    source.addEventListener("open", () => { failed = 0; });
    source.addEventListener("error", () => {
      failed += 1;
      if (source?.readyState !== EventSource.CLOSED) return;  // the browser reconnects automatically
      failed += 5;
      stop();
      asking = setTimeout(begin, ASK_EVERY);
    });
  }

  /* Acquire one of the STREAMS locks for an event stream; false if all are taken. */
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
