import { PostHog } from "posthog-react-native";
import { HOST, KEY, ORDER } from "../node/visit.js";

const posthog = new PostHog(KEY, {
  host: `${HOST}/posthog`, preloadFeatureFlags: false, disableRemoteConfig: true, captureAppLifecycleEvents: false, persistence: "memory",
});
posthog.screen("Sale", { section: "mugs" });
posthog.capture("Signup Started", { plan: "pro", seats: 3 });
posthog.identify("user-7", { email: "ada@example.com" });
posthog.group("company", "team-1", { name: "Team" });
posthog.alias("user-7-old");
posthog.capture("purchase", { order_id: ORDER, value: 49.9, currency: "EUR" });
await posthog.flush();
await posthog.shutdown();
process.exit(0); // timers of the library remain
