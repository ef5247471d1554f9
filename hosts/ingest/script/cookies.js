// First-party cookies, on the widest domain the browser lets the page write to: www and shop are one visitor.
// Where a page may keep nothing, as in a sandboxed frame, the values last as long as the page.

const forgotten = {};
let site;

function read(name) {
  const found = safe(() => document.cookie.split("; ").find((one) => one.startsWith(`${name}=`)))();
  return found ? found.slice(name.length + 1) : forgotten[name];
}

function write(name, value, seconds) {
  forgotten[name] = seconds ? value : undefined;
  safe(() => put(name, value, seconds, (site ??= widest())))();
}

function put(name, value, seconds, domain) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${name}=${value}; Path=/; Max-Age=${seconds}; SameSite=Lax${secure}${domain && `; Domain=${domain}`}`;
}

function widest() {
  const labels = location.hostname.split(".");
  for (let first = labels.length - 2; first >= 0 && !/^[\d.:[\]]+$/.test(location.hostname); first -= 1) {
    const domain = labels.slice(first).join(".");
    put("tp_try", "1", 9, domain);
    const kept = document.cookie.includes("tp_try=1");
    put("tp_try", "", 0, domain);
    if (kept) return domain;
  }
  return "";
}
