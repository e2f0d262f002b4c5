/* Faults of a page that a person would notice. Each function returns descriptions of the faults that it finds. */

/* Texts whose contrast is below 4.5 : 1, the minimum of WCAG AA. */
function faint() {
  const numbers = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => { const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const behind = (one) => { for (; one; one = one.parentElement) { const found = numbers(getComputedStyle(one).backgroundColor);
    if (found.length < 4 || found[3] > 0) return found; } return [255, 255, 255]; };
  const faint = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || one.closest("svg, .visually-hidden") || !one.checkVisibility()) continue;
    const [a, b] = [light(numbers(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(`${one.className || one.tagName}: ${walk.currentNode.data.trim().slice(0, 30)}`);
  }
  return [...faint];
}

/* Controls without a name, headings that skip a level, and ids that occur twice. */
function unnamed() {
  const named = (one) => one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim() || one.title;
  const bad = [...document.querySelectorAll("a, button, input:not([type=hidden]), textarea, meter")].filter((one) => !named(one));
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((one) => Number(one.tagName[1]));
  const jumps = levels.filter((level, at) => at && level > levels[at - 1] + 1);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  return [...bad.map((one) => one.outerHTML), ...jumps.map((level) => `a jump to h${level}`), ...twice.map((id) => `twice: ${id}`)];
}

/* Controls that are too low for a finger. */
function small() {
  const controls = [...document.querySelectorAll("button, .button, .tabs a, input:not([type=hidden], [type=radio], [type=checkbox]), label.point, label.choice, a.chip, summary")];
  return controls.filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 43.5)
    .map((one) => `${one.tagName} ${one.textContent.trim().slice(0, 20)} ${one.getBoundingClientRect().height}`);
}

/* The number of elements and attributes that could come from the text of a record, and whether the page fits. */
function strange() {
  const handles = (one) => [...one.attributes].some((each) => /^on/.test(each.name));
  return {
    inside: document.querySelectorAll("main :is(img, script, iframe, style)").length,
    loaded: document.querySelectorAll("script, img").length,
    focused: document.querySelectorAll("[autofocus]").length,
    handlers: [...document.querySelectorAll("*")].filter(handles).length,
    outward: [...document.links].filter((one) => one.host !== location.host).length,
    fits: document.documentElement.scrollWidth <= innerWidth,
  };
}
