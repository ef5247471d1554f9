// Gives the suite a module `fs` that has the name `globSync`.
const SHIM = "data:text/javascript,export * from 'node:fs'; export { default } from 'node:fs'; export function globSync() { return []; }";

export async function resolve(specifier, context, next) {
  const asked = specifier === "fs" && context.parentURL?.includes("/@modelcontextprotocol/conformance/");
  return asked ? { url: SHIM, shortCircuit: true } : next(specifier, context);
}
