/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes: path, methods, parameters, handler. Parsing, 405 with Allow, the sentence
 * about an unknown parameter and the test of the OpenAPI document all come from it. A path that
 * does different things by method has a row for each.
 */
#pragma once

#include "access/subject.h"
#include "base/span.h"
#include "serve/audit.h"
#include "serve/params/params.h"

struct request;

enum route_method { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 }; /* GET implies HEAD */

enum route_body {
    BODY_NONE,    /* is refused */
    BODY_PARAMS,  /* a JSON object of the parameters, which then are not in the query */
    BODY_IGNORED, /* is read and forgotten: webhooks have one */
    BODY_MESSAGE, /* JSON that receive() reads */
};

/* What openapi.json says of a route beside its parameters and its role. */
struct route_doc {
    const char *id, *summary;
    const char *text;     /* more than the summary; NULL: nothing */
    uint16_t status;      /* of success; 0: 200 */
    const char *answer;   /* what comes then */
    const char *types;    /* of the answer, blanks between them; a route that negotiates has all */
    const char *schema;   /* the name of the answer's, which then is JSON; NULL: any */
    const char *unready;  /* what 503 says with an answer of the same schema; NULL: a problem */
    const char *problems; /* statuses with a problem, blanks between them; NULL: none of its own */
};

struct route {
    const char *path; /* "{pid}" stands for a process id, "{id}" and the like for any text */
    unsigned methods;
    enum role role;   /* that it takes; ROLE_UNSET: nobody gets it */
    param_set params; /* PARAM_BIT()s */
    enum route_body body;
    bool negotiates;         /* the format is chosen by Accept unless a parameter says it */
    bool streams;            /* gives server-sent events when Accept asks for them */
    bool waits;              /* the handler may block: it runs on a worker */
    bool heavy;              /* and may take a worker for seconds: it renders, or attaches */
    enum audit_action audit; /* what is noted of it; AUDIT_NONE: nothing but refusals */
    bool health;             /* is answered whatever its caller has already */
    bool asks;               /* needs to know the caller, whatever its role */
    bool cookies_alone;      /* of a browser's session: tokens and the like do not count */
    /* Of BODY_MESSAGE: reads the body. May make the request another route's by request_become();
     * then wrap() makes the answer of that route into its own. False: has answered. Thread: the
     * HTTP library's. */
    bool (*receive)(struct request *req);
    void (*wrap)(struct request *req);
    /* Of a route that waits: answers where nothing has to be waited for; false: it did not. */
    bool (*at_once)(struct request *req);
    bool (*handle)(struct request *req);
    void (*finish)(struct request *req); /* a capture that the handler began is over; NULL: none */
    struct route_doc doc;
};

/* Returns the table of routes, static. */
const struct route *routes(size_t *ret_count);

/* What stands in the place of a path's variable. */
struct route_args {
    int32_t pid;      /* of {pid} */
    struct span text; /* as it was given; points into the path */
};

/* Results of route_find(). */
#define ROUTE_NONE 1
#define ROUTE_METHOD 2  /* *ret: a row of that path, for route_allow() */
#define ROUTE_BAD_PID 3 /* ret_args->text is no process id */

/* Gets the route of a decoded path and a method. */
int route_find(struct span path, const char *method, const struct route **ret,
               struct route_args *ret_args);
/* Returns the route whose path @path was probably meant to be, or NULL. */
const char *route_nearest(struct span path);
/* "GET, HEAD, POST" for the header Allow: what the path of @r takes. */
const char *route_allow(const struct route *r, char *buf, size_t size);
