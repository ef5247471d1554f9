// A tab of a card replaces the card alone. Without this script the same link loads the whole page.

/** The query of the page that is shown: a link to a place on it changes the address, too. */
let shown = location.search;

/** @param {HTMLAnchorElement} link */
async function swap(link) {
  const card = document.getElementById(link.dataset.swap ?? "");
  if (!card) return;
  const address = new URL(link.href);
  card.setAttribute("aria-busy", "true");
  const part = new URL(address);
  part.searchParams.set("part", link.dataset.part ?? "");
  const answer = await fetch(part, { credentials: "same-origin" }).catch(() => null);
  if (!answer?.ok || answer.redirected) {
    location.assign(address);
    return;
  }
  const fragment = document.createRange().createContextualFragment(await answer.text());
  const fresh = fragment.firstElementChild;
  // Another link may have replaced the card while this one was on its way.
  const place = document.getElementById(card.id);
  if (!fresh || !place) return;
  place.replaceWith(fragment);
  history.pushState({ swapped: true }, "", address);
  shown = location.search;
  const current = fresh.querySelector("[aria-current]");
  if (current instanceof HTMLElement) current.focus();
  document.dispatchEvent(new CustomEvent("swapped", { detail: address.search }));
}

/** Keeps the other links of the page at the tab that was opened. */
function followOpenedTab(/** @type {CustomEvent<string>} */ event) {
  const opened = new URLSearchParams(event.detail);
  for (const card of document.querySelectorAll("[data-part]")) {
    const part = card instanceof HTMLElement ? card.dataset.part ?? "" : "";
    for (const link of document.querySelectorAll("main a[href^='?']")) {
      if (!(link instanceof HTMLAnchorElement) || link.dataset.part === part) continue;
      const query = new URLSearchParams(link.getAttribute("href")?.slice(1));
      if (opened.has(part)) query.set(part, opened.get(part) ?? "");
      else query.delete(part);
      link.setAttribute("href", `?${query}`);
    }
  }
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-swap]") : null;
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented) return;
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  swap(link);
});
document.addEventListener("swapped", /** @type {EventListener} */ (followOpenedTab));
window.addEventListener("popstate", () => {
  if (location.search !== shown) location.reload();
});
