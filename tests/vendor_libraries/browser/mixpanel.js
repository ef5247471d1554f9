import mixpanel from "mixpanel-browser";
import { HOST, KEY, ORDER, later } from "./visit.js";

mixpanel.init(KEY, { api_host: `${HOST}/mixpanel`, track_pageview: true, persistence: "localStorage", batch_flush_interval_ms: 300 });
mixpanel.track("Signup Started", { plan: "pro", seats: 3 });
mixpanel.identify("user-7");
mixpanel.people.set({ $email: "ada@example.com" });
mixpanel.set_group("company", "team-1");
mixpanel.alias("user-7-new");
mixpanel.track("purchase", { order_id: ORDER, value: 49.9, currency: "EUR" });
mixpanel.people.increment("logins", 2);
await later(2500);
