import { init, track } from "@plausible-analytics/tracker";
import { HOST, KEY, ORDER, later } from "./visit.js";

init({ domain: KEY, endpoint: `${HOST}/api/event`, captureOnLocalhost: true });
track("Signup Started", { props: { plan: "pro", seats: "3" } });
track("Purchase", { revenue: { amount: 49.9, currency: "EUR" }, props: { order_id: ORDER } });
await later(500);
