/* SPDX-License-Identifier: Apache-2.0 */
/* A client of POST /mcp, for tests. */
#pragma once

#include "serve_fixture.h"

#define TYPE "Content-Type: application/json\r\n"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN(method, more)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" more META "}}"
#define LEGACY(method, params)                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"" method "\",\"params\":" params "}"

/* Starts a server that accepts messages. */
void start_mcp(void);
/* Sends @body. Returns the reply, which the caller owns; NULL: no body. */
json_t *send_mcp(const char *headers, const char *body, unsigned *ret_status);
/* Calls a tool on @fd (-1: on a new connection) like a current client. Returns the result, which
 * the caller owns. */
json_t *call_on(int fd, const char *headers, const char *tool, const char *arguments);
json_t *call(const char *tool, const char *arguments);
/* Returns the text of block @block of a result. */
const char *text_of(const json_t *result, size_t block);
bool is_error(const json_t *result);
/* Fails unless @text contains @part. */
void assert_has(const char *text, const char *part);
/* Makes a test case with a server that @begin starts. */
TCase *in_case(const char *name, void (*begin)(void));
