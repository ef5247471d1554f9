// Events leave in batches: soon after the first one, and at the latest when the page is left. What could not be sent
// is kept, for the next page if need be. Each keeps its id, so what arrives twice counts once. Events wait as text:
// what a page changes of its values afterwards changes no event, and what is no text at all is none.

const SOON = 400;
const LONGEST_PAUSE = 60_000;
const MOST_EVENTS = 100;
const MOST_BYTES = 50_000;
const MOST_KEPT_ALIVE = 60_000; // browsers let a page that is left send 64 KiB
const MOST_KEPT = 500;
const KEPT = "tp_kept";

let waiting = [];
let timer;
let pause = SOON;
let isSending = false;

function send(event) {
  waiting.push(event);
  if (waiting.length >= MOST_EVENTS) flush();
  else sendLater(pause);
}

function sendLater(milliseconds) {
  timer ??= setTimeout(safe(flush), milliseconds);
}

async function flush() {
  clearTimeout(timer);
  timer = undefined;
  if (isSending || isRefused()) return;
  waiting = [...takeKept(), ...waiting];
  const batch = nextBatch();
  if (!batch.length) return;
  isSending = true;
  const left = navigator.onLine === false ? batch : await deliver(batch).catch(() => batch);
  isSending = false;
  if (!keep(left)) waiting.unshift(...left);
  pause = left.length ? Math.min(pause * 2, LONGEST_PAUSE) : SOON;
  if (waiting.length || left.length) sendLater(pause);
}

// What has to be sent again; what the service refuses for good is not.
async function deliver(batch) {
  const body = written(batch);
  const keepalive = bytesOf(body) < MOST_KEPT_ALIVE;
  const answer = await fetch(`${endpoint}/batch`, { method: "POST", body, keepalive, credentials: "omit" });
  say("sent", batch.length, answer.status);
  if (answer.status === 429 || answer.status >= 500) return batch;
  if (!answer.ok) return [];
  const { rejected } = await answer.json();
  for (const one of rejected) say("refused", one);
  return rejected.filter((one) => one.error.startsWith("Failed")).map((one) => batch[one.index]);
}

function nextBatch() {
  let size = 0;
  const fits = (event, place) => (size += bytesOf(event)) < MOST_BYTES || place === 0;
  const end = waiting.slice(0, MOST_EVENTS).findIndex((event, place) => !fits(event, place));
  return waiting.splice(0, end < 0 ? MOST_EVENTS : end);
}

const bytesOf = (text) => new Blob([text]).size;
const written = (events) => `{"workspace_id":${JSON.stringify(workspace)},"events":[${events}]}`;

// The page is left: nobody will read an answer.
function leave() {
  if (isRefused()) return;
  if (navigator.onLine === false) keep(waiting.splice(0));
  while (waiting.length) {
    const batch = nextBatch();
    if (!navigator.sendBeacon?.(`${endpoint}/batch`, written(batch))) keep(batch);
  }
}

// False where the page may keep nothing.
function keep(events) {
  if (!events.length) return true;
  const all = [...kept(), ...events].slice(-MOST_KEPT);
  return safe(() => localStorage.setItem(KEPT, JSON.stringify(all)) ?? true)();
}

function takeKept() {
  const events = kept();
  safe(() => localStorage.removeItem(KEPT))();
  return events;
}

const kept = () => safe(() => JSON.parse(localStorage.getItem(KEPT)))() ?? [];

function drop() {
  waiting = [];
  takeKept();
}
