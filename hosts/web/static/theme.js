// Changes the theme without a reload. The form is sent as without this module: the server keeps the choice in a cookie.

/** @param {SubmitEvent} event */
async function change(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const chosen = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (!form.matches("form.theme") || !chosen) return;
  event.preventDefault();
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, chosen)));
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => null);
  if (answer?.type !== "opaqueredirect") {
    document.removeEventListener("submit", change);
    return form.requestSubmit(chosen);
  }
  const root = document.documentElement;
  if (chosen.value === "system") delete root.dataset.theme;
  else root.dataset.theme = chosen.value;
  document.querySelector("meta[name=color-scheme]")?.setAttribute("content", root.dataset.theme ?? "light dark");
  for (const button of document.querySelectorAll("form.theme button")) {
    button.setAttribute("aria-pressed", String(/** @type {HTMLButtonElement} */ (button).value === chosen.value));
  }
}

document.addEventListener("submit", change);
