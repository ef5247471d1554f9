// What is sent: page views and whatever the page tells, each with the page it happened on and what led there.

const COOKIES = { fbp: "_fbp", fbc: "_fbc", ttp: "_ttp" };

const plain = (url) => url.split("#")[0];

let address = plain(location.href);
let referrer = document.referrer || undefined;
let landed = campaign();

function campaign() {
  const query = new URLSearchParams(location.search);
  const found = tracked.filter((name) => query.get(name)).map((name) => [name, query.get(name)]);
  return Object.fromEntries(found);
}

function cookieIds() {
  const found = Object.entries(COOKIES).map(([name, cookie]) => [name, read(cookie)]);
  return Object.fromEntries(found.filter(([, value]) => value));
}

function tell(name, given, fields = {}) {
  if (isRefused()) return undefined;
  const properties = given ?? {};
  const event = {
    event: name,
    event_id: newId(),
    timestamp: Date.now(),
    visitor_id: visitor(),
    ...fields,
    properties: { ...landed, ...cookieIds(), url: plain(location.href), title: document.title, referrer, ...properties },
    context: {
      session_id: session(),
      library: "touchpoint-web",
      version: "1",
      locale: navigator.language,
      screen: { width: screen.width, height: screen.height },
    },
  };
  say(name, event);
  send(JSON.stringify(event));
  const id = platformId(properties, event.event_id);
  happened(name, properties, id);
  return id;
}

const track = (name, properties, { event_id = newId() } = {}) => tell(name, properties, { event_id });
const page = (properties) => tell("page_view", { viewport_width: innerWidth, viewport_height: innerHeight, ...properties });
const alias = (user_id, previous_id) => tell("$alias", { user_id, previous_id });
const group = (group_id, traits = {}) => tell("$group", { group_id, traits });

function identify(user_id, traits = {}) {
  const isAlone = typeof user_id === "object";
  return tell("$identify", { traits: isAlone ? user_id : traits }, isAlone ? {} : { user_id });
}

// Pages that change their address themselves: another path or query is another page view.
function moved() {
  const now = plain(location.href);
  if (now === address) return;
  [referrer, address] = [address, now];
  landed = campaign();
  setTimeout(safe(view)); // by then the page has its title
}

function view() {
  page();
  runScripts();
}

function watchHistory() {
  const { pushState } = history;
  history.pushState = function (...given) {
    pushState.apply(this, given);
    safe(moved)();
  };
  on(window, "popstate", moved);
  on(window, "pageshow", ({ persisted }) => persisted && view()); // back from the browser's memory
}

// An e-mail address in a form that is sent says who visits, where the page asks for that.
function watchForms() {
  let told;
  on(document, "submit", ({ target }) => {
    const field = [...target.elements].find((one) => one.type === "email" || (one.type === "text" && /e-?mail/i.test(one.name)));
    const email = field?.value.trim();
    if (/^\S+@\S+\.\S+$/.test(email ?? "") && email !== told) identify({ email: (told = email) });
  }, true);
}
