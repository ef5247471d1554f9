// Draws the page of the last 30 minutes again every ten seconds while it is seen.
// Without this module the page has a link that reloads it.

import { enhanceCharts } from "./charts.js";

const PAUSE_MILLISECONDS = 10000;

const live = document.getElementById("realtime");
/** @type {HTMLButtonElement | null} */
const button = document.querySelector("[data-realtime-toggle]");
const message = document.querySelector("[data-realtime-status]");

/** Replaces what changes; opened events stay open and the focus stays where it was. @param {string} html */
function show(html) {
  const opened = new Set([...live.querySelectorAll("details[open][data-event]")].map((one) => one.dataset.event));
  const focused = live.contains(document.activeElement) ? document.activeElement.closest("[data-event]")?.dataset.event : null;
  live.innerHTML = html;
  for (const row of live.querySelectorAll("[data-event]")) {
    if (opened.has(row.dataset.event)) row.open = true;
    if (row.dataset.event === focused) row.querySelector("summary").focus({ preventScroll: true });
  }
  enhanceCharts();
}

/** Whether a reader is in the middle of a table, a chart or a link, which the next rows would take away. */
function isInUse() {
  if (live.querySelector("details.more[open]")) return true;
  return live.contains(document.activeElement) && !document.activeElement.matches("[data-event] > summary");
}

/** @param {boolean} updating @param {string} reason */
function setUpdating(updating, reason = "") {
  button.setAttribute("aria-pressed", String(updating));
  message.textContent = reason;
}

async function update() {
  if (document.visibilityState !== "visible" || button.getAttribute("aria-pressed") !== "true") return;
  if (isInUse()) return;
  const answer = await fetch(`${location.pathname}?part=live`).catch(() => null);
  if (!answer?.ok || answer.redirected) setUpdating(false, "Updates stopped. Select “Live updates” to go on.");
  else if (button.getAttribute("aria-pressed") === "true" && !isInUse()) show(await answer.text());
}

if (live && button && message) {
  button.hidden = false;
  document.querySelector("[data-realtime-reload]")?.remove();
  button.addEventListener("click", () => {
    setUpdating(button.getAttribute("aria-pressed") !== "true");
    update();
  });
  window.setInterval(update, PAUSE_MILLISECONDS);
}
