import { HOST, KEY, ORDER } from "../node/visit.js";

const { newTracker } = require("@snowplow/react-native-tracker"); // its build for bundlers also exports types

const tracker = await newTracker({ namespace: "shop", appId: KEY, endpoint: HOST });
tracker.setUserId("user-7");
tracker.trackPageViewEvent({ pageUrl: "https://shop.example/sale?utm_source=news", pageTitle: "Sale", referrer: "https://www.google.com/" });
tracker.trackScreenViewEvent({ name: "Sale" });
tracker.trackSelfDescribingEvent({ schema: "iglu:com.example/signup_started/jsonschema/1-0-0", data: { plan: "pro", seats: 3 } });
tracker.trackStructuredEvent({ category: "video", action: "play", label: "intro", property: "full", value: 7 });
tracker.trackSelfDescribingEvent({ schema: "iglu:com.example/purchase/jsonschema/1-0-0", data: { order_id: ORDER, value: 49.9, currency: "EUR" } });
await new Promise((resolve) => { setTimeout(resolve, 1500); });
process.exit(0); // timers of the library remain
