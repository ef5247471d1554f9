// Ctrl-K or Cmd-K searches the workspace on any page. Without this script the same link opens the search page.

const entry = document.querySelector("a[data-palette]");
const dialog = document.createElement("dialog");
const input = document.createElement("input");
const list = document.createElement("div");
let asked = 0;
/** @type {number | undefined} */
let typing;

function build() {
  dialog.id = "palette";
  dialog.setAttribute("aria-label", "Search the workspace");
  input.type = "search";
  input.placeholder = "Search pages, reports, links, people…";
  input.setAttribute("aria-label", "Search pages, reports, links and people");
  input.autocomplete = "off";
  list.setAttribute("aria-live", "polite");
  dialog.append(input, list);
  document.body.append(dialog);
}

/** Shows the results of the words; an answer that a later one overtook is dropped. */
async function search() {
  if (!(entry instanceof HTMLAnchorElement)) return;
  clearTimeout(typing);
  const number = (asked += 1);
  const words = input.value.trim();
  const address = new URL(entry.href);
  address.searchParams.set("q", words);
  address.searchParams.set("part", "list");
  const answer = await fetch(address, { credentials: "same-origin" }).catch(() => null);
  if (number !== asked) return;
  if (!answer?.ok || answer.redirected) {
    list.textContent = "Search is not available. Reload the page.";
    return;
  }
  const html = await answer.text();
  if (number !== asked) return;
  list.replaceChildren(document.createRange().createContextualFragment(html));
  list.dataset.words = words;
}

/** Follows the first result of the words that stand in the field now. */
async function followFirst() {
  if (list.dataset.words !== input.value.trim()) await search();
  if (list.dataset.words === input.value.trim()) list.querySelector("a")?.click();
}

function open() {
  if (!dialog.isConnected) build();
  if (dialog.open) return;
  input.value = "";
  delete list.dataset.words;
  dialog.showModal();
  search();
}

/** @param {number} step */
function move(step) {
  const links = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("a")]);
  const at = links.findIndex((link) => link === document.activeElement) + step;
  (at < 0 ? input : links[Math.min(at, links.length - 1)] ?? input).focus();
}

/** @param {KeyboardEvent} event */
function pressKey(event) {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open();
  }
  if (!dialog.open) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  }
  if (event.key === "Enter" && document.activeElement === input) {
    event.preventDefault();
    followFirst();
  }
}

if (entry instanceof HTMLAnchorElement) {
  document.addEventListener("keydown", pressKey);
  entry.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  input.addEventListener("input", () => {
    clearTimeout(typing);
    asked += 1;
    typing = setTimeout(search, 150);
  });
}
