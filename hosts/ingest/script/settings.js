// What the page says in the attributes of the script's element, and what nothing here may do: throw into the page.

const own = document.currentScript ?? document.querySelector("script[data-workspace-id]");
const data = own?.dataset ?? {};
const isOn = (name, otherwise) => (data[name] === undefined ? otherwise : data[name] !== "false");
const listed = (text) => (text ?? "").split(",").map((one) => one.trim()).filter(Boolean);

const workspace = data.workspaceId;
const endpoint = (data.endpoint ?? own?.src.replace(/\/t\.js([?#].*)?$/, "") ?? "").replace(/\/$/, "");
const tracked = [
  "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id", "lyr",
  "fbclid", "gclid", "gbraid", "wbraid", "ttclid", "oppref", "msclkid", "twclid", "li_fat_id", "sclid", "ScCid", "sccid",
  "dclid", "epik", "rdt_cid", "obclid", "irclid", "irclickid", "ko_click_id", ...listed(data.trackedParams),
];

const say = (...words) => isOn("debug", false) && console.debug("[touchpoint]", ...words);

function safe(work) {
  return (...given) => {
    try {
      const done = work(...given);
      if (done instanceof Promise) done.catch(say);
      return done;
    } catch (fault) {
      say(fault);
    }
  };
}

const on = (target, name, work, options) => target.addEventListener(name, safe(work), options);

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
