import { createClient } from "@segment/analytics-react-native";
import { HOST, KEY, ORDER } from "../node/visit.js";

// The library sends to https only: the network sends what is for this host to the one under test.
const send = globalThis.fetch;
globalThis.fetch = (url, options) => send(String(url).replace("https://ingest.example", HOST), options);

const client = createClient({ writeKey: KEY, proxy: "ingest.example/v1/b", autoAddSegmentDestination: true, defaultSettings: { integrations: { "Segment.io": { apiKey: KEY } } }, cdnProxy: "ingest.example", trackAppLifecycleEvents: false, flushInterval: 1 });
await client.init();
await client.screen("Sale", { section: "mugs" });
await client.track("Signup Started", { plan: "pro", seats: 3 });
await client.identify("user-7", { email: "ada@example.com" });
await client.group("team-1", { name: "Team" });
await client.alias("user-8");
await client.track("Order Completed", { order_id: ORDER, total: 49.9, currency: "EUR" });
await client.flush();
await new Promise((resolve) => { setTimeout(resolve, 2500); });
process.exit(0); // timers of the library remain
