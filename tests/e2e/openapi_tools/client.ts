/** Stores an event and reads it back with the types that openapi-typescript generates. */
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [api, ingest, readKey, writeKey] = process.argv.slice(2) as [string, string, string, string];
const today = new Date().toISOString().slice(0, 10);

const tracker = createClient<paths, "application/json">({ baseUrl: ingest, headers: { "X-API-Key": writeKey } });
const stored = await tracker.POST("/track", { body: { event: "typescript_client", user_id: "typescript-1" } });
const result: components["schemas"]["TrackedEventResult"] | undefined = stored.data;

const client = createClient<paths, "application/json">({ baseUrl: api, headers: { Authorization: `Bearer ${readKey}` } });
const traffic = await client.GET("/v1/traffic", {
  params: { query: { start_date: today, end_date: today, type: "page" } },
});
const names: (string | undefined)[] | undefined = traffic.data?.data.map((row) => row.name);
const query = await client.POST("/v1/query", {
  body: { metrics: ["visitors"], date_range: { preset: "today" }, dimensions: ["country"] },
});
const refused = await client.GET("/v1/users/{userId}", { params: { path: { userId: "nobody" } } });
const error: components["schemas"]["NotFoundError"] | undefined =
  refused.response.status === 404 ? (refused.error as components["schemas"]["NotFoundError"]) : undefined;

console.log(
  JSON.stringify({
    stored: result?.success,
    type: traffic.data?.type,
    rows: names?.length,
    columns: query.data?.columns.map((column) => column.id),
    error: error?.error,
  }),
);
