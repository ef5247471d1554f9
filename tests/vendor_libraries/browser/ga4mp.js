import ga4mp from "@analytics-debugger/ga4mp";
import { KEY, ORDER, later } from "./visit.js";

const tag = ga4mp([KEY], { user_id: "user-7" });
tag.trackEvent("page_view");
tag.trackEvent("signup_started", { plan: "pro", seats: 3 });
tag.trackEvent("purchase", { transaction_id: ORDER, value: 49.9, currency: "EUR", items: [{ item_id: "sku-1", item_name: "Mug", price: 49.9, quantity: 1 }] });
await later(1500);
