// The overview page: a client of the public API like any other. The key comes from the form or from
// the fragment of the address, which a browser never sends to a server; it is kept in memory only.

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
let key = "";

function element(name, attributes = {}, text = null) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  if (text !== null) made.textContent = text;
  return made;
}

function drawn(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  if (text !== null) made.textContent = text;
  return made;
}

async function read(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  const answer = await fetch(`/v1${path}${query ? `?${query}` : ""}`, { headers: { Authorization: `Bearer ${key}` } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

function say(text, fault = false) {
  byId("message").textContent = text;
  byId("message").classList.toggle("fault", fault);
}

function showTotals(overview) {
  const totals = [
    ["Visitors", overview.visitors_total],
    ["Sessions", overview.sessions_total],
    ["Page views", overview.pageviews_total],
    ["Custom events", overview.custom_events_total],
  ];
  byId("totals").replaceChildren(...totals.map(([label, value]) => {
    const box = element("div", {}, label);
    box.prepend(element("strong", {}, number.format(value)));
    return box;
  }));
}

function showSeries(overview, zone) {
  // As wide as it will stand there, so that texts keep their size on a phone.
  const [width, height, floor] = [Math.max(280, byId("series").clientWidth), 220, 190];
  const points = overview.time_series;
  const top = Math.max(1, ...points.map((point) => Math.max(point.visitors, point.pageviews)));
  const step = width / Math.max(1, points.length);
  const y = (value) => floor - (value / top) * (floor - 16);
  const day = new Intl.DateTimeFormat("en", {
    timeZone: zone, month: "short", day: "numeric", ...(overview.aggregation_level === "hour" ? { hour: "2-digit" } : {}),
  });
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Page views as bars, visitors as a line" });
  picture.append(drawn("line", { class: "grid", x1: 0, x2: width, y1: floor, y2: floor }));
  picture.append(drawn("text", { x: 0, y: 12 }, number.format(top)));
  points.forEach((point, index) => {
    const bar = drawn("rect", { class: "bar", x: index * step + 1, width: Math.max(1, step - 2), y: y(point.pageviews), height: floor - y(point.pageviews) });
    bar.append(drawn("title", {}, `${day.format(new Date(point.timestamp))}: ${point.visitors} visitors, ${point.pageviews} page views`));
    picture.append(bar);
    if (index % Math.ceil((points.length * 100) / width) === 0) {
      picture.append(drawn("text", { x: index * step, y: height - 10 }, day.format(new Date(point.timestamp))));
    }
  });
  const line = points.map((point, index) => `${(index + 0.5) * step},${y(point.visitors)}`).join(" ");
  picture.append(drawn("polyline", { class: "line", points: line }));
  const caption = element("figcaption");
  caption.append(element("span", { class: "key first" }), "page views", element("span", { class: "key second" }), `visitors per ${overview.aggregation_level}, ${zone}`);
  byId("series").replaceChildren(picture, caption, figures(points.map((point) => [
    day.format(new Date(point.timestamp)), number.format(point.visitors), number.format(point.pageviews),
  ])));
}

// What the picture shows, for who cannot see it or wants it exactly.
function figures(rows) {
  const box = element("details");
  const table = element("table");
  const head = element("tr");
  head.append(...["When", "Visitors", "Page views"].map((title) => element("th", { scope: "col" }, title)));
  table.append(head, ...rows.map(([when, ...counts]) => tableRow(when, counts)));
  const region = element("div", { class: "region", tabindex: "0", role: "region", "aria-label": "Visitors and page views" });
  region.append(table);
  box.append(element("summary", {}, "Show the numbers"), region);
  return box;
}

function tableRow(name, values) {
  const made = element("tr");
  made.append(element("th", { scope: "row" }, name), ...values.map((value) => element("td", {}, value)));
  return made;
}

function showRows(id, answer) {
  const rows = answer.data.map((row) => tableRow(row.name, [number.format(row.count), `${row.percentage.toFixed(1)} %`]));
  byId(id).replaceChildren(...rows);
}

async function show() {
  say("Reading…");
  try {
    const workspace = await read("/workspace");
    const zone = workspace.timezone;
    const local = new Intl.DateTimeFormat("en-CA", { timeZone: zone });
    const today = new Date();
    const range = {
      start_date: local.format(new Date(today.getTime() - (Number(byId("days").value) - 1) * 86400000)),
      end_date: local.format(today),
    };
    const [overview, referrer, page, browser] = await Promise.all([
      read("/overview", range),
      read("/traffic", { ...range, type: "referrer", limit: 10 }),
      read("/traffic", { ...range, type: "page", limit: 10 }),
      read("/devices", { ...range, type: "browser", limit: 10 }),
    ]);
    byId("workspace").textContent = workspace.name;
    byId("answers").hidden = false;
    showTotals(overview);
    showSeries(overview, zone);
    showRows("referrer", referrer);
    showRows("page", page);
    showRows("browser", browser);
    byId("key-form").hidden = true;
    byId("range").hidden = false;
    say(overview.complete ? "" : "Some events of this range are still on their way: totals are a lower bound.");
  } catch (fault) {
    say(fault.message, true);
  }
}

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value.trim();
  show();
});
byId("days").addEventListener("change", show);

const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("key")) {
  key = fragment.get("key");
  history.replaceState(null, "", location.pathname);
  show();
}
