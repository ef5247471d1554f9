import {
  buildPageView, buildSelfDescribingEvent, buildStructEvent, buildEcommerceTransaction, newTracker,
} from "@snowplow/node-tracker";
import * as tracker from "@snowplow/node-tracker";
import { HOST, KEY, ORDER_TIME, ORDER } from "./visit.js";

const { hostname, port } = new URL(HOST);
let done;
const sent = new Promise((resolve) => { done = resolve; });
const t = newTracker(
  { namespace: "shop", appId: KEY, encodeBase64: true },
  { endpoint: `${HOST}`, eventMethod: "post", bufferSize: 4, onRequestSuccess: () => done?.(), onRequestFailure: (fault) => { throw new Error(JSON.stringify(fault)); } },
);
t.setDomainUserId?.("device-1");
t.setUserId("user-7");
t.setScreenResolution(1920, 1080);
t.setLang("en-GB");
t.track(buildPageView({ pageUrl: "https://shop.example/sale?utm_source=news", pageTitle: "Sale", referrer: "https://www.google.com/" }));
t.track(buildSelfDescribingEvent({
  event: { schema: "iglu:com.example/signup_started/jsonschema/1-0-0", data: { plan: "pro", seats: 3 } },
}), [{ schema: "iglu:com.example/page/jsonschema/1-0-0", data: { kind: "sale" } }]);
t.track(buildStructEvent({ category: "video", action: "play", label: "intro", property: "full", value: 7 }));
t.track(buildEcommerceTransaction({ orderId: ORDER, total: 49.9, tax: 8, shipping: 5, currency: "EUR" }), [], {
  type: "ttm", value: Date.parse(ORDER_TIME),
});
t.flush?.();
await sent;
