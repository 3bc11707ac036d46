/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of serve/mcp/ share. Nothing here blocks. */
#pragma once

#include "serve/mcp/mcp.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* the newest that begins with `initialize` */
#define MCP_DEPTH_MAX 32        /* objects and arrays in one another, of a message */
#define MCP_ANSWER_MAX_BYTES ((size_t)32 << 10) /* of what a tool gives, as text */
#define MCP_TREE_MAX_BYTES ((size_t)512 << 10)  /* of a tree, before its indents are made short */
#define MCP_JSON_MAX_BYTES ((size_t)4 << 20)    /* of an answer that is shortened to that */
#define MCP_SECONDS_MAX 50 /* of a capture: clients give up after 60 s by default */
#define MCP_TTL_MS 3600000 /* how long clients may keep the list of tools */
#define MCP_WAYS_MAX 3
#define MCP_ARGUMENTS_MAX 4

/* Errors of JSON-RPC, and those of the protocol. */
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
    unsigned status; /* of HTTP */
    struct error err;
    json_t *data; /* owned until it is answered; NULL: none */
};

/* ---- message.c ---- */

/* Reads one message out of @text, which is not trusted. 0 or -EINVAL with @fault; *ret is written
 * in either case, and ret->root is to be freed. Pure. */
int mcp_message_parse(struct span text, struct mcp_message *ret, struct mcp_fault *fault);
/* Reads the body of @req into req->mcp, and checks it against its headers. 0 or -EINVAL with
 * @fault; req->mcp.id is set where there is one in either case. */
int mcp_message_read(struct request *req, struct mcp_fault *fault);
/* Returns the revision that is answered to a client that begins with @wanted (NULL: none). */
const char *mcp_legacy_version(const char *wanted);
/* Returns the list of the revisions, owned by the caller. */
json_t *mcp_versions(void);

/* ---- tools.c ---- */

/* A value that a tool gives a parameter of its route. */
struct mcp_argument {
    const char *name, *value;
};

/* A route that a tool stands for. Of the ways that have their argument, a call takes the first one
 * that the role of the subject suffices for, else the last one. */
struct mcp_way {
    const char *path;     /* NULL: no more */
    const char *variable; /* the argument that goes into the path; NULL: none */
};

struct mcp_tool {
    const char *name, *title, *text;
    struct mcp_way ways[MCP_WAYS_MAX];
    param_set params;                             /* PARAM_BIT()s that are arguments */
    struct mcp_argument set[MCP_ARGUMENTS_MAX];   /* always; none has a name of @params */
    struct mcp_argument usual[MCP_ARGUMENTS_MAX]; /* unless it is given */
    uint64_t required;                            /* of them, those that have to be there */
    bool past;     /* of the last 5 minutes, unless a time is given, or what goes into the path */
    bool json;     /* the answer is JSON */
    bool squeezes; /* the answer is a tree, with indents that are far longer than its text */
    bool counts;   /* headers alone have the counts and the warnings of the answer */
    bool acts;     /* it begins something */
};

/* Returns the tool with that name; NULL: there is none. */
const struct mcp_tool *mcp_tool_find(const char *name);
/* Returns the route of @way. */
const struct route *mcp_way_route(const struct mcp_way *way);
/* Returns the parameters that @tool takes as arguments on @way: PARAM_BIT()s. */
param_set mcp_way_params(const struct mcp_tool *tool, const struct mcp_way *way);
/* Returns the result of tools/list for a subject with @role, owned by the caller; NULL: there is no
 * memory for it. */
json_t *mcp_tools_list(enum role role);

/* ---- tool_call.c ---- */

/* Makes @req, a call of a tool, a request of the tool's route. 0: it is one, and *ret_goes_on says
 * whether that has not answered yet; else -EINVAL with @fault. */
int mcp_tool_call(struct request *req, bool *ret_goes_on, struct mcp_fault *fault);

/* ---- result.c ---- */

/* Returns what the answer of @req, complete, is as the result of a tool. NULL: there is no memory
 * for it. */
json_t *mcp_tool_result(struct request *req);

/* ---- reply.c ---- */

/* Answer the message of @req. Take @result (NULL: an internal error) and fault->data. */
void mcp_reply_result(struct request *req, json_t *result);
void mcp_reply_fault(struct request *req, struct mcp_fault *fault);
/* Sets *fault; @fmt is its sentence. -EINVAL. */
int mcp_fault_set(struct mcp_fault *fault, enum mcp_code code, unsigned status, const char *fmt,
                  ...) PRINTF_LIKE(4, 5);
