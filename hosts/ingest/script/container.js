// Scripts people approved for this workspace: each runs when its trigger happens, as often as it may, where its
// conditions hold. An inline script gets an element of its own, with the nonce of this one.

const TESTS = {
  equals: (fact, value) => fact === value,
  not_equals: (fact, value) => fact !== value,
  contains: (fact, value) => fact.includes(value),
  not_contains: (fact, value) => !fact.includes(value),
  starts_with: (fact, value) => fact.startsWith(value),
  ends_with: (fact, value) => fact.endsWith(value),
};
const FACTS = {
  url_path: () => location.pathname,
  url_host: () => location.hostname,
  url_parameter: (name) => new URLSearchParams(location.search).get(name) ?? "",
  referrer: () => document.referrer,
  device_type: deviceType,
};
const RAN = "tp_ran";
const ran = new Set();
const early = [];

let scripts;

function deviceType() {
  const agent = navigator.userAgent;
  if (/iPad|Tablet|PlayBook|Silk/i.test(agent) || (/Android/i.test(agent) && !/Mobile/i.test(agent))) return "tablet";
  if (/Macintosh/.test(agent) && navigator.maxTouchPoints > 1) return "tablet"; // an iPad says it is a Mac
  return /Mobi|iPhone|iPod/i.test(agent) ? "mobile" : "desktop";
}

async function loadScripts() {
  const body = JSON.stringify({ workspace_id: workspace });
  const answer = await fetch(`${endpoint}/container-scripts`, { method: "POST", body, credentials: "omit" }).catch(say);
  ({ scripts, pixels } = answer?.ok ? await answer.json() : { scripts: [], pixels: {} });
  if (isRefused()) return;
  runScripts();
  for (const event of early.splice(0)) happened(...event);
}

// After every page view: in a page that moves by itself, conditions may hold later.
function runScripts() {
  for (const script of scripts ?? []) if (script.trigger !== "custom") whenReady(script);
}

// An event was told: pixels hear of it, and scripts of its name with the trigger `custom` run.
function happened(...event) {
  if (!scripts) {
    early.push(event);
    return;
  }
  tellPixels(...event);
  for (const script of scripts) if (script.trigger === "custom" && script.name === event[0]) run(script);
}

function whenReady(script) {
  const state = document.readyState;
  if (script.trigger === "dom_ready" && state === "loading") on(document, "DOMContentLoaded", () => run(script), { once: true });
  else if (script.trigger === "window_load" && state !== "complete") on(window, "load", () => run(script), { once: true });
  else run(script);
}

const run = safe((script) => {
  const holds = ({ type, operator, value, parameter }) => TESTS[operator](FACTS[type](parameter), value);
  if (!script.enabled || isRefused() || !script.conditions.every(holds) || !claim(script)) return;
  say("runs", script.name);
  if (script.type === "pixel" && /^https:\S+$/.test(script.content)) new Image().src = script.content;
  else document.head.append(elementOf(script));
});

// Whether a script may run now; then it has. `always` is each time its trigger happens, which is once in a page for
// all but `custom`; and none runs because of what itself tells.
function claim({ id, frequency, trigger }) {
  if (ran.has(id)) return false;
  ran.add(id);
  if (trigger === "custom" && frequency === "always") setTimeout(() => ran.delete(id));
  return frequency !== "once_per_session" || claimOfSession(id);
}

function claimOfSession(id) {
  const now = session();
  const known = safe(() => JSON.parse(localStorage.getItem(RAN)))();
  const ids = known?.session === now ? known.ids : [];
  safe(() => localStorage.setItem(RAN, JSON.stringify({ session: now, ids: [...ids, id] })))();
  return !ids.includes(id);
}

function elementOf({ type, content, settings }) {
  const element = document.createElement("script");
  element.nonce = own?.nonce ?? "";
  if (type !== "external") {
    element.textContent = content;
    return element;
  }
  element.src = content;
  element.async = settings.async ?? !settings.defer;
  element.defer = settings.defer ?? false;
  element.integrity = settings.integrity ?? "";
  element.crossOrigin = settings.crossorigin ?? "anonymous";
  return element;
}
