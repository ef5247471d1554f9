// Copies a text at the press of its button. Where a browser gives no clipboard, the text is selected instead.

/** @param {HTMLButtonElement} button */
async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Press Ctrl+C";
  }
  window.setTimeout(() => { button.textContent = "Copy"; }, 2500);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(/** @type {HTMLButtonElement} */ (button)));
}
