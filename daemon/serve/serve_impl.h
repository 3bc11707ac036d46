/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of serve/ share: connections, requests, and the threads between which they move.
 *
 *   net thread (net.c)        accepts, watches waiting clients, keeps deadlines
 *   MHD's pool (http.c)       reads requests, answers what needs no waiting, sends answers
 *   workers (workers.c)       call the backend, render, compress
 *   a thread of whose.c       asks who holds a connection's socket
 *   the engine's thread       calls capture_done()
 *
 * A request that has to wait is suspended in the HTTP library. It belongs to the workers' queue or
 * to a running capture, and is resumed with its answer ready. `lock` guards all that is marked with
 * it; it is never held while the backend or the HTTP library is called.
 */
#pragma once

#include "access/access_rules.h"
#include "access/attempts.h"
#include "access/basic.h"
#include "access/session.h"
#include "base/budget.h"
#include "serve/answer.h"
#include "serve/audit.h"
#include "serve/params/params.h"
#include "serve/route.h"
#include "serve/serve.h"
#include "serve/stats.h"
#include "serve/stream.h"
#include "serve/tls/tls.h"

#include <netinet/in.h>
#include <pthread.h>

#define SERVE_WORKERS 6
#define SERVE_WORKERS_OF_CALLER 3 /* of them, for the requests of one caller */
#define SERVE_WORKERS_HEAVY 3     /* for what may take seconds, */
#define SERVE_HEAVY_OF_CALLER 2   /* and of these for one caller */
#define SERVE_VERIFY_MAX 2        /* and for passwords, one for one caller */
#define SERVE_MHD_THREADS 2
#define SERVE_LISTEN_MAX 16
#define PATH_TEXT_MAX 128
#define SERVE_GUESTS_MAX 16                     /* connections kept for health routes */
#define SERVE_CLOSING_MAX 256                   /* connections told to go, not gone yet */
#define SERVE_HEAD_MAX_BYTES (32 * 1024)        /* of a request: its line and its headers */
#define SERVE_CONNECTION_BYTES (128 * 1024)     /* the HTTP library's memory for one: both heads */
#define SERVE_END_GRACE_NS (3 * NSEC_PER_SEC)   /* past its duration a capture is ordered to end */
#define SERVE_GIVE_UP_NS (9 * NSEC_PER_SEC / 2) /* past the request and it, the answer leaves */
#define SERVE_END_AHEAD_NS (NSEC_PER_SEC / 2)   /* before that it is ordered to end in any case */
/* What comes in over time for one caller. */
enum quota_budget {
    QUOTA_BUDGET_ATTACHES,
    QUOTA_BUDGET_BEGUN,
    QUOTA_BUDGET_BEGUN_OF_ALL,
    QUOTA_BUDGET_RENDERING,
    QUOTA_BUDGET_KINDS
};
#define QUOTA_BUDGETS_MAX 256              /* callers that budgets are kept of */
#define QUOTA_ATTACH_NS (5 * NSEC_PER_SEC) /* an attach of one caller every so often, */
#define QUOTA_ATTACHES_MAX 12              /* and so many at once */
/* Captures of one caller that begin: so many at once and one every so often. Who sees all processes
 * may scrape many. */
#define QUOTA_BEGUN_MAX 64
#define QUOTA_BEGUN_NS NSEC_PER_SEC
#define QUOTA_BEGUN_OF_ALL_NS (NSEC_PER_SEC / 8)
#define QUOTA_RENDER_NS (60 * NSEC_PER_SEC) /* CPU time of one caller's answers at once, */
#define QUOTA_RENDER_SHARE 2                /* and one part in so many of a CPU in the long run */
#define SERVE_GUEST_NS NSEC_PER_SEC         /* a guest is served for this long at least */
#define SERVE_STALL_NS (2 * NSEC_PER_SEC)   /* reading nothing for this long may cost its place */
#define SERVE_SEND_MAX_NS (600 * NSEC_PER_SEC)   /* for a client to read its answer */
#define SERVE_STOP_MAX_NS (4 * NSEC_PER_SEC)     /* for captures to end when stopping */
#define SERVE_STOP_SEND_NS (2 * NSEC_PER_SEC)    /* and for the last answers to be sent, */
#define SERVE_STOP_ALL_NS (9 * NSEC_PER_SEC / 2) /* but both together */

struct request;

/* What came to POST /mcp. */
struct mcp_message {
    json_t *root;              /* owned; NULL: none */
    const json_t *id, *params; /* in @root; NULL: there is none */
    const char *method;        /* in @root */
    const char *tool;          /* that it calls; static; NULL: none */
    bool modern;               /* of revision 2026-07-28 or later */
};

/* A connection. Guarded by lock. */
struct client {
    int fd; /* the HTTP library's */
    bool used, unix_socket, closing;
    struct tls *tls;                 /* owned by a connection that speaks TLS: what it began with */
    bool speaks_tls;                 /* does not change */
    struct certificate_names *names; /* owned: of its certificate; NULL: none is verified */
    bool judged;                     /* its certificate was, */
    int64_t until_s;                 /* and is again from then on, in seconds since 1970 */
    struct caller caller;            /* at the other end */
    struct caller asks;              /* in its request: by a token or a cookie somebody else */
    struct peer_connection end;      /* the other end, from the last look or question; changed with
                                      * lock held, by the thread that has its request */
    struct subject subject;          /* of the other end for its request; of that thread, too */
    bool guest;              /* its caller has as many as one may have: for health routes alone */
    bool waits, streams;     /* its request does, or is a stream: counts for its caller */
    bool busy;               /* a request is being worked on or answered */
    bool probed;             /* half-closed: was asked whether it is still there */
    uint32_t generation;     /* of this slot, so that a late event cannot hit the next owner */
    uint64_t since_ns;       /* when it last became busy or idle, or began to be answered */
    uint64_t stalled_ns;     /* since when it has read nothing of its answer; 0: it reads */
    struct request *request; /* that is suspended, or NULL */
    bool watching;           /* in the epoll set, for its leaving */
    char local_address[INET6_ADDRSTRLEN], peer_address[INET6_ADDRSTRLEN]; /* "" of Unix sockets */
};

struct request {
    struct serve *serve;
    struct MHD_Connection *connection;
    struct client *client;
    struct caller caller;
    struct subject subject;
    struct subject base;        /* the user of the machine, before any rule */
    char session[SESSION_TEXT]; /* that it is by, the cookie's; "": none */
    uint64_t session_left_ns;
    enum { VERIFY_NONE, VERIFY_WANTED, VERIFY_DONE } verify; /* of its password, by a worker */
    enum { WHOSE_UNASKED, WHOSE_WANTED, WHOSE_ANSWERED, WHOSE_ASKED } whose; /* by whose.c */
    enum peer_place place;   /* WHOSE_ANSWERED: what it found */
    bool by_peer;            /* its subject is known by the other end, or by a cookie with that */
    bool confirms;           /* it waits to begin; thread: the worker's */
    bool begun;              /* request_begin() let it */
    bool whose_taken;        /* out of its list, by the thread that has lock; guarded by it */
    uint64_t whose_until_ns; /* it waits no longer */
    struct basic *basic;     /* owned: what is to be verified */
    char claimed[ACCESS_NAME_MAX + 1];  /* the name that came with a password; "": none */
    const struct access_rule *verified; /* whose it is; NULL: nobody's */
    unsigned retry_s;                   /* there was no attempt left for it: when there is one */
    char *uri;                          /* owned: as it was sent */
    char *path;                         /* owned: decoded */
    struct query query;
    struct params params;
    const struct route *route;
    const struct route *came_by; /* that it was before request_become(); NULL: it was none */
    bool wrapped;                /* the answer is that of @came_by */
    struct mcp_message mcp;
    int32_t path_pid;
    json_t *target_facts; /* owned: of the one process that it is about; NULL: not known */
    char capture_id[CAPTURE_ID_BYTES]; /* that it began, or is about; "": none, or in profile */
    char path_text[PATH_TEXT_MAX];     /* what stands for {id} or {name} in the path */
    char host[PATH_TEXT_MAX];          /* the header, "" where there was none */
    struct buf body;                   /* what a client sent */
    bool head, seen, has_body, drains, checked, http_1_0, wants_events;
    bool wants_html; /* Accept names text/html: from a browser */
    bool wants_text; /* it names text/plain, or the parameter does: lists as tables */
    enum content_coding coding;
    const struct render_value *values; /* as in struct render_opts; static */
    struct answer answer;              /* of the thread that works on it */
    struct stream stream;

    /* Guarded by lock. */
    struct request *next; /* in the queue, or in the list of whose.c */
    unsigned refs; /* the HTTP library's, the capture's until done, calls' into the backend */
    bool ready;
    bool left;      /* the client is gone */
    bool noted;     /* by the audit; thread: that which has the answer */
    bool revoked;   /* its subject has lost the right to it: see review.c */
    bool capturing; /* capture_start() was called and did not fail */
    bool runs;      /* the capture samples, or has */
    bool starts;    /* its stream is to start, by a worker */
    bool held;      /* a thread is inside capture_start() or capture_end() */
    bool ended;     /* the capture has the order to end, or gets it as soon as not held */
    bool end_keep;
    bool done;      /* capture_done() was called, or is not waited for any longer */
    bool abandoned; /* it is not waited for any longer */
    struct capture *capture;
    struct request *capturing_next, **capturing_link; /* in serve's list while the capture runs */
    uint64_t duration_ns;                             /* of the capture; 0: without an end */
    uint64_t started_ns;                              /* when it began to sample, if it `runs` */
    uint64_t end_ns, give_up_ns;
    struct profile *profile; /* owned */
    int outcome;
    struct error err;
};

#define OWN_CAPTURES_MAX 1024 /* whose caller is remembered; then the oldest is forgotten */

/* Who took a capture: what a client that sees others' captures may stop and remove without
 * ROLE_MANAGE. */
struct own_capture {
    char id[CAPTURE_ID_BYTES]; /* "": none */
    struct caller caller;
};

#define BACKGROUND_MAX 256 /* beyond it the one that is over first is forgotten */

/* A capture that runs on its own. */
struct background {
    uint64_t until_ns; /* it is over then; 0: free */
    char id[CAPTURE_ID_BYTES];
    enum role role; /* that it takes */
    struct subject subject, base;
};

struct serve {
    struct api_backend be;
    struct serve_opts opts;
    struct MHD_Daemon *mhd, *mhd_tls; /* one for plain connections, one for TLS */
    struct tls *tls;                  /* for the next connection; guarded by lock */
    int listen_fds[SERVE_LISTEN_MAX];
    size_t listen_count;
    char unix_path[LISTEN_PATH_BYTES]; /* of the first Unix socket that it listens on; "": none */
    int epoll_fd, wake_fd;
    pthread_t net_thread, workers[SERVE_WORKERS];
    bool net_started;
    size_t workers_started;

    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    struct client *clients; /* [client_max] */
    size_t client_max;
    struct request *queue;     /* the oldest first */
    struct request *whose;     /* those that wait to hear whose their connection is, oldest first */
    uint64_t whose_begun_ns;   /* since when the broker has not answered; 0: it has */
    pthread_cond_t whose_work; /* for its thread */
    pthread_t whose_thread;
    bool whose_looks; /* its thread asks the broker */
    bool whose_started, whose_stop;
    size_t suspended_count;
    bool stopping, workers_stop, net_stop;
    struct request *streams;
    struct request *capturing; /* list of those whose capture runs: captures_now of them */
    struct work_slot {
        bool busy, heavy, verifies;
        struct caller caller; /* whose request it works on */
    } working[SERVE_WORKERS];
    size_t workers_running; /* that have taken a slot */
    struct serve_stats stats;
    struct answer_counts counts;
    uint64_t changes; /* answers but those of health, and captures that came to their end */
    struct shared_metrics {
        struct buf text;            /* owned: the backend's, for who sees everything */
        uint64_t asked_ns, changes; /* when it was asked, and what had changed by then */
    } metrics;
    struct quota_budgets {
        bool used;
        struct caller caller;
        struct budget of[QUOTA_BUDGET_KINDS];
    } budgets[QUOTA_BUDGETS_MAX];
    struct audit *audit;
    struct sessions *sessions;
    struct attempts attempts; /* guarded by lock */
    struct passwords *passwords;
    uint64_t review_next_ns; /* guarded by lock, as what follows */
    bool review_background;  /* by the next worker */
    struct background background[BACKGROUND_MAX];
    struct own_capture own[OWN_CAPTURES_MAX]; /* guarded by lock */
    size_t own_next;
    struct access_rules *_Atomic access; /* those before it hang on it until the end */
};

/* ---- net.c ---- */

/* Start and stop the net thread. */
int net_start(struct serve *s, struct error *err);
void net_stop(struct serve *s);
/* Called with lock held. */
void net_watch(struct serve *s, struct request *req);
void net_unwatch(struct serve *s, struct request *req);

/* ---- connection_places.c: room for connections; called with lock held ---- */

/* Takes a place for a connection of @caller, that of an idle one if need be. NULL: there is none.
 */
struct client *connection_place_take(struct serve *s, const struct caller *caller);
/* Returns whether a guest's caller has room by now; then it is a guest no more. */
bool connection_place_promote(struct serve *s, struct client *c);
/* Has the HTTP library close it. */
void client_cut(struct client *c);
/* Notes since when a client has read nothing of its answer. */
void client_watch_reading(struct client *c, uint64_t now);

/* ---- quota.c: what one caller may have ---- */

/* Each: whether there is room for what @req wants, which is then taken. False: the answer says what
 * is used up, and for how long. Called without the lock. */
bool quota_enter(struct request *req); /* on a guest's connection */
bool quota_wait(struct request *req);  /* for a worker */
bool quota_stream(struct request *req);
bool quota_attach(struct request *req);
bool quota_begin(struct request *req); /* for a capture: taken by quota_begun(), once it runs */
void quota_begun(struct request *req);
/* Whose quota a request counts to, once its subject is known. Called without the lock. */
void quota_set_caller(struct request *req);
/* Charges the CPU time of a piece of work. Called with lock held. */
void quota_spend(struct serve *s, const struct caller *caller, uint64_t cpu_ns);
/* Counts the refusals of the backend. Called without the lock. */
void quota_note_capture(struct serve *s, int outcome);
/* Returns whether the caller may begin another capture. False: @err and *ret_retry_s say why not,
 * and when. Called with lock held. */
bool quota_capture(const struct request *req, struct error *err, unsigned *ret_retry_s);

/* ---- request_rights.c: what of a capture takes more than its route ---- */

/* Returns the role that @req takes, with its events and the way that code is named. */
enum role request_role(const struct request *req);
/* Limits what was asked for to what the subject sees. False: the answer says what it may not. */
bool request_may_sample(struct request *req);
/* Returns whether the subject may have the events of @req sampled; else @err says what that takes.
 */
bool request_may_sample_events(const struct request *req, struct error *err);

/* ---- request_check.c, request_send.c: a request that becomes another route's ---- */

/* Makes @req a request of @route with the parameters @q, which are taken. Its subject is judged
 * again, as if it had come there. False: the answer says what is wrong. */
bool request_become(struct request *req, const struct route *route, struct query *q);
/* Notes what @req did, once: its answer is complete. */
void request_note(struct request *req);
/* Makes the complete answer of @req that of the route that it came by. */
void request_wrap(struct request *req);

/* ---- request_begin.c: the client, once more, when an act begins ---- */

enum begin { BEGIN_GO, BEGIN_WAIT, BEGIN_REFUSED };
/* Returns whether @req may begin. BEGIN_WAIT: whose.c gives it back to the workers;
 * BEGIN_REFUSED: the answer says why. Thread: a worker's. */
enum begin request_begin(struct request *req);
/* Refuses @req, whose other end is @peer at @place, not PEER_HOST. */
void request_refuse_peer(struct request *req, const struct peer *peer, enum peer_place place);

/* ---- review.c: rights that end while they are used ---- */

/* Returns whether the subject has the right to @req still. Called with lock held. */
bool review_may_still(const struct request *req, uint64_t now_ns);

/* Notes that the rules or the sessions have changed. Called without the lock. */
void review_soon(struct serve *s);
/* Looks at what streams and what is captured, now and then and after review_soon(). Called with
 * lock held, which is dropped in between. */
void review_tick(struct serve *s, uint64_t now_ns);
/* Answers a revoked request; ends a revoked stream. */
void review_refuse(struct request *req);
void review_end_stream(struct request *req);
/* Remembers whose the capture @id is, which runs on its own. */
void review_add(struct request *req, const char *id);
/* Stops, in a worker, those whose subject may not have them any more. Without the lock. */
void review_background(struct serve *s);

/* ---- own_captures.c: called without the lock ---- */

/* Remembers that the caller of @req took the capture @id. */
void own_captures_add(struct request *req, const char *id);
/* Returns whether that caller is remembered to have taken @id. */
bool own_captures_has(const struct request *req, const char *id);

/* ---- login_route.c ---- */

/* Makes req->subject, which is that of the connection, the one whose session a cookie is. False:
 * none is. @cookies: the header. */
bool login_find(struct request *req, struct span cookies);
/* Turns the answer, which is a problem, into a page for people. */
void login_page(struct request *req, const struct error *err);

/* ---- http.c ---- */

/* Start and stop the HTTP library. */
int http_start(struct serve *s, struct error *err);
void http_stop(struct serve *s);

/* ---- workers.c ---- */

/* Start and stop the workers. */
int workers_start(struct serve *s, struct error *err);
void workers_stop(struct serve *s);
/* Gives it back to the HTTP library: with its answer, or to be looked at again. Without the lock.
 */
void request_resume(struct request *req, bool ready);
/* Puts a suspended request into the queue. Called with lock held. */
void workers_push(struct serve *s, struct request *req);
/* Drops a reference; called with lock held, which is dropped in between. */
void request_unref_locked(struct request *req);
struct request *request_new(struct serve *s, const char *uri);

/* ---- request_capture.c: the capture that a request waits for ---- */

/* Describes what req->params ask for. */
void request_describe_capture(const struct request *req, struct capture_request *ret);
/* Begins a capture. True when the answer is already there: it failed, or is a stream. Else the
 * route's finish() will be called. */
bool request_begin_capture(struct request *req, const struct capture_request *c);
/* Ends the capture of a request, if one is running. Called with lock held; drops it in between. */
void request_end_capture(struct request *req, bool keep);
/* Stops waiting for a capture that does not come to its end. Called with lock held. */
void request_give_up_capture(struct request *req);

/* ---- whose.c: whose a connection is, where the broker has to be asked ---- */

/* Start and end its thread. */
int whose_start(struct serve *s, struct error *err);
void whose_end(struct serve *s);
/* Suspends @req until its place is known, or for a few seconds. False: it cannot be told now, and
 * req->place says so. Thread: the HTTP library's. */
bool whose_ask(struct request *req);
/* Asks for one that a worker has, and that goes back into the queue then. False: as above. */
bool whose_confirm(struct request *req);
/* Goes on with those that have waited long enough. Called without the lock. */
void whose_tick(struct serve *s, uint64_t now);

/* ---- answers that several routes give ---- */

/* Gets the index in @profile of the event to show: the first that @p names, or its first. 0, or
 * -EINVAL with a sentence that says which it has. */
int shown_event(const struct params *p, const struct profile *profile, uint8_t *ret,
                struct error *err);
/* Renders @profile as @format with req->params. */
void answer_profile(struct request *req, struct profile *profile,
                    const struct render_format *format);
/* Adds a header for each warning of @v, with @before in front of it. Warnings beyond the limits of
 * headers are counted. */
void answer_warnings(struct answer *a, const char *before, const struct view *v);
/* Adds the header with a name to save it under. @profile NULL: it would be of now. */
void answer_filename(struct answer *a, const struct params *p, const struct profile *profile,
                     const char *extension);
/* Says what @profile as @format is: its type and name. @profile NULL: it would be of now. */
void answer_describe(struct request *req, const struct profile *profile,
                     const struct render_format *format);
/* Answers with what req->params.range holds of the target, as @answer writes it. */
typedef void (*past_answer_fn)(struct request *req, struct profile *profile);
void answer_past(struct request *req, bool stored, past_answer_fn answer);
/* Refuses parameters that say how to sample: they have no meaning for the past. 0 or -EINVAL. */
int check_past(const struct params *p, struct error *err);
/* Nothing was sampled of the target in a time. What is wrong with the target by itself says more
 * than that; else @outcome stands. Return: one of the two. */
int explain_nothing(struct request *req, int outcome, struct error *err);
/* Does as answer_past(), unless check_past() refuses. */
void answer_recorded(struct request *req, past_answer_fn answer);
void answer_past_profile(struct request *req, struct profile *profile); /* by `format` */
/* Answers with the backend's value, or its problem. Takes @value; true. */
bool answer_backend(struct request *req, int r, json_t *value, const struct error *err);
/* Answers that the backend has no such function: 503 with a sentence. @what: "schedules are". */
void answer_missing(struct request *req, const char *what);
/* Returns whether @id looks like one: CAPTURE_ID_BYTES - 1 lower-case hexadecimal digits. */
bool is_capture_id(const char *id);
/* False: the answer says that req's event cannot be sampled. */
bool check_event(struct request *req);
/* Has the capture of req told about by events, not by its profile. */
void progress_plan(struct request *req);
/* For streams of events: says that it failed. */
void event_error(struct request *req, const struct error *err);
