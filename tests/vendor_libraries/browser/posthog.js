import posthog from "posthog-js/dist/module.no-external";
import { HOST, KEY, ORDER, later } from "./visit.js";

await new Promise((resolve) => posthog.init(KEY, {
  api_host: HOST, loaded: resolve, advanced_disable_flags: true, disable_session_recording: true, person_profiles: "always", capture_pageview: true, opt_out_useragent_filter: true,
}));
posthog.capture("Signup Started", { plan: "pro", seats: 3 });
posthog.identify("user-7", { email: "ada@example.com" });
posthog.group("company", "team-1", { name: "Team" });
posthog.alias("user-7-old");
posthog.capture("purchase", { order_id: ORDER, value: 49.9, currency: "EUR" });
await later(4000);
