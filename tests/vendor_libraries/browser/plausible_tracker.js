import Plausible from "plausible-tracker";
import { HOST, KEY, ORDER, later } from "./visit.js";

const plausible = Plausible({ domain: KEY, apiHost: HOST, trackLocalhost: true });
plausible.trackPageview();
plausible.trackEvent("Signup Started", { props: { plan: "pro", seats: 3 } });
plausible.trackEvent("Purchase", { revenue: { amount: 49.9, currency: "EUR" }, props: { order_id: ORDER } });
await later(500);
