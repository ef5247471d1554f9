import { Analytics } from "@segment/analytics-node";
import { HOST, KEY, ORDER_TIME, ORDER } from "./visit.js";

const analytics = new Analytics({ writeKey: KEY, host: HOST });
const anonymousId = "device-1";
const context = {
  ip: "203.0.113.9",
  page: { url: "https://shop.example/sale?utm_source=news", path: "/sale", referrer: "https://www.google.com/" },
};
analytics.page({ anonymousId, name: "Sale", context });
analytics.track({ anonymousId, event: "Signup Started", properties: { plan: "pro", seats: 3 } });
analytics.identify({ anonymousId, userId: "user-7", traits: { email: "ada@example.com" } });
analytics.group({ userId: "user-7", anonymousId, groupId: "team-1", traits: { name: "Team" } });
analytics.alias({ userId: "user-7", previousId: "device-1" });
analytics.track({
  userId: "user-7",
  event: "Order Completed",
  timestamp: new Date(ORDER_TIME),
  properties: { order_id: ORDER, total: 49.9, currency: "EUR", products: [{ product_id: "sku-1", price: 49.9 }] },
});
await analytics.closeAndFlush();
