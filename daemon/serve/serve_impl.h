/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of serve/: connections, requests, and the threads that pass them on.
 *
 *   net thread (net.c)        accepts, watches waiting clients, keeps deadlines
 *   MHD's pool (http.c)       reads requests, answers what needs no waiting, sends answers
 *   workers (workers.c)       call the backend, render, compress
 *   a thread of whose.c       finds out which process holds a connection's socket
 *   the engine's thread       calls capture_done()
 *
 * A request that has to wait is suspended in the HTTP library. It belongs to the workers' queue or
 * to a running capture, and is resumed when its answer is ready. `lock` guards all members marked
 * with it; no thread holds it while it calls the backend or the HTTP library.
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
#define SERVE_WORKERS_OF_CALLER 3 /* most workers for requests of one caller */
#define SERVE_WORKERS_HEAVY 3     /* most workers for heavy work, which may take seconds */
#define SERVE_HEAVY_OF_CALLER 2   /* most workers for heavy work of one caller */
#define SERVE_VERIFY_MAX 2        /* most workers that check passwords, one per caller */
#define SERVE_MHD_THREADS 2
#define SERVE_LISTEN_MAX 16
#define PATH_TEXT_MAX 128
#define SERVE_GUESTS_MAX 16                 /* connections reserved for health routes */
#define SERVE_CLOSING_MAX 256               /* connections shut down but not closed yet */
#define SERVE_HEAD_MAX_BYTES (32 * 1024)    /* request line and headers */
#define SERVE_CONNECTION_BYTES (128 * 1024) /* the HTTP library's memory for both heads */
#define SERVE_END_GRACE_NS                                                                         \
    (3 * NSEC_PER_SEC) /* from the end of its duration until a capture is ended */
#define SERVE_GIVE_UP_NS                                                                           \
    (9 * NSEC_PER_SEC / 2) /* from the end of its duration until the answer is sent */
#define SERVE_END_AHEAD_NS                                                                         \
    (NSEC_PER_SEC / 2) /* a capture is ordered to end at least this long before */
/* Budgets of a caller that refill over time. */
enum quota_budget {
    QUOTA_BUDGET_ATTACHES,
    QUOTA_BUDGET_BEGUN,
    QUOTA_BUDGET_BEGUN_OF_ALL,
    QUOTA_BUDGET_RENDERING,
    QUOTA_BUDGET_KINDS
};
#define QUOTA_BUDGETS_MAX 256              /* callers with budgets; the fullest is replaced */
#define QUOTA_ATTACH_NS (5 * NSEC_PER_SEC) /* refill time of one attach */
#define QUOTA_ATTACHES_MAX 12              /* burst of attaches */
/* Captures that one caller begins: a burst, and one per interval after it. The interval _OF_ALL is
 * for callers that see all processes, which may scrape many. */
#define QUOTA_BEGUN_MAX 64
#define QUOTA_BEGUN_NS NSEC_PER_SEC
#define QUOTA_BEGUN_OF_ALL_NS (NSEC_PER_SEC / 8)
#define QUOTA_RENDER_NS (60 * NSEC_PER_SEC)      /* burst of CPU time for one caller's answers */
#define QUOTA_RENDER_SHARE 2                     /* divisor: share of a CPU in the long run */
#define SERVE_GUEST_NS NSEC_PER_SEC              /* a guest is served at least this long */
#define SERVE_STALL_NS (2 * NSEC_PER_SEC)        /* a client that reads nothing may be evicted */
#define SERVE_SEND_MAX_NS (600 * NSEC_PER_SEC)   /* time limit of a client to read its answer */
#define SERVE_STOP_MAX_NS (4 * NSEC_PER_SEC)     /* wait for captures to end while stopping */
#define SERVE_STOP_SEND_NS (2 * NSEC_PER_SEC)    /* wait for the last answers to be sent */
#define SERVE_STOP_ALL_NS (9 * NSEC_PER_SEC / 2) /* limit of both waits together */

struct request;

/* A message received by POST /mcp. */
struct mcp_message {
    json_t *root;              /* owned; NULL: none */
    const json_t *id, *params; /* in @root; NULL: absent */
    const char *method;        /* in @root */
    const char *tool;          /* the called tool; static; NULL: none */
    bool modern;               /* revision 2026-07-28 or later */
};

/* A connection. Guarded by lock. */
struct client {
    int fd; /* owned by the HTTP library */
    bool used, unix_socket, closing;
    struct tls *tls;                 /* owned: TLS set in use; NULL: plain connection */
    bool speaks_tls;                 /* constant */
    struct certificate_names *names; /* owned: verified certificate names; NULL: none */
    bool judged;                     /* the certificate was checked */
    int64_t until_s;                 /* when to check it again, in seconds since 1970 */
    struct caller caller;            /* caller of the connection */
    struct caller asks;              /* caller of its request; another one with a token or cookie */
    struct peer_connection end;      /* peer as last determined; changed with lock held, by the
                                      * thread that has its request */
    struct subject subject;          /* subject of the peer; changed by the same thread */
    bool guest;                      /* its caller is beyond its share: health routes only */
    bool waits, streams;     /* its request waits or is a stream, and counts for its caller */
    bool busy;               /* a request is being processed or answered */
    bool probed;             /* half-closed, and already probed */
    uint32_t generation;     /* number of the connection in this slot: a late event cannot reach the
                                next one */
    uint64_t since_ns;       /* when it last became busy or idle, or its answer began to be sent */
    size_t held_bytes;       /* bytes of an answer or a stream's piece that it has not read */
    uint64_t stalled_ns;     /* when it stopped reading its answer; 0: it reads */
    struct request *request; /* the suspended request; NULL: none */
    bool watching;           /* in the epoll set, to notice that the client leaves */
    char local_address[INET6_ADDRSTRLEN], peer_address[INET6_ADDRSTRLEN]; /* "" for Unix sockets */
};

/* The check of a request's password, by a worker. */
struct password_check {
    enum { VERIFY_NONE, VERIFY_WANTED, VERIFY_DONE } state;
    struct basic *basic;                /* owned: the password to check */
    char claimed[ACCESS_NAME_MAX + 1];  /* name sent with a password; "": none */
    const struct access_rule *verified; /* rule of the verified name; NULL: wrong password */
    unsigned retry_s;                   /* seconds until the next attempt; 0: an attempt was left */
};

/* The look-up of the process at the other end of a connection, by whose.c. */
struct peer_look_up {
    enum { WHOSE_UNASKED, WHOSE_WANTED, WHOSE_ANSWERED, WHOSE_ASKED } state;
    enum peer_place place; /* with WHOSE_ANSWERED: the result */
    bool confirms;         /* waits for whose_confirm(); thread: the worker's */
    bool taken;            /* removed from the list of whose.c, to be resumed; guarded by lock */
    uint64_t until_ns;     /* deadline of the look-up */
};

/* The client of a request, as far as it is known. */
struct asker {
    struct caller caller;
    struct subject subject;
    struct subject base;        /* the user of the machine, before rules */
    char session[SESSION_TEXT]; /* session of the cookie; "": none */
    uint64_t session_left_ns;
    bool by_peer; /* identified by its peer, alone or with a cookie */
    bool begun;   /* request_begin() has permitted it */
    struct password_check password;
    struct peer_look_up look_up;
};

/* What the client sent, and how far it is read. */
struct received {
    char *uri;                /* owned: as sent */
    char *path;               /* owned: decoded */
    char host[PATH_TEXT_MAX]; /* the Host header; "": none */
    struct buf body;
    bool seen, has_body, drains, checked, http_1_0;
};

/* The form of answer that the client wants. */
struct wanted_form {
    bool head;                /* HEAD: the answer without its body */
    bool events, openmetrics; /* Accept names the type */
    bool html;                /* Accept names text/html, as browsers do */
    bool text;                /* Accept or the parameter asks for text: lists as tables */
    enum content_coding coding;
    const struct render_value *values; /* as in struct render_opts; static */
};

/* The capture that a request waits for; see request_capture.c. Guarded by lock. */
struct awaited_capture {
    struct capture *handle;
    struct request *next, **link; /* list of serve while the capture runs */
    uint64_t duration_ns;         /* 0: unlimited */
    uint64_t started_ns;          /* when it began to sample, if `runs` */
    uint64_t end_ns, give_up_ns;
    bool counted; /* as a running capture, unless capture_start() failed */
    bool runs;    /* the capture has begun to sample */
    bool starts;  /* a worker is to start its stream */
    bool held;    /* a thread is inside capture_start() or capture_end() */
    bool ended;   /* the capture is ordered to end, or will be once not held */
    bool end_keep;
    bool done;      /* capture_done() was called, or the capture was given up */
    bool abandoned; /* the capture was given up */
    /* Results. */
    struct profile *profile; /* owned */
    int outcome;
    struct error err;
};

struct request {
    struct serve *serve;
    struct MHD_Connection *connection;
    struct client *client;
    struct asker who;
    struct received received;
    const struct route *route;
    const struct route *came_by; /* original route before request_become(); NULL: not called */
    bool wrapped;                /* the answer has been converted to that of @came_by */
    struct mcp_message mcp;
    struct query query;
    struct params params;
    int32_t path_pid;
    char path_text[PATH_TEXT_MAX]; /* value of {id} or {name} in the path */
    json_t *target_facts;          /* owned: facts of its single target process; NULL: unknown */
    char capture_id[CAPTURE_ID_BYTES]; /* capture created or named; "": none, or in profile */
    struct wanted_form wants;
    struct answer answer; /* for the thread that works on the request */
    struct stream stream;

    /* Guarded by lock. */
    struct request *next; /* in the queue, or in the list of whose.c */
    unsigned refs; /* references of the HTTP library, of the capture until done, and of calls to the
                      backend */
    bool ready;
    bool left;    /* the client has left */
    bool noted;   /* it is counted and audited; thread: the one that works on the answer */
    bool revoked; /* its subject has lost the right to it: see review.c */
    struct awaited_capture capture;
};

#define OWN_CAPTURES_MAX 1024 /* captures with a remembered caller; the oldest is replaced */

/* The caller of a capture. A client that sees others' captures may stop and remove its own without
 * ROLE_MANAGE. */
struct own_capture {
    char id[CAPTURE_ID_BYTES]; /* "": unused */
    struct caller caller;
};

#define BACKGROUND_MAX 256 /* beyond it, the capture that ends first is forgotten */

/* A capture that runs on its own. */
struct background {
    uint64_t until_ns; /* when it has ended; 0: unused */
    bool stopping;     /* a worker is asking the engine to stop it */
    char id[CAPTURE_ID_BYTES];
    enum role role; /* role that it requires */
    struct subject subject, base;
};

/* Where clients connect. */
struct listeners {
    struct MHD_Daemon *mhd, *mhd_tls; /* for plain connections, and for TLS */
    struct tls *tls;                  /* owned: for new connections; guarded by lock */
    int fds[SERVE_LISTEN_MAX];
    size_t count;
    char unix_path[LISTEN_PATH_BYTES]; /* path of its first Unix socket; "": none */
};

/* The net thread; see net.c. */
struct net_thread {
    pthread_t thread;
    int epoll_fd, wake_fd;
    bool started, stop;
};

/* The workers; see workers.c. Guarded by lock. */
struct worker_pool {
    pthread_t threads[SERVE_WORKERS];
    size_t started;
    bool stop;
    pthread_cond_t work;
    struct request *queue; /* oldest first */
    struct work_slot {
        bool busy, heavy, verifies;
        struct caller caller; /* caller of its request */
    } slots[SERVE_WORKERS];
    size_t running; /* number of workers that have a slot */
};

/* The thread of whose.c. Guarded by lock. */
struct whose_thread {
    pthread_t thread;
    bool started, stop;
    pthread_cond_t work;
    struct request *queue; /* oldest first */
    uint64_t begun_ns;     /* since when a search is in progress; 0: none is */
    bool looks;            /* it asks the broker now */
};

/* The reviews of review.c. Guarded by lock. */
struct reviews {
    uint64_t next_ns;
    bool background_due;   /* the next worker is to run review_background() */
    bool background_again; /* the next tick sets background_due: a capture could not be stopped */
    struct background background[BACKGROUND_MAX];
};

/* Guarded by lock. */
struct own_captures {
    struct own_capture list[OWN_CAPTURES_MAX];
    size_t next;
};

struct serve {
    struct api_backend be;
    struct serve_opts opts;
    struct listeners listen;
    struct net_thread net;
    struct worker_pool workers;
    struct whose_thread whose;

    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct client *clients; /* [client_max] */
    size_t client_max;
    size_t suspended_count;
    bool stopping;
    struct request *streams;
    struct request *capturing; /* list of requests with a running capture, captures_now long */
    struct serve_stats stats;
    struct answer_counts counts;
    uint64_t changes; /* number of answers, except those of health, and of ended captures */
    struct shared_metrics {
        struct buf text;            /* owned: the backend's text, for callers that see the whole
                                     * node */
        uint64_t asked_ns, changes; /* time of that text, and value of `changes` then */
    } metrics[2];                   /* Prometheus text, and OpenMetrics */
    struct quota_budgets {
        bool used;
        struct caller caller;
        struct budget of[QUOTA_BUDGET_KINDS];
    } budgets[QUOTA_BUDGETS_MAX];
    struct audit *audit;
    struct sessions *sessions;
    struct attempts attempts; /* guarded by lock */
    struct passwords *passwords;
    struct reviews review;
    struct own_captures own;
    struct access_rules *_Atomic access; /* in force; ->next keeps earlier ones */
};

/* ---- net.c ---- */

/* Start and stop the net thread. */
int net_start(struct serve *s, struct error *err);
void net_stop(struct serve *s);
/* Start and end watching the client of a suspended request. Called with lock held. */
void net_watch(struct serve *s, struct request *req);
void net_unwatch(struct serve *s, struct request *req);

/* ---- connection_places.c: room for connections; called with lock held ---- */

/* Takes a place for a connection of @caller, evicting an idle one if needed. NULL: none is left. */
struct client *connection_place_take(struct serve *s, const struct caller *caller);
/* Returns whether @c is no guest, or its caller now has room, which ends its guest status. */
bool connection_place_promote(struct serve *s, struct client *c);
/* Shuts the connection down; the HTTP library then closes it. */
void client_cut(struct client *c);
/* Updates the time since which the client has read nothing of its answer. */
void client_watch_reading(struct client *c, uint64_t now);

/* ---- held_answers.c: memory of answers that are not read yet ---- */

/* Returns whether @of may hold @n bytes more. If needed, cuts clients of callers that hold more.
 * Called with lock held. */
bool answers_have_room(struct serve *s, const struct caller *of, size_t n);
/* Counts the answer of @req for its caller. If there is no room, the answer says so instead. Called
 * without the lock. */
void answers_hold(struct request *req);

/* ---- quota.c: limits per caller ---- */

/* Take what @req needs, if the caller's limit permits. False: the answer names the limit and the
 * time to retry. Called without the lock. */
bool quota_enter(struct request *req); /* for a request on a guest's connection */
bool quota_wait(struct request *req);  /* for a worker */
bool quota_stream(struct request *req);
bool quota_attach(struct request *req);
bool quota_begin(struct request *req); /* checks; quota_begun() charges */
void quota_begun(struct request *req);
/* Sets the caller that a request counts for, once its subject is known. Called without the lock. */
void quota_set_caller(struct request *req);
/* Charges CPU time to the rendering budget of @caller. Called with lock held. */
void quota_spend(struct serve *s, const struct caller *caller, uint64_t cpu_ns);
/* Counts a capture that the backend refused with BACKEND_TOO_MANY. Called without the lock. */
void quota_note_capture(struct serve *s, int outcome);
/* Returns whether the caller may begin another capture. False: @err has the reason, *ret_retry_s
 * the seconds to wait. Called with lock held. */
bool quota_capture(const struct request *req, struct error *err, unsigned *ret_retry_s);

/* ---- request_rights.c: rights of a request's subject ---- */

/* Returns whether the subject of @req has the role @needed; else @err says why not. */
bool request_has_role(const struct request *req, enum role needed, struct error *err);

/* Returns the role that @req requires, considering its events and its source of names. */
enum role request_role(const struct request *req);
/* Limits the request to what its subject sees. False: the answer says which right is missing. */
bool request_may_sample(struct request *req);
/* Returns whether the subject may sample the events of @req; else @err names the missing right. */
bool request_may_sample_events(const struct request *req, struct error *err);

/* ---- request_check.c, request_send.c: a request passed to another route ---- */

/* Passes @req to @route with the parameters @q, which it takes. Checks the role of its subject and
 * the parameters as for a direct request. False: the answer says what is wrong. */
bool request_become(struct request *req, const struct route *route, struct query *q);
/* Converts the complete answer of @req to that of its original route. */
void request_wrap(struct request *req);

/* ---- request_begin.c: second check of the client, when an act begins ---- */

enum begin { BEGIN_GO, BEGIN_WAIT, BEGIN_REFUSED };
/* Returns whether @req may begin. BEGIN_WAIT: whose.c queues it for the workers later;
 * BEGIN_REFUSED: the answer says why. Thread: a worker's. */
enum begin request_begin(struct request *req);
/* Refuses @req because of its peer @peer at @place, which is not PEER_HOST. */
void request_refuse_peer(struct request *req, const struct peer *peer, enum peer_place place);

/* ---- review.c: rights that are revoked while in use ---- */

/* Returns whether the subject still has the right to @req. Called with lock held. */
bool review_may_still(const struct request *req, uint64_t now_ns);

/* Schedules a review because rules or sessions have changed. Called without the lock. */
void review_soon(struct serve *s);
/* Reviews streams and running captures, once a second and after review_soon(). Called with lock
 * held, which is dropped in between. */
void review_tick(struct serve *s, uint64_t now_ns);
/* Answer a revoked request; end a revoked stream. */
void review_refuse(struct request *req);
void review_end_stream(struct request *req);
/* Remembers the subject of the capture @id, which runs on its own. */
void review_add(struct request *req, const char *id);
/* Stops the remembered captures with a subject that has lost its right. Thread: a worker's. Called
 * without the lock. */
void review_background(struct serve *s);

/* ---- own_captures.c: called without the lock ---- */

/* Remembers the caller of @req as that of the capture @id. */
void own_captures_add(struct request *req, const char *id);
/* Returns whether the caller of @req is remembered as that of the capture @id. */
bool own_captures_has(const struct request *req, const char *id);

/* ---- login_route.c ---- */

/* Sets req->who.subject to that of a session cookie, in place of that of the connection. False:
 * there is no valid cookie. @cookies: the header. */
bool login_find(struct request *req, struct span cookies);
/* Replaces the answer, a problem, by a page for people. */
void login_page(struct request *req, const struct error *err);

/* ---- http.c ---- */

/* Start and stop the HTTP library. */
int http_start(struct serve *s, struct error *err);
void http_stop(struct serve *s);

/* ---- workers.c ---- */

/* Start and stop the workers. */
int workers_start(struct serve *s, struct error *err);
void workers_stop(struct serve *s);
/* Resumes a request in the HTTP library. @ready: its answer is complete; else the library calls
 * again. Without the lock. */
void request_resume(struct request *req, bool ready);
/* Appends a suspended request to the queue. Called with lock held. */
void workers_push(struct serve *s, struct request *req);
/* Drops a reference. Called with lock held, which is dropped in between. */
void request_unref_locked(struct request *req);
struct request *request_new(struct serve *s, const char *uri);

/* ---- request_capture.c: the capture that a request waits for ---- */

/* Describes the capture that req->params request. */
void request_describe_capture(const struct request *req, struct capture_request *ret);
/* Begins a capture. True: the answer is complete, because it failed or is a stream. False: the
 * route's finish() will be called. */
bool request_begin_capture(struct request *req, const struct capture_request *c);
/* Ends the running capture of a request, if any. Called with lock held, which is dropped in
 * between. */
void request_end_capture(struct request *req, bool keep);
/* Gives up a capture that does not end in time. Called with lock held. */
void request_give_up_capture(struct request *req);

/* ---- whose.c: owners of connections that only the broker can find ---- */

/* Start and end the thread of whose.c. */
int whose_start(struct serve *s, struct error *err);
void whose_end(struct serve *s);
/* Suspends @req until its place is known, for a few seconds at most. False: it cannot be found now,
 * and req->who.look_up.place is PEER_UNTOLD. Thread: the HTTP library's. */
bool whose_ask(struct request *req);
/* Does the same for a request of a worker, which is then queued again. False: as above. */
bool whose_confirm(struct request *req);
/* Resumes requests with a wait that is over. Called without the lock. */
void whose_tick(struct serve *s, uint64_t now);

/* ---- routes/events.c ---- */

/* Sends the event "failed" on a stream of events. */
void event_error(struct request *req, const struct error *err);
