import { HOST, KEY, ORDER, later } from "./visit.js";

const script = document.createElement("script");
script.src = "/umami.js";
script.dataset.websiteId = KEY;
script.dataset.hostUrl = HOST;
document.head.append(script);
await new Promise((resolve) => { script.onload = resolve; });
await later(300);
await umami.track("Signup Started", { plan: "pro", seats: 3 });
await umami.identify({ email: "ada@example.com" });
await umami.track("purchase", { revenue: 49.9, currency: "EUR", order_id: ORDER });
