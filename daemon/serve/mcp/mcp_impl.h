/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of serve/mcp/. Nothing here blocks. */
#pragma once

#include "serve/mcp/mcp.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25"                 /* newest revision that begins with `initialize` */
#define MCP_DEPTH_MAX 32                        /* nesting of objects and arrays in a message */
#define MCP_ANSWER_MAX_BYTES ((size_t)32 << 10) /* text of a tool's result */
#define MCP_TREE_MAX_BYTES ((size_t)512 << 10)  /* a tree before its indents are squeezed */
#define MCP_JSON_MAX_BYTES ((size_t)4 << 20)    /* a JSON answer before it is shortened */
#define MCP_SECONDS_MAX 50 /* length of a capture: clients give up after 60 s by default */
#define MCP_TTL_MS 3600000 /* how long clients may cache the list of tools */
#define MCP_WAYS_MAX 3
#define MCP_ARGUMENTS_MAX 4

/* Error codes of JSON-RPC and of the protocol. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_HEADER_MISMATCH = -32020,
    MCP_UNSUPPORTED_VERSION = -32022,
};

struct mcp_fault {
    enum mcp_code code;
    unsigned status; /* HTTP status */
    struct error err;
    json_t *data; /* owned until the reply takes it; NULL: none */
};

/* ---- message.c ---- */

/* Parses one message from the untrusted @text. 0 or -EINVAL with @fault. *ret is written in either
 * case; the caller frees ret->root. Pure. */
int mcp_message_parse(struct span text, struct mcp_message *ret, struct mcp_fault *fault);
/* Parses the body of @req into req->mcp and checks it against the headers. 0 or -EINVAL with
 * @fault; if the message has an id, req->mcp.id is set in either case. */
int mcp_message_read(struct request *req, struct mcp_fault *fault);
/* Returns the revision to answer to a client that proposes @wanted in `initialize` (NULL: none). */
const char *mcp_legacy_version(const char *wanted);
/* Returns the list of supported revisions, owned by the caller. */
json_t *mcp_versions(void);

/* ---- tools.c ---- */

/* A value that a tool sets for a parameter of its route. */
struct mcp_argument {
    const char *name, *value;
};

/* A route that can answer a tool call. The search passes over ways with a variable that the call
 * does not give. It ends at the first way with a variable that is given, or with a role that the
 * subject has; else the last way counts. */
struct mcp_way {
    const char *path;     /* NULL: end of the list */
    const char *variable; /* argument that fills the path's variable; NULL: none */
};

struct mcp_tool {
    const char *name, *title, *text;
    struct mcp_way ways[MCP_WAYS_MAX];
    param_set params;                             /* PARAM_BIT()s of the arguments */
    struct mcp_argument set[MCP_ARGUMENTS_MAX];   /* always set; names not in @params */
    struct mcp_argument usual[MCP_ARGUMENTS_MAX]; /* defaults of arguments */
    uint64_t required;                            /* PARAM_BIT()s of the required arguments */
    bool past; /* defaults to the last 5 minutes if neither a time nor a path variable is given */
    bool json; /* the answer is JSON */
    bool squeezes; /* the answer is a tree, with indents much longer than its text */
    bool counts;   /* counts and warnings of the answer are in headers alone */
    bool acts;     /* begins a capture */
};

/* Returns the tool called @name; NULL: unknown. */
const struct mcp_tool *mcp_tool_find(const char *name);
/* Returns the route of @way. */
const struct route *mcp_way_route(const struct mcp_way *way);
/* Returns the PARAM_BIT()s that @tool takes as arguments on @way. */
param_set mcp_way_params(const struct mcp_tool *tool, const struct mcp_way *way);
/* Returns the result of tools/list for a subject with @role, owned by the caller; NULL: out of
 * memory. */
json_t *mcp_tools_list(enum role role);

/* ---- tool_call.c ---- */

/* Turns @req, a tool call, into a request of the tool's route. Return: 0, with *ret_goes_on true
 * unless the answer is complete already; else -EINVAL with @fault. */
int mcp_tool_call(struct request *req, bool *ret_goes_on, struct mcp_fault *fault);

/* ---- result.c ---- */

/* Returns the complete answer of @req as the result of a tool; NULL: out of memory. */
json_t *mcp_tool_result(struct request *req);

/* ---- reply.c ---- */

/* Reply to the message of @req. Take @result (NULL: internal error) and fault->data. */
void mcp_reply_result(struct request *req, json_t *result);
void mcp_reply_fault(struct request *req, struct mcp_fault *fault);
/* Sets *fault; @fmt is its sentence. Returns -EINVAL. */
int mcp_fault_set(struct mcp_fault *fault, enum mcp_code code, unsigned status, const char *fmt,
                  ...) PRINTF_LIKE(4, 5);
