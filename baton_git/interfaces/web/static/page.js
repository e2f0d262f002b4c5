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
      for (const name of older) localStorage.removeItem(name);
      localStorage.setItem(login, token);
    } catch { /* then each form asks for the page's token */ }
  }

  function fillTokens(root) {
    const token = login && readToken();
    if (!token) return;
    for (const field of root.querySelectorAll("input[name=csrf_token]")) field.setAttribute("value", token);
    for (const field of root.querySelectorAll(".key")) field.remove();
  }

  if (entered) {
    storeToken(entered.dataset.csrfToken);
    location.replace(entered.dataset.next);
    return;
  }
  fillTokens(document);

  const live = document.getElementById("live");
  let ownChange = () => {};

  for (const field of document.querySelectorAll(".other textarea, .other [type=checkbox]")) {
    field.addEventListener("input", () => { field.closest(".other").querySelector("input[type=radio]").checked = true; });
  }

  /* A drop-down closes on Escape and when something else is clicked or focused. */
  function closeDrops(target) {
    for (const drop of document.querySelectorAll(".drop[open]")) if (!target || !drop.contains(target)) drop.open = false;
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
    const at = [...document.querySelectorAll(".act")].findIndex((button) => button.disabled);
    replaceMain(main, fresh);
    const acts = document.querySelectorAll(".act");
    acts[Math.min(at, acts.length - 1)]?.focus({ preventScroll: true });
    scrollTo(answer.redirected ? x : 0, answer.redirected ? y : 0);
    const notice = document.getElementById("notice");
    if (answer.redirected && notice) showNotice(notice);
    if (!answer.redirected) main.focus();
  }

  /* Move a notice to the bar that is visible at any scroll position. */
  function showNotice(notice) {
    live.replaceChildren(...notice.childNodes);
    notice.remove();
  }

  function replaceMain(main, fresh) {
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

  const isUpdatedInPlace = () => location.pathname === "/" || /\/board$/.test(location.pathname);
  const isBusy = () => edited || Boolean(document.activeElement?.closest("form"));

  function showReloadLink() {
    const words = document.createElement("span");
    words.textContent = `${count} new ${count === 1 ? "change" : "changes"} — `;
    const link = document.createElement("a");
    link.href = location.pathname + location.search;
    link.textContent = "reload";
    live.replaceChildren(words, link);
  }

  /* Return which details are open and which element has the focus, so that an update of the page can restore them. */
  function readView() {
    const all = [...document.querySelectorAll("main details")];
    const open = all.filter((details) => details.open).map((details) => nameOf(details));
    const focus = document.activeElement;
    const inside = focus && focus.closest("main") && focus.id !== "main";
    return { open: new Set(open), focus: inside ? focus.getAttribute("href") || focus.id : null };
  }

  function nameOf(details) {
    const near = details.closest("li, section");
    return `${near?.querySelector(".id")?.textContent ?? near?.id ?? ""}|${details.querySelector("summary")?.textContent}`;
  }

  function restoreView(view) {
    for (const details of document.querySelectorAll("main details")) if (view.open.has(nameOf(details))) details.open = true;
    if (!view.focus) return;
    const candidates = [...document.querySelectorAll("main a, main [id]")];
    const same = candidates.find((element) => element.getAttribute("href") === view.focus || element.id === view.focus);
    if (same) same.focus({ preventScroll: true });
  }

  async function updatePage() {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (!answer.ok || answer.redirected) return showReloadLink();
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = fresh.querySelector("main");
    if (!main || isBusy()) return showReloadLink();
    const view = readView();
    const [x, y] = [scrollX, scrollY];
    live.textContent = `Updated: ${count} new ${count === 1 ? "change" : "changes"}.`;
    count = 0;
    replaceMain(main, fresh);
    restoreView(view);
    scrollTo(x, y);
  }

  function countChanges(number = 1) {
    count += number;
    clearTimeout(later);
    later = setTimeout(() => {
      if (isUpdatedInPlace() && !isBusy()) updatePage().catch(showReloadLink);
      else showReloadLink();
    }, 250);
  }

  /* A browser opens at most six connections to a server, for all windows together. So at most STREAMS windows have an
     event stream, and the others poll every POLL_EVERY milliseconds. A hidden window does neither. */
  const STREAMS = 3;
  const POLL_EVERY = 5000;
  let known = { commit: new URL(address, location.href).searchParams.get("since"), revision: Number(document.body.dataset.revision) };
  ownChange = (data) => {
    known = { commit: new URL(data.events, location.href).searchParams.get("since"), revision: Number(data.revision) };
    clearTimeout(later);
    count = 0;
  };
  let source = null;
  let releaseLock = null;
  let timer = 0;
  let isTakingLock = false;

  function listen() {
    source = new EventSource(`${address.split("?")[0]}?since=${encodeURIComponent(known.commit)}`);
    source.addEventListener("change", (event) => {
      if (event.lastEventId && event.lastEventId === known.commit) return;  // this page already shows its own change
      if (event.lastEventId) known = { commit: event.lastEventId, revision: JSON.parse(event.data).revision };
      countChanges();
    });
    source.addEventListener("open", () => { failed = 0; });
    source.addEventListener("error", () => {
      failed += 1;
      if (source?.readyState !== EventSource.CLOSED) return;  // the browser reconnects automatically
      failed += 5;
      stop();
      timer = setTimeout(listenOrPoll, POLL_EVERY);
    });
  }

  /* Acquire one of the STREAMS locks for an event stream; false if all are taken. */
  function takeStreamLock(number = 0) {
    if (!navigator.locks || number === STREAMS) return Promise.resolve(false);
    return new Promise((resolve) => {
      navigator.locks.request(`baton stream ${number}`, { ifAvailable: true }, (lock) => {
        if (!lock) return void takeStreamLock(number + 1).then(resolve);
        return new Promise((release) => { releaseLock = release; resolve(true); });
      }).catch(() => resolve(false));
    });
  }

  async function poll() {
    const answer = await fetch(`${address.split("?")[0]}?now`, { credentials: "same-origin", cache: "no-store" });
    if (answer.status !== 200) { failed = 31; return; }
    const now = await answer.json();
    if (now.commit && now.commit !== known.commit) countChanges(Math.max(1, now.revision - known.revision));
    known = now;
  }

  async function listenOrPoll() {
    clearTimeout(timer);
    if (document.hidden || source || isTakingLock || failed > 30) return;
    isTakingLock = true;
    const hasLock = await takeStreamLock();
    isTakingLock = false;
    if (document.hidden) return void stop();
    if (hasLock) return listen();
    await poll().catch(() => { failed += 1; });
    timer = setTimeout(listenOrPoll, POLL_EVERY);
  }

  function stop() {
    clearTimeout(timer);
    source?.close();
    releaseLock?.();
    source = releaseLock = null;
  }

  document.addEventListener("visibilitychange", () => { document.hidden ? stop() : listenOrPoll(); });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  listenOrPoll();
})();
