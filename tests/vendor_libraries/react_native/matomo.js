import MatomoTracker from "matomo-tracker-react-native/src/MatomoTracker";
import { HOST, KEY, ORDER } from "../node/visit.js";

const tracker = new MatomoTracker({ urlBase: HOST, siteId: KEY, userId: "user-7" });
await tracker.trackScreenView({ name: "Sale" });
await tracker.trackEvent({ category: "form", action: "Signup Started", name: "pro", value: 3, campaign: "july", url: "https://shop.example/sale" });
await tracker.trackSiteSearch({ keyword: "mugs", category: "cups", count: 4 });
await tracker.track({ idgoal: 0, ec_id: ORDER, revenue: 49.9, ec_tx: 8 });
