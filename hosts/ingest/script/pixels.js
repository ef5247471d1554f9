// Pixels of ad platforms that people approved: what conversion rules send from the service is told to them here, too,
// under the same id, so that the platform counts it once. Their own code has to be on the page.

const PIXELS = {
  meta: (pixel, name, values, eventID) => window.fbq?.("trackSingle", pixel, name, values, { eventID }),
  tiktok: (pixel, name, values, event_id) => window.ttq?.instance(pixel).track(name, values, { event_id }),
};

let pixels = {};

// The id an ad platform gets of an event.
const platformId = ({ order_id, orderId, transaction_id }, eventId) => order_id || orderId || transaction_id || eventId;

function tellPixels(name, properties, id) {
  const { currency, value = properties.revenue ?? properties.amount } = properties;
  const money = value === undefined ? {} : { value, currency };
  for (const [platform, { enabled, pixel_id, event_mappings }] of Object.entries(pixels)) {
    const mapped = event_mappings[name];
    if (enabled && mapped) safe(PIXELS[platform])(pixel_id, mapped, money, String(id));
  }
}
