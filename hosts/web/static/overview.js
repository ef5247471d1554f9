// The overview of whoever holds a key. The key comes from the form or from the fragment of the address,
// which a browser never sends to a server; it is kept in memory only. The server draws what it opens.

import { enhanceCharts } from "./charts.js";
import "./range_bar.js";

const byId = (id) => document.getElementById(id);
const fragment = () => new URLSearchParams(location.hash.slice(1));
let key = "";

function say(text, fault = false) {
  byId("message").textContent = text;
  byId("message").className = fault ? "note bad" : "quiet";
}

/** The link that was followed, in the page that replaced it; else the chosen entry of its menu. */
function focusAgain(held) {
  if (!held) return;
  const links = [...byId("answers").querySelectorAll("a")];
  const same = links.find((link) => link.textContent === held && link.checkVisibility());
  (same ?? byId("answers").querySelector("summary"))?.focus();
}

async function show() {
  if (byId("key-form")) say("Loading…");
  byId("answers").setAttribute("aria-busy", "true");
  try {
    const address = new URL(`../look?${fragment()}`, import.meta.url);
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error((await answer.json()).error);
    const held = byId("answers").contains(document.activeElement) && document.activeElement.textContent;
    byId("answers").innerHTML = await answer.text();
    enhanceCharts();
    focusAgain(held);
    say("");
  } catch (fault) {
    say(fault.message, true);
  } finally {
    byId("answers").removeAttribute("aria-busy");
  }
}

function enter() {
  if (location.hash === "#content") return;
  const given = fragment();
  if (given.has("key")) {
    key = given.get("key");
    given.delete("key");
    history.replaceState(null, "", `${location.pathname}#${given}`);
  }
  if (key) show();
}

byId("key-form").hidden = false;
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value.trim();
  show();
});
// Links and forms of the page lead to another state of it, which stands in the fragment here.
byId("answers").addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.hash = link.getAttribute("href").slice(1);
});
byId("answers").addEventListener("submit", (event) => {
  if (event.target.id === "key-form") return;
  event.preventDefault();
  location.hash = new URLSearchParams(new FormData(event.target)).toString();
});
window.addEventListener("hashchange", enter);
enter();
