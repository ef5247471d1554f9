import { AnalyticsBrowser } from "@segment/analytics-next";
import { KEY, ORDER, ORIGIN } from "./visit.js";

const settings = { integrations: { "Segment.io": { apiKey: KEY, apiHost: `${ORIGIN}/v1`, protocol: "http" } } };
const analytics = AnalyticsBrowser.load({ writeKey: KEY, cdnSettings: settings });
await analytics.page("Sale");
await analytics.track("Signup Started", { plan: "pro", seats: 3 });
await analytics.identify("user-7", { email: "ada@example.com" });
await analytics.group("team-1", { name: "Team" });
await analytics.alias("user-7", "device-1");
await analytics.track("Order Completed", { order_id: ORDER, total: 49.9, currency: "EUR" });
