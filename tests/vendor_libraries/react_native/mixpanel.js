import { Mixpanel } from "mixpanel-react-native";
import { HOST, KEY, ORDER } from "../node/visit.js";

const mixpanel = new Mixpanel(KEY, false, false);
await mixpanel.init(false, {}, `${HOST}/mixpanel`);
mixpanel.track("Signup Started", { plan: "pro", seats: 3 });
await mixpanel.identify("user-7");
mixpanel.getPeople().set({ $email: "ada@example.com" });
mixpanel.track("purchase", { order_id: ORDER, value: 49.9, currency: "EUR" });
await new Promise((resolve) => { setTimeout(resolve, 500); });
mixpanel.flush();
await new Promise((resolve) => { setTimeout(resolve, 1500); });
process.exit(0); // timers of the library remain
