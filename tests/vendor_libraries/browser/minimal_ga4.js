import { track } from "@minimal-analytics/ga4";
import { HOST, KEY, ORDER, later } from "./visit.js";

window.minimalAnalytics = { analyticsEndpoint: `${HOST}/g/collect` };
track(KEY);
track(KEY, { type: "signup_started", event: { "ep.plan": "pro", "epn.seats": 3 } });
track(KEY, { type: "purchase", event: { "ep.transaction_id": ORDER, "epn.value": 49.9, "ep.currency": "EUR" } });
await later(1500);
