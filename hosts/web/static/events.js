// Follows new events: reads the first rows again every few seconds while the page is seen.
// Without this module the page lists the events of its moment.

const PAUSE_MILLISECONDS = 5000;

/** @type {HTMLElement | null} */
const list = document.querySelector("[data-live-rows]");
/** @type {HTMLButtonElement | null} */
const button = document.querySelector("[data-live-toggle]");
/** @type {HTMLElement | null} */
const message = document.querySelector("[data-live-status]");

/** @type {number | undefined} */
let timer;

/** @param {ParentNode} root */
const eventIds = (root) => [...root.querySelectorAll("[data-event]")].map((row) => row.getAttribute("data-event"));

/** Replaces the rows, keeps those open that a reader opened, and says how many are new. @param {string} html */
function showRows(html) {
  const known = new Set(eventIds(list));
  const open = new Set(eventIds(list).filter((id) => list.querySelector(`[data-event="${CSS.escape(id)}"]`).open));
  const focused = list.contains(document.activeElement) ? document.activeElement.closest("[data-event]")?.dataset.event : null;
  list.innerHTML = html;
  let added = 0;
  for (const row of list.querySelectorAll("[data-event]")) {
    if (open.has(row.dataset.event)) row.open = true;
    if (row.dataset.event === focused) row.querySelector("summary").focus({ preventScroll: true });
    if (!known.has(row.dataset.event)) {
      row.closest("li").classList.add("fresh");
      added += 1;
    }
  }
  if (added) message.textContent = added === 1 ? "1 new event." : `${added} new events.`;
}

async function readRows() {
  if (document.visibilityState === "visible") {
    const answer = await fetch(list.dataset.liveRows).catch(() => null);
    if (!answer?.ok || answer.redirected) return stop("Live updates stopped. Turn them on again in a minute.");
    showRows(await answer.text());
  }
  if (button.getAttribute("aria-pressed") === "true") timer = window.setTimeout(readRows, PAUSE_MILLISECONDS);
}

/** @param {string} reason */
function stop(reason) {
  window.clearTimeout(timer);
  button.setAttribute("aria-pressed", "false");
  message.textContent = reason;
}

function toggle() {
  if (button.getAttribute("aria-pressed") === "true") return stop("");
  button.setAttribute("aria-pressed", "true");
  message.textContent = "New events appear here as they arrive.";
  return readRows();
}

if (list && button && message) {
  button.hidden = false;
  button.addEventListener("click", toggle);
}
