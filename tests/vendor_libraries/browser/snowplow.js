import { newTracker, setUserId, trackPageView, trackSelfDescribingEvent, trackStructEvent } from "@snowplow/browser-tracker";
import { SnowplowEcommercePlugin, trackAddToCart, trackRefund, trackTransaction } from "@snowplow/browser-plugin-snowplow-ecommerce";
import { HOST, KEY, ORDER, later } from "./visit.js";

newTracker("shop", HOST, { appId: KEY, contexts: { webPage: true, session: true }, plugins: [SnowplowEcommercePlugin()] });
trackPageView();
trackSelfDescribingEvent({
  event: { schema: "iglu:com.example/signup_started/jsonschema/1-0-0", data: { plan: "pro", seats: 3 } },
});
setUserId("user-7");
trackStructEvent({ category: "video", action: "play", label: "intro", property: "full", value: 7 });
trackTransaction({ transaction_id: ORDER, revenue: 49.9, currency: "EUR", payment_method: "card", tax: 8, products: [{ id: "sku-1", category: "cups", price: 49.9, currency: "EUR" }] });
trackAddToCart({ products: [{ id: "sku-2", category: "cups", price: 9.9, currency: "EUR" }], total_value: 9.9, currency: "EUR" });
trackRefund({ transaction_id: ORDER, refund_amount: 9.9, currency: "EUR" });
await later(1500);
