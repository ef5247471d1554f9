// Cards of a dashboard are moved and resized by dragging. Without this script the buttons below each card do the same.

const SIZES = /** @type {const} */ ({ sm: 1 / 3, md: 1 / 2, lg: 1 });

const form = document.querySelector("form[data-card-form]");

/** @param {string} operation @param {Element} slot @param {Record<string, string>} fields */
function submit(operation, slot, fields) {
  if (!(form instanceof HTMLFormElement)) return;
  const values = { op: operation, report_id: slot.getAttribute("data-card") ?? "", ...fields };
  for (const [name, value] of Object.entries(values)) {
    const field = form.elements.namedItem(name);
    if (field instanceof HTMLInputElement) field.value = value;
  }
  form.submit();
}

/** The size whose share of the board is nearest to a width. */
/** @param {Element} slot @param {number} width */
function nearestSize(slot, width) {
  const whole = slot.parentElement?.getBoundingClientRect().width ?? width;
  const distance = (/** @type {number} */ share) => Math.abs(share - width / whole);
  return Object.entries(SIZES).reduce((best, one) => (distance(one[1]) < distance(best[1]) ? one : best))[0];
}

/** @param {PointerEvent} down @param {(event: PointerEvent) => void} move @param {() => void} drop */
function follow(down, move, drop) {
  down.preventDefault();
  const stop = (/** @type {Event} */ event) => {
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", stop);
    document.removeEventListener("pointercancel", stop);
    if (event.type === "pointerup") drop();
    for (const one of document.querySelectorAll(".slot")) one.classList.remove("dragged", "target");
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", stop);
  document.addEventListener("pointercancel", stop);
}

/** @param {PointerEvent} down @param {Element} slot */
function dragToPlace(down, slot) {
  let target = slot;
  slot.classList.add("dragged");
  const move = (/** @type {PointerEvent} */ event) => {
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest(".slot");
    target.classList.remove("target");
    target = under ?? target;
    if (target !== slot) target.classList.add("target");
  };
  follow(down, move, () => {
    const place = [...document.querySelectorAll(".slot")].indexOf(target);
    if (target !== slot) submit("move", slot, { position: String(place) });
  });
}

/** @param {PointerEvent} down @param {Element} slot */
function dragToSize(down, slot) {
  const before = Object.keys(SIZES).find((size) => slot.classList.contains(size)) ?? "md";
  const left = slot.getBoundingClientRect().left;
  let size = before;
  const move = (/** @type {PointerEvent} */ event) => {
    size = nearestSize(slot, event.clientX - left);
    slot.classList.remove(...Object.keys(SIZES));
    slot.classList.add(size);
  };
  follow(down, move, () => {
    if (size !== before) submit("resize", slot, { size });
  });
}

for (const handle of document.querySelectorAll("[data-drag]")) {
  const slot = handle.closest(".slot");
  if (!slot || !(handle instanceof HTMLElement)) continue;
  handle.hidden = false;
  handle.addEventListener("pointerdown", (down) =>
    handle.dataset.drag === "size" ? dragToSize(down, slot) : dragToPlace(down, slot),
  );
}
