import { promisify } from "node:util";
import Mixpanel from "mixpanel";
import { HOST, KEY, ORDER_TIME, ORDER } from "./visit.js";

const { host, protocol } = new URL(HOST);
const mixpanel = Mixpanel.init(KEY, { host, protocol: protocol.slice(0, -1), path: "/mixpanel" });
const track = promisify(mixpanel.track.bind(mixpanel));
await track("Page Viewed", { distinct_id: "device-1", $current_url: "https://shop.example/sale?utm_source=news", $referrer: "https://www.google.com/" });
await track("Signup Started", { distinct_id: "device-1", plan: "pro", seats: 3 });
await promisify(mixpanel.people.set.bind(mixpanel.people))("user-7", { $email: "ada@example.com" });
await promisify(mixpanel.alias.bind(mixpanel))("device-1", "user-7");
await promisify(mixpanel.track_batch.bind(mixpanel))([
  { event: "purchase", properties: { distinct_id: "user-7", time: new Date(ORDER_TIME), order_id: ORDER, value: 49.9, currency: "EUR" } },
  { event: "Review Written", properties: { distinct_id: "user-7", time: new Date(), stars: 5 } },
]);
await promisify(mixpanel.people.track_charge.bind(mixpanel.people))("user-7", 49.9);
