// Adds a button to every block of code of a documentation page that copies it.

const SHOWN_MILLISECONDS = 2500;

/**
 * The code as it is typed: without the prompts of a terminal.
 * @param {HTMLElement} code
 */
function typedText(code) {
  const text = (code.textContent ?? "").trimEnd();
  return code.classList.contains("language-console") ? text.replace(/^\$ /gm, "") : text;
}

/**
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} code
 */
async function copyCode(button, code) {
  try {
    await navigator.clipboard.writeText(typedText(code));
    button.textContent = "Copied";
  } catch {
    getSelection()?.selectAllChildren(code);
    button.textContent = "Press Ctrl+C";
  }
  window.setTimeout(() => { button.textContent = "Copy"; }, SHOWN_MILLISECONDS);
}

for (const code of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("pre > code"))) {
  const block = /** @type {HTMLElement} */ (code.parentElement);
  block.tabIndex = 0; // a long line is scrolled with the keyboard
  const frame = document.createElement("div");
  frame.className = "sample";
  block.replaceWith(frame);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", () => copyCode(button, code));
  frame.append(block, button);
}
