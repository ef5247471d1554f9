import { RudderAnalytics } from "@rudderstack/analytics-js/bundled";
import { HOST, KEY, ORDER, later } from "./visit.js";

const rudder = new RudderAnalytics();
rudder.load(KEY, HOST, {
  getSourceConfig: () => ({
    updatedAt: "",
    source: {
      id: "source-1", name: "Shop", writeKey: KEY, enabled: true, workspaceId: "w", createdBy: "", updatedAt: "", config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
      dataplanes: {}, destinations: [], connections: [], sourceDefinition: { name: "Javascript" },
    },
  }),
  configUrl: HOST,
});
await new Promise((resolve) => rudder.ready(resolve));
rudder.page("Sale");
rudder.track("Signup Started", { plan: "pro", seats: 3 });
rudder.identify("user-7", { email: "ada@example.com" });
rudder.group("team-1", { name: "Team" });
rudder.alias("user-7", "device-1");
rudder.track("Order Completed", { order_id: ORDER, total: 49.9, currency: "EUR" });
await later(1500);
