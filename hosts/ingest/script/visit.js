// Who visits: a visitor of 365 days, a session that ends after 30 idle minutes, and whether they may be counted at all.

const YEAR = 365 * 86400;
const IDLE = 30 * 60;

function isRefused() {
  if (read("tp_out") || safe(() => localStorage.tp_out)()) return true;
  if (isOn("respectGpc", true) && navigator.globalPrivacyControl) return true;
  return isOn("respectDnt", false) && navigator.doNotTrack === "1";
}

function visitor() {
  const id = read("tp_vid") || newId();
  write("tp_vid", id, YEAR);
  return id;
}

// The cookie holds the id and the second it was last used: a browser may keep a cookie longer than it was told.
function session() {
  const now = Math.floor(Date.now() / 1000);
  const [known, last] = (read("tp_sid") ?? "").split(".");
  const id = known && now - last < IDLE ? known : newId();
  write("tp_sid", `${id}.${now}`, IDLE);
  return id;
}

function optOut(out = true) {
  if (out) {
    drop();
    for (const name of ["tp_vid", "tp_sid"]) write(name, "", 0);
  }
  write("tp_out", out ? "1" : "", out ? YEAR : 0);
  safe(() => (out ? (localStorage.tp_out = "1") : delete localStorage.tp_out))();
}
