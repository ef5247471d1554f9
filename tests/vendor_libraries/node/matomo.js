import MatomoTracker from "matomo-tracker";
import { HOST, KEY, ORDER_TIME, ORDER } from "./visit.js";

const tracker = new MatomoTracker(KEY, `${HOST}/matomo.php`);
tracker.on("error", (fault) => { throw new Error(String(fault)); });
const visitor = { _id: "0123456789abcdef", uid: "user-7", ua: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", lang: "en-GB" };
tracker.track({
  ...visitor,
  url: "https://shop.example/sale?utm_source=news",
  action_name: "Sale",
  urlref: "https://www.google.com/",
  res: "1920x1080",
});
await new Promise((resolve) => tracker.trackBulk(
  [
    { ...visitor, url: "https://shop.example/sale", e_c: "form", e_a: "Signup Started", e_n: "pro", e_v: "3" },
    { ...visitor, url: "https://shop.example/cart", idgoal: 0, ec_id: ORDER, revenue: 49.9, ec_tx: 8, ec_items: JSON.stringify([["sku-1", "Mug", "Cups", 49.9, 1]]), cdt: Math.floor(Date.parse(ORDER_TIME) / 1000) },
  ],
  resolve,
));
