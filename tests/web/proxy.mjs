// SPDX-License-Identifier: Apache-2.0
// A reverse proxy as people put one in front of flamed: under a path prefix, with the Host header passed on or changed.
import { createServer, request } from "node:http";

// @keepsHost: the Host header goes through as it came. Resolves to {port, close()}.
export async function startProxy(target, { prefix = "", keepsHost }) {
    const { host, hostname, port } = new URL(target);
    const server = createServer((incoming, answer) => {
        if (!incoming.url.startsWith(prefix + "/")) {
            answer.writeHead(404).end();
            return;
        }
        const onward = request({
            hostname, port, path: incoming.url.slice(prefix.length), method: incoming.method,
            headers: { ...incoming.headers, host: keepsHost ? incoming.headers.host : host },
        }, (got) => {
            answer.writeHead(got.statusCode, got.headers);
            got.pipe(answer);
        });

        onward.on("error", () => answer.destroy());
        answer.on("close", () => onward.destroy());
        incoming.pipe(onward);
    });

    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    return {
        port: server.address().port,
        close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }),
    };
}
