import { PostHog } from "posthog-js-lite";
import { HOST, KEY, ORDER } from "./visit.js";

const posthog = new PostHog(KEY, { host: HOST, disableFeatureFlags: true, preloadFeatureFlags: false });
posthog.capture("$pageview");
posthog.capture("Signup Started", { plan: "pro", seats: 3 });
posthog.identify("user-7", { email: "ada@example.com" });
posthog.group("company", "team-1", { name: "Team" });
posthog.alias("user-7-old");
posthog.capture("purchase", { order_id: ORDER, value: 49.9, currency: "EUR" });
await posthog.shutdown();
