import RudderAnalytics from "@rudderstack/rudder-sdk-node";
import { HOST, KEY, ORDER_TIME, ORDER } from "./visit.js";

const client = new RudderAnalytics(KEY, { dataPlaneUrl: HOST });
const anonymousId = "device-1";
client.page({
  anonymousId,
  name: "Sale",
  properties: { url: "https://shop.example/sale?utm_source=news", path: "/sale", referrer: "https://www.google.com/" },
});
client.track({ anonymousId, event: "Signup Started", properties: { plan: "pro", seats: 3 } });
client.identify({ anonymousId, userId: "user-7", traits: { email: "ada@example.com" } });
client.group({ userId: "user-7", groupId: "team-1", traits: { name: "Team" } });
client.alias({ userId: "user-7", previousId: "device-1" });
client.track({
  userId: "user-7",
  event: "Order Completed",
  timestamp: new Date(ORDER_TIME),
  properties: { order_id: ORDER, total: 49.9, currency: "EUR" },
});
await client.flush();
