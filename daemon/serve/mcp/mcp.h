/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface of serve/mcp/: POST /mcp, the Model Context Protocol, as functions of struct route.
 *
 * A message is one JSON object of JSON-RPC 2.0. Revision 2026-07-28 has no session: each request
 * names its revision and is answered independently. Clients of earlier revisions begin with
 * `initialize`, which is answered too and leaves no state.
 *
 * A tool call becomes a request of the tool's route by request_become(). So it is authorized,
 * counted and audited as that route, and mcp_wrap() puts the route's answer into the reply.
 */
#pragma once

#include "serve/serve_impl.h"

/* Implement receive, handle and wrap of struct route. */
bool mcp_receive(struct request *req);
bool handle_mcp(struct request *req);
void mcp_wrap(struct request *req);
