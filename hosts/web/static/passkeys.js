// Passkeys. For a form with data-ceremony this server is asked what to sign, the browser has it signed, and the
// answer is sent as any form is. Where a browser has no passkeys, such a form stays hidden.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const REASONS = {
  InvalidStateError: "This device already has one of your passkeys.",
  NotAllowedError: "That was canceled or took too long.",
  SecurityError: "Passkeys only work at the public address of this service.",
};

const ceremonies = {
  async create(asked) {
    const known = asked.excludeCredentials.map((one) => ({ ...one, id: bytes(one.id) }));
    const publicKey = { ...asked, challenge: bytes(asked.challenge), user: { ...asked.user, id: bytes(asked.user.id) }, excludeCredentials: known };
    const { response } = await navigator.credentials.create({ publicKey });
    return [
      ["client_data", text(response.clientDataJSON)],
      ["attestation", text(response.attestationObject)],
      ...(response.getTransports?.() ?? []).map((way) => ["transport", way]),
    ];
  },
  async get(asked) {
    const publicKey = { ...asked, challenge: bytes(asked.challenge), allowCredentials: [] };
    const { rawId, response } = await navigator.credentials.get({ publicKey });
    return [
      ["credential_id", text(rawId)],
      ["user", text(response.userHandle ?? new ArrayBuffer(0))],
      ["client_data", text(response.clientDataJSON)],
      ["authenticator_data", text(response.authenticatorData)],
      ["signature", text(response.signature)],
    ];
  },
};

class Refused extends Error {}

async function options(form) {
  const answer = await fetch(form.dataset.options, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  const ours = answer.headers.get("Content-Type") === "application/json";
  const body = ours ? await answer.json() : { error: "That didn't work. Reload the page and try again." };
  if (body.error) throw new Refused(body.error);
  return body;
}

// The answer leaves in a form of its own: the one on the page stays as it was, for whoever comes back to it.
function send(form, fields) {
  const sent = Object.assign(document.createElement("form"), { method: "post", action: form.action, hidden: true });
  for (const [name, value] of fields) {
    sent.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
  document.body.append(sent);
  sent.submit();
}

async function hold(form) {
  const asked = await options(form);
  const signed = await ceremonies[form.dataset.ceremony](asked);
  // The password was for the options; it need not travel again.
  const written = [...new FormData(form)].filter(([name]) => name !== "password");
  send(form, [...written, ["challenge", asked.challenge], ...signed]);
}

async function begin(event) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  const message = form.querySelector("[role=alert]");
  message.hidden = true;
  button.disabled = true;
  try {
    await hold(form);
  } catch (fault) {
    message.textContent = fault instanceof Refused ? fault.message : REASONS[fault.name] ?? "That didn't work. Try again, or use your password.";
    message.hidden = false;
    button.disabled = false;
    button.focus();
  }
}

function offer(form) {
  form.addEventListener("submit", begin);
  window.addEventListener("pageshow", () => { form.querySelector("button").disabled = false; });
  form.hidden = false;
}

if (window.PublicKeyCredential) {
  document.querySelectorAll(".without-passkeys").forEach((words) => { words.hidden = true; });
  document.querySelectorAll("form[data-ceremony]").forEach(offer);
}
