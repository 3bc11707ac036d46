// SPDX-License-Identifier: Apache-2.0
// A dialogue by the protocol's own clients, which check each reply against its schema: of revision 2026-07-28, and of those that
// begin with `initialize`. Usage: mcp_client.mjs NODE_MODULES URL CALLS, the last as JSON: [{name, arguments}, ...]. Prints, as JSON,
// for each client {server, tools, results}.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, url, calls] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(`${modules}/x.js`).resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { Client: OldClient } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport: OldTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const WHO = { name: "flamed-test", version: "1" };

async function talk(client, transport) {
    await client.connect(transport);
    const { tools } = await client.listTools(), server = client.getServerVersion().name, results = [];

    for (const call of JSON.parse(calls))
        results.push(await client.callTool(call).catch((error) => ({ error: error.message })));
    await client.close();
    return { server, tools: tools.map((tool) => tool.name), results };
}

const pinned = new Client(WHO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
console.log(JSON.stringify({
    modern: await talk(pinned, new StreamableHTTPClientTransport(new URL(url))),
    chosen: await talk(new Client(WHO, { versionNegotiation: { mode: "auto" } }), new StreamableHTTPClientTransport(new URL(url))),
    before: await talk(new OldClient(WHO), new OldTransport(new URL(url))),
}));
