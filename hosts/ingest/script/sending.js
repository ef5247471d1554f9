// Events leave in batches: soon after the first one, and at the latest when the page is left. What could not be sent
// is kept until it has arrived, by the next page if need be. Each keeps its id, so what arrives twice counts once.
// Events wait as text: what a page changes of its values afterwards changes no event, and what is no text is none.

const SOON = 400;
const LONGEST_PAUSE = 60_000;
const MOST_EVENTS = 100;
const MOST_BYTES = 50_000;
const MOST_KEPT_ALIVE = 60_000; // browsers let a page that is left send 64 KiB
const MOST_KEPT = 500;
const KEPT = "tp_kept";

let waiting = [];
let sending = [];
let timer;
let pause = SOON;

function send(event) {
  waiting.push(event);
  if (waiting.length >= MOST_EVENTS) safe(flush)();
  else sendLater();
}

function sendLater() {
  timer ??= setTimeout(safe(flush), pause);
}

async function flush() {
  clearTimeout(timer);
  timer = undefined;
  if (sending.length || isRefused()) return;
  const old = kept();
  const batch = nextBatch(old.length ? old : waiting);
  if (!batch.length) return;
  sending = batch;
  const left = navigator.onLine === false ? batch : await deliver(batch).catch(() => batch);
  sending = [];
  if (isRefused()) return;
  if (!keep(left, batch)) waiting.unshift(...left);
  pause = left.length ? Math.min(pause * 2, LONGEST_PAUSE) : SOON;
  if (left.length) sendLater();
  else await flush();
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

// Takes the first events of a list, as many as one request carries; one that is too large goes alone.
function nextBatch(events) {
  let size = 0;
  const fits = (event, place) => (size += bytesOf(event)) < MOST_BYTES || place === 0;
  const end = events.slice(0, MOST_EVENTS).findIndex((event, place) => !fits(event, place));
  return events.splice(0, end < 0 ? MOST_EVENTS : end);
}

const bytesOf = (text) => new Blob([text]).size;
const written = (events) => `{"workspace_id":${JSON.stringify(workspace)},"events":[${events}]}`;

// The page is left: nobody may read an answer, not even of what is on its way.
function leave() {
  if (isRefused()) return;
  keep(sending);
  if (navigator.onLine === false) keep(waiting.splice(0));
  while (waiting.length) {
    const batch = nextBatch(waiting);
    if (!navigator.sendBeacon?.(`${endpoint}/batch`, written(batch))) keep(batch);
  }
}

// Keeps some events and forgets others; false where the page may keep nothing.
function keep(events, others = []) {
  const all = new Set(kept());
  for (const one of others) all.delete(one);
  for (const one of events) all.add(one);
  return safe(() => {
    if (all.size) localStorage.setItem(KEPT, JSON.stringify([...all].slice(-MOST_KEPT)));
    else localStorage.removeItem(KEPT);
    return true;
  })();
}

const kept = () => safe(() => [...(JSON.parse(localStorage.getItem(KEPT)) ?? [])])() ?? [];

function drop() {
  waiting = [];
  keep([], kept());
}
