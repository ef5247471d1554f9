// What every program gets from its runner.
export const HOST = process.env.VISIT_HOST;
export const KEY = process.env.VISIT_KEY;
export const ORDER_TIME = process.env.VISIT_ORDER_TIME;
export const ORDER = "order-1";
