/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request: the headers that flamed reads. Thread: the library's.
 */
#pragma once

#include "serve/http.h"
#include "serve/origin.h"

struct request_head {
    struct origin_facts access;
    struct span accept, accept_encoding, content_length, content_type, expect, transfer_encoding;
    struct span authorization, cookie;
    struct {
        struct span value;
        size_t count;
    } mcp_version, mcp_method, mcp_name; /* MCP-Protocol-Version and the like */
    size_t authorization_count;
    size_t length_count, encoding_count; /* of Content-Length and Transfer-Encoding */
    bool malformed;                      /* one of them is no header */
    size_t bytes;                        /* of all headers */
};

/* Reads the headers of the connection of @req. */
void request_head_read(struct request *req, struct request_head *ret);
/* Takes the host out of a URI such as "http://host/path". */
void request_head_take_authority(struct request_head *h, struct request *req);
/* Returns whether a body was announced. */
bool request_head_has_body(const struct request_head *h);
/* Returns whether a body that is not wanted is read all the same. */
bool request_head_drains_body(const struct request_head *h);
/* Refuses a request whose headers are malformed, or whose body has two lengths. False: the answer
 * says so, and the connection ends. */
bool request_head_has_one_length(const struct request_head *h, struct request *req);

/* ---- request_caller.c ---- */

/* Finds the caller, and whether it may use the route; for health it need not be known. False: the
 * answer says why not, or it has to be asked first. */
bool request_subject(struct request *req, const struct request_head *h);
/* Returns whether the subject of @req has the role of its route. False: the answer says why not. */
bool request_may_use_route(struct request *req);
