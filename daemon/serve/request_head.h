/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a request that flamed reads. Thread: the library's.
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
    } mcp_version, mcp_method, mcp_name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
    size_t authorization_count;
    size_t length_count, encoding_count; /* occurrences of Content-Length and Transfer-Encoding */
    bool malformed;                      /* some header is invalid */
    bool is_worker; /* a browser asks for the script of a service worker (Service-Worker) */
    size_t bytes;   /* size of all headers */
};

/* Reads the headers of @req from the HTTP library. */
void request_head_read(struct request *req, struct request_head *ret);
/* Moves the host of a URI such as "http://host/path" into @h. */
void request_head_take_authority(struct request_head *h, struct request *req);
/* Returns whether the headers announce a body. */
bool request_head_has_body(const struct request_head *h);
/* Returns whether a refused body is read to its end. */
bool request_head_drains_body(const struct request_head *h);
/* Refuses a request with invalid headers or with more than one length of its body. False: refused;
 * the connection ends after the answer. */
bool request_head_has_one_length(const struct request_head *h, struct request *req);

/* ---- request_caller.c ---- */

/* Identifies the caller and checks its right to the route; health routes need no caller. False: the
 * answer says why not, or the password or the peer has to be looked up first. */
bool request_subject(struct request *req, const struct request_head *h);
/* Returns whether the subject of @req has the role of its route. False: the answer says why not. */
bool request_may_use_route(struct request *req);
