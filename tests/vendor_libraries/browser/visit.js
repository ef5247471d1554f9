// What every page gets from its runner.
export const { HOST, KEY, ORDER } = window.visit;
export const ORIGIN = new URL(HOST).host;
export const later = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
