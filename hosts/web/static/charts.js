// Charts: arrow keys read the values one by one, a click leads to the days of a bucket, dragging selects a range.

/** @param {Element | null | undefined} at */
const stopAt = (at) => at?.closest(".stop") ?? null;

/** @param {Element} chart @param {Element | null} stop */
function mark(chart, stop) {
  for (const one of chart.querySelectorAll(".stop.on")) one.classList.remove("on");
  stop?.classList.add("on");
  const said = chart.querySelector("[role=status]");
  if (said) said.textContent = stop?.querySelector(".tip")?.textContent?.replace(/\s+/g, " ").trim() ?? "";
}

/** @param {Element} chart */
function makeReadable(chart) {
  const canvas = chart.querySelector(".canvas");
  if (!canvas || canvas.hasAttribute("tabindex") || !chart.querySelector(".stop")) return;
  canvas.setAttribute("tabindex", "0");
  const said = document.createElement("p");
  said.className = "unseen";
  said.setAttribute("role", "status");
  chart.append(said);
}

/** @param {KeyboardEvent} event */
function moveByKey(event) {
  const chart = event.target instanceof Element && event.target.matches(".canvas") ? event.target.closest(".plot") : null;
  if (!chart) return;
  const stops = [...chart.querySelectorAll(".stop")];
  const at = stops.findIndex((stop) => stop.classList.contains("on"));
  const moves = { ArrowLeft: at < 0 ? stops.length - 1 : at - 1, ArrowRight: at + 1, Home: 0, End: stops.length - 1 };
  if (event.key === "Enter" && at >= 0) follow(chart, stops[at], stops[at]);
  if (!(event.key in moves)) return;
  event.preventDefault();
  const next = moves[/** @type {keyof typeof moves} */ (event.key)];
  mark(chart, stops[Math.max(0, Math.min(stops.length - 1, next))]);
}

/** The last day of a bucket: the day before the next one, or the last day of the range. */
/** @param {Element} chart @param {Element} stop */
function lastDay(chart, stop) {
  const stops = [...chart.querySelectorAll(".stop")];
  const own = stop.getAttribute("data-day") ?? "";
  const after = stops.slice(stops.indexOf(stop) + 1).find((one) => one.getAttribute("data-day") !== own);
  const whole = chart.getAttribute("data-last-day") ?? own;
  if (!after) return whole;
  const day = new Date(`${after.getAttribute("data-day")}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() - 1);
  const text = day.toISOString().slice(0, 10);
  return text < own ? own : text;
}

/** The first day of a bucket, or of the range if that begins later. */
/** @param {Element} chart @param {Element} stop */
function firstDay(chart, stop) {
  const own = stop.getAttribute("data-day") ?? "";
  const whole = chart.getAttribute("data-first-day") ?? own;
  return own < whole ? whole : own;
}

/** Leads to the days from one bucket to another. */
/** @param {Element} chart @param {Element} first @param {Element} last */
function follow(chart, first, last) {
  const query = new URLSearchParams(chart.getAttribute("data-select") ?? "");
  if (!first.hasAttribute("data-day")) return;
  query.set("from", firstDay(chart, first));
  query.set("to", lastDay(chart, last));
  const link = document.createElement("a");
  link.href = `?${query}`;
  chart.append(link);
  link.click();
  link.remove();
}

/** @param {PointerEvent} down */
function startSelection(down) {
  const first = down.target instanceof Element ? stopAt(down.target) : null;
  const chart = first?.closest(".plot[data-select]");
  const canvas = chart?.querySelector(".canvas");
  if (!first || !chart || !canvas || down.button !== 0 || down.pointerType === "touch") return;
  const stops = [...chart.querySelectorAll(".stop")];
  const shade = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  shade.setAttribute("class", "selection");
  shade.setAttribute("height", "100%");
  let last = first;
  down.preventDefault();
  const move = (/** @type {PointerEvent} */ event) => {
    last = stopAt(document.elementFromPoint(event.clientX, event.clientY)) ?? last;
    if (last === first && !shade.isConnected) return;
    const [from, to] = [first, last].sort((a, b) => stops.indexOf(a) - stops.indexOf(b));
    const [left, right] = [from, to].map((one) => one.querySelector(".hit"));
    const start = parseFloat(left?.getAttribute("x") ?? "0");
    const end = parseFloat(right?.getAttribute("x") ?? "0") + parseFloat(right?.getAttribute("width") ?? "0");
    shade.setAttribute("x", `${start}%`);
    shade.setAttribute("width", `${end - start}%`);
    if (!shade.isConnected) canvas.prepend(shade);
    canvas.classList.add("selecting");
  };
  const done = (/** @type {Event} */ event) => {
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", done);
    document.removeEventListener("pointercancel", done);
    canvas.classList.remove("selecting");
    const selected = shade.isConnected;
    shade.remove();
    const [from, to] = [first, last].sort((a, b) => stops.indexOf(a) - stops.indexOf(b));
    if (event.type === "pointerup" && (selected ? from !== to : first === last)) follow(chart, from, to);
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", done);
  document.addEventListener("pointercancel", done);
}

/** Makes every chart of the page readable by keyboard; call it again after new ones were added. */
export function enhanceCharts() {
  for (const chart of document.querySelectorAll(".plot")) makeReadable(chart);
}

document.addEventListener("keydown", moveByKey);
document.addEventListener("pointerdown", startSelection);
document.addEventListener("focusout", (event) => {
  const chart = event.target instanceof Element && event.target.matches(".canvas") ? event.target.closest(".plot") : null;
  if (chart) mark(chart, null);
});
enhanceCharts();
