/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of serve/mcp/: POST /mcp, the Model Context Protocol, as struct route calls it.
 *
 * A message is one JSON object of JSON-RPC 2.0. Revision 2026-07-28 has no session: each request
 * names its revision, and is answered by itself. Clients of the revisions before begin with
 * `initialize`, which is answered alike and remembered nowhere.
 *
 * A call of a tool becomes a request of the route that the tool stands for: request_become(). So it
 * is judged, counted and noted as that, and mcp_wrap() puts the route's answer into the reply.
 */
#pragma once

#include "serve/serve_impl.h"

/* As the members of struct route. */
bool mcp_receive(struct request *req);
bool handle_mcp(struct request *req);
void mcp_wrap(struct request *req);
