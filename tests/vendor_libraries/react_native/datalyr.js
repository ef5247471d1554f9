import { Datalyr } from "@datalyr/react-native";
import { HOST, KEY, ORDER } from "../node/visit.js";

// The library has no setting for its host: the network sends what is for it to the one under test.
const send = globalThis.fetch;
globalThis.fetch = (url, options) => send(String(url).replace("https://ingest.datalyr.com", HOST), options);

await Datalyr.initialize({ apiKey: KEY, enableAutoEvents: false, enableAttribution: true, batchSize: 1, flushInterval: 200 });
await Datalyr.screen("Sale", { section: "mugs" });
await Datalyr.track("Signup Started", { plan: "pro", seats: 3 });
await Datalyr.identify("user-7", { email: "ada@example.com" });
await Datalyr.alias("user-7");
await Datalyr.track("purchase", { order_id: ORDER, value: 49.9, currency: "EUR" });
await Datalyr.flush();
await new Promise((resolve) => { setTimeout(resolve, 1500); });
process.exit(0); // timers of the library remain
