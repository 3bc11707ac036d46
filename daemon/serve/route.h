/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes: path, methods, parameters, handler. Parsing, 405 with Allow, the sentence on
 * an unknown parameter and the test of openapi.json are derived from it. A path with different
 * functions by method has a row for each.
 */
#pragma once

#include "access/subject.h"
#include "base/span.h"
#include "serve/audit.h"
#include "serve/params/params.h"

struct request;

enum route_method { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 }; /* GET includes HEAD */

enum route_body {
    BODY_NONE,    /* a body is refused */
    BODY_PARAMS,  /* a JSON object of the parameters, in place of the query */
    BODY_IGNORED, /* read and dropped; webhooks send one */
    BODY_MESSAGE, /* JSON that receive() parses */
};

/* Description of a route for openapi.json, besides its parameters and role. */
struct route_doc {
    const char *id, *summary;
    const char *text;     /* details; NULL: none */
    uint16_t status;      /* status of success; 0: 200 */
    const char *answer;   /* description of the successful answer */
    const char *types;    /* content types, separated by blanks, besides those of `negotiates` */
    const char *schema;   /* name of the JSON answer's schema; NULL: any */
    const char *unready;  /* description of a 503 with the same schema; NULL: a problem */
    const char *problems; /* statuses of problems, separated by blanks; NULL: only common ones */
};

/* Answers a request. Return: true once req->answer is complete. */
typedef bool route_handler(struct request *req);
/* Completes the answer when the capture of the request has ended. */
typedef void route_finisher(struct request *req);

struct route {
    const char *path; /* "{pid}" matches a process id, other names in braces any text */
    unsigned methods;
    enum role role;   /* required role; ROLE_UNSET: refused to every caller */
    param_set params; /* PARAM_BIT()s */
    enum route_body body;
    bool negotiates;         /* Accept selects the format if no parameter does */
    bool streams;            /* sends server-sent events if Accept names them */
    bool waits;              /* the handler may block, so it runs on a worker */
    bool heavy;              /* may occupy a worker for seconds: renders or attaches */
    enum audit_action audit; /* audited action; AUDIT_NONE: refusals only */
    bool health;             /* exempt from quotas */
    bool asks;               /* must know the caller, even if the role needs none */
    bool cookies_alone;      /* for browser sessions: tokens and other credentials do not count */
    /* Parses a BODY_MESSAGE. May pass the request to another route by request_become(); wrap() then
     * converts that route's answer. False: the answer is complete. Thread: the HTTP library's. */
    bool (*receive)(struct request *req);
    void (*wrap)(struct request *req);
    /* For routes that wait: tries to answer without waiting; false: not possible. */
    route_handler *at_once;
    route_handler *handle;
    enum backend_document document; /* for handle_document() */
    route_finisher *finish;         /* NULL: none */
    struct route_doc doc;
};

/* Returns the static table of routes. */
const struct route *routes(size_t *ret_count);

/* Value of a path's variable. */
struct route_args {
    int32_t pid;      /* value of {pid} */
    struct span text; /* as given; points into the path */
};

/* Results of route_find(). */
#define ROUTE_NONE 1
#define ROUTE_METHOD 2  /* wrong method; *ret: a row of that path, for route_allow() */
#define ROUTE_BAD_PID 3 /* ret_args->text is not a process id */

/* Finds the route of a decoded path and a method. */
int route_find(struct span path, const char *method, const struct route **ret,
               struct route_args *ret_args);
/* Returns the path of a route that @path is most likely a misspelling of; NULL: none is close. */
const char *route_nearest(struct span path);
/* Writes the methods of the path of @r for the header Allow, such as "GET, HEAD, POST". Returns
 * @buf. */
const char *route_allow(const struct route *r, char *buf, size_t size);
