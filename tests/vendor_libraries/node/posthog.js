import { PostHog } from "posthog-node";
import { HOST, KEY, ORDER_TIME, ORDER } from "./visit.js";

const client = new PostHog(KEY, { host: HOST });
const url = "https://shop.example/sale?utm_source=news";
client.capture({
  distinctId: "device-1",
  event: "$pageview",
  properties: { $current_url: url, $referrer: "https://www.google.com/" },
});
client.capture({ distinctId: "device-1", event: "Signup Started", properties: { plan: "pro", seats: 3 } });
client.identify({ distinctId: "user-7", properties: { email: "ada@example.com", $anon_distinct_id: "device-1" } });
client.groupIdentify({ groupType: "company", groupKey: "team-1", distinctId: "user-7", properties: { name: "Team" } });
client.alias({ distinctId: "user-7", alias: "user-7-old" });
client.capture({
  distinctId: "user-7",
  event: "purchase",
  timestamp: new Date(ORDER_TIME),
  groups: { company: "team-1" },
  properties: { order_id: ORDER, value: 49.9, currency: "EUR" },
});
await client.shutdown();
