// Keys of a page with a range bar, and menus that close. Every key follows a link that stands on the page.

const OFF = "touchpoint-keys-off";

/** @param {EventTarget | null} target */
const takesText = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(input|select|textarea)$/i.test(target.tagName));

/** @param {Element | null} except */
function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.dropdown[open]")) {
    if (!except || !menu.contains(except)) menu.removeAttribute("open");
  }
}

/** Opens the search of the page, or the form of a new filter. */
function openSearch() {
  const search = document.querySelector("main input[type=search]");
  const form = document.getElementById("add-filter");
  if (search instanceof HTMLElement) search.focus();
  else if (form) {
    form.setAttribute("open", "");
    form.querySelector("select")?.focus();
  }
}

function openKeys() {
  const dialog = document.getElementById("keys");
  if (dialog instanceof HTMLDialogElement) dialog.showModal();
}

/** @param {KeyboardEvent} event */
function pressKey(event) {
  if (event.key === "Escape") {
    const open = document.querySelector("details.dropdown[open] > summary");
    closeMenus(null);
    if (open instanceof HTMLElement) open.focus();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (takesText(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key.startsWith("Arrow") && event.target !== document.body) return;
  if (localStorage.getItem(OFF) && event.key !== "?") return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "/" || key === "?") {
    event.preventDefault();
    if (key === "/") openSearch();
    else openKeys();
    return;
  }
  const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (found instanceof HTMLElement) found.click();
}

/** Fills the list of values under a field with what its dimension has. @param {HTMLInputElement} field */
async function suggest(field) {
  const dimension = field.form?.elements.namedItem("filter_dimension");
  if (!(dimension instanceof HTMLSelectElement)) return;
  const address = new URL(field.dataset.values ?? "", location.href);
  address.searchParams.set("dimension", dimension.value);
  address.searchParams.set("q", field.value.trim());
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok) return;
  const { values } = await answer.json();
  let list = field.list;
  if (!list) {
    list = document.createElement("datalist");
    list.id = `values-${document.querySelectorAll("datalist").length}`;
    field.after(list);
    field.setAttribute("list", list.id);
  }
  list.replaceChildren(...values.map((/** @type {{value: string, label: string}} */ one) => new Option(one.label, one.value)));
}

/** @type {number | undefined} */
let asking;
/** @param {Event} event */
function suggestSoon(event) {
  const form = event.target instanceof Element ? event.target.closest("form") : null;
  const chosen = event.target instanceof HTMLSelectElement && event.target.name === "filter_dimension";
  const field = chosen ? form?.querySelector("[data-values]") : event.target;
  if (!(field instanceof HTMLInputElement) || !field.dataset.values) return;
  window.clearTimeout(asking);
  asking = window.setTimeout(suggest, 250, field);
}

document.addEventListener("input", suggestSoon);
document.addEventListener("focusin", suggestSoon);
document.addEventListener("keydown", pressKey);
document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest("[data-open-keys]")) openKeys();
  closeMenus(target);
});
for (const button of document.querySelectorAll("[data-open-keys]")) button.removeAttribute("hidden");

const choice = document.getElementById("use-keys");
if (choice instanceof HTMLInputElement) {
  choice.checked = !localStorage.getItem(OFF);
  choice.addEventListener("change", () => {
    if (choice.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  });
}
