// Passkeys. A form with data-ceremony asks this server what to sign, has the browser sign it, and is then sent
// as any form is, with the answer in fields of its own. Without support it stays hidden.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const REASONS = {
  InvalidStateError: "This device has a passkey of yours already.",
  NotAllowedError: "That was cancelled, or took too long.",
  SecurityError: "Passkeys work at the public address of this service only.",
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
  const body = ours ? await answer.json() : { error: "That did not work. Open the page again and repeat." };
  if (body.error) throw new Refused(body.error);
  return body;
}

async function hold(form) {
  const asked = await options(form);
  const signed = await ceremonies[form.dataset.ceremony](asked);
  // The password was for the options; it need not travel again.
  form.elements.password?.setAttribute("disabled", "");
  for (const [name, value] of [["challenge", asked.challenge], ...signed]) {
    const field = document.createElement("input");
    form.append(Object.assign(field, { type: "hidden", name, value }));
  }
  form.submit();
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
    message.textContent = fault instanceof Refused ? fault.message : REASONS[fault.name] ?? "That did not work. Try again, or use your password.";
    message.hidden = false;
    button.disabled = false;
    button.focus();
  }
}

if (window.PublicKeyCredential) {
  document.querySelectorAll(".without-passkeys").forEach((words) => { words.hidden = true; });
  document.querySelectorAll("form[data-ceremony]").forEach((form) => {
    form.addEventListener("submit", begin);
    form.hidden = false;
  });
}
