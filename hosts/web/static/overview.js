// The overview of whoever holds a key. The key comes from the form or from the fragment of the address,
// which a browser never sends to a server; it is kept in memory only. The server draws what it opens.

const byId = (id) => document.getElementById(id);
const fragment = () => new URLSearchParams(location.hash.slice(1));
let key = "";

function say(text, fault = false) {
  byId("message").textContent = text;
  byId("message").className = fault ? "note bad" : "quiet";
}

async function show() {
  if (byId("key-form")) say("Reading…");
  byId("answers").setAttribute("aria-busy", "true");
  try {
    const address = new URL(`../look?days=${encodeURIComponent(fragment().get("days") ?? "")}`, import.meta.url);
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error((await answer.json()).error);
    const held = byId("answers").contains(document.activeElement);
    byId("answers").innerHTML = await answer.text();
    if (held) document.querySelector(".ranges [aria-current]").focus();
    say("");
  } catch (fault) {
    say(fault.message, true);
  } finally {
    byId("answers").removeAttribute("aria-busy");
  }
}

function enter() {
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
window.addEventListener("hashchange", enter);
enter();
