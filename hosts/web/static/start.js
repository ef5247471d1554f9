// Asks for the first event of the workspace until it is there, while the page is seen. Without this module a link asks again.

const PAUSE_MILLISECONDS = 1500;
const LONG_PAUSE_MILLISECONDS = 20000;

/** @type {HTMLElement | null} */
const card = document.querySelector("[data-first-event]");
let shown = card?.innerHTML.trim();

async function ask() {
  let pause = PAUSE_MILLISECONDS;
  if (document.visibilityState === "visible") {
    const answer = await fetch(card.dataset.firstEvent).catch(() => null);
    if (answer?.ok && !answer.redirected) show((await answer.text()).trim());
    else pause = LONG_PAUSE_MILLISECONDS;
    if (card.querySelector("h2 .waiting") === null && card.querySelector("a.primary")) return location.reload();
  }
  window.setTimeout(ask, pause);
}

/** @param {string} html */
function show(html) {
  if (html === shown) return;
  shown = html;
  card.innerHTML = html;
}

if (card) window.setTimeout(ask, PAUSE_MILLISECONDS);
