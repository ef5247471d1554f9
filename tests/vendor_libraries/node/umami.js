import { Umami } from "@umami/node";
import { HOST, KEY, ORDER } from "./visit.js";

const client = new Umami({ websiteId: KEY, hostUrl: HOST });
const page = { hostname: "shop.example", language: "en-GB", screen: "1920x1080", title: "Sale", referrer: "https://www.google.com/", url: "/sale?utm_source=news" };
await client.track(page);
await client.track({ ...page, name: "Signup Started", data: { plan: "pro", seats: 3 } });
await client.identify({ email: "ada@example.com" });
await client.track({ ...page, name: "purchase", data: { revenue: 49.9, currency: "EUR", order_id: ORDER } });
await client.track("Review Written", { stars: 5 });
