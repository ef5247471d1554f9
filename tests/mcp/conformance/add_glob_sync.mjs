// The suite imports fs.globSync, which Node 20 does not have and servers' scenarios do not call.
import { register } from "node:module";

if (!("globSync" in (await import("node:fs")))) {
  register("./resolve_fs.mjs", import.meta.url);
}
