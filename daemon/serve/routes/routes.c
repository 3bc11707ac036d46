/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/mcp.h"
#include "serve/routes/handlers.h"

#define BIT(name) PARAM_BIT(PARAM_##name)
#define PPROF_TEXT                                                                                 \
    " Without `seconds` nothing was counted yet: an empty, valid pprof, at once. Also where the "  \
    "event cannot be had: `X-Flamed-Warning` then says why. For scrapers, as "                     \
    "/debug/pprof/profile."

static const struct route ROUTES[] = {
    { "/", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_page,
      .doc = { .id = "getIndex",
               .summary =
                   "The web page: every JVM of this node, its timeline, flame graphs and captures",
               .text = "To a client that does not name text/html in `Accept`, such as curl: the "
                       "busiest JVMs, and three commands to type next.",
               .answer = "The page, or a few lines of text.",
               .types = "text/html text/plain",
               .problems = "403" } },
    { "/ui/{file}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_page_file,
      .doc = { .id = "getPageFile",
               .summary = "What the web page loads; the names change with what is in the files",
               .answer = "A script or a style sheet, which may be cached without end.",
               .types = "text/javascript text/css" } },
    { "/login", METHOD_GET, ROLE_HEALTH, BIT(TICKET), .asks = true, .cookies_alone = true,
      .handle = handle_login, .audit = AUDIT_LOGIN,
      .doc = { .id = "login",
               .summary = "Log in: an address of flamed --login, good once; sets a cookie and "
                          "leads to the page",
               .status = 303,
               .answer = "Logged in: Set-Cookie has the session (HttpOnly, SameSite=Strict), "
                         "Location the page.",
               .problems = "403" } },
    { "/logout", METHOD_POST, ROLE_HEALTH, PARAMS_NONE, .asks = true, .cookies_alone = true,
      .handle = handle_logout, .audit = AUDIT_LOGOUT,
      .doc = { .id = "logout",
               .summary = "End the session of the cookie",
               .text = "Streams, and answers that wait for their capture, end with it. Captures "
                       "that run on their own (POST /api/v1/captures) go on: the session's user "
                       "may still have them.",
               .status = 204,
               .answer = "There is none any more.",
               .problems = "403" } },
    { "/profile", METHOD_GET, ROLE_PROFILE, PARAMS_PROFILE, .negotiates = true, .streams = true,
      .waits = true, .handle = handle_profile, .finish = finish_profile, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getProfile",
               .summary = "Sample for some seconds, then answer with the finished profile",
               .text = "Without a target the whole node is sampled. A client that leaves ends its "
                       "sampling. HEAD checks the request and its target and samples nothing. With "
                       "`from` nothing is sampled. The answer is what the flight recorder and the "
                       "store hold of that time, at once. `pid` is then the last process with that "
                       "pid, dead or alive. With `Accept: text/event-stream`: events `progress` "
                       "while it runs, then `done` with the `link` of the profile, or `failed`.",
               .answer = "The profile.",
               .problems = "400 403 404 406 409 413 503" } },
    { "/top", METHOD_GET, ROLE_PROFILE, PARAMS_TOP, .streams = true, .waits = true,
      .handle = handle_top, .finish = finish_top, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getTop",
               .summary = "The hottest functions, live or of a time in the past",
               .text = "With `from` or `at` nothing is sampled. The answer is then one table of "
                       "what the flight recorder, the history and the store hold of that time. "
                       "With `by` there is a line for each group, the greatest first, and below "
                       "it its hottest functions; JSON then has `groups`, too.",
               .answer =
                   "A table that is drawn again in place until the client leaves: for `curl -N` in "
                   "a terminal. With `Accept: text/event-stream`: events `top` with JSON.",
               .types = "text/plain text/event-stream",
               .problems = "400 403 404 409 503" } },

    { "/api/v1/jvms", METHOD_GET, ROLE_VIEW, PARAMS_TARGET | BIT(LIST_FORMAT), .waits = true,
      .handle = handle_document, .document = DOCUMENT_JVMS,
      .doc = { .id = "listJvms",
               .summary = "Every JVM on the node",
               .answer = "The JVMs that the target parameters select; all without one.",
               .schema = "Jvms",
               .types = "text/plain",
               .problems = "400 403 404" } },
    { "/api/v1/jvms/{pid}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_JVM,
      .doc = { .id = "getJvm",
               .summary = "One JVM",
               .answer = "The JVM.",
               .schema = "Jvm",
               .problems = "400 403 404" } },
    { "/api/v1/services", METHOD_GET, ROLE_VIEW, BIT(LIST_FORMAT), .waits = true,
      .handle = handle_document, .document = DOCUMENT_SERVICES,
      .doc = { .id = "listServices",
               .summary = "The services of this node, by name",
               .text = "A service is what its JVMs say of themselves: what a tracer publishes, "
                       "-Dotel.service.name, "
                       "OTEL_SERVICE_NAME, DD_SERVICE and the like. Of one that says nothing it "
                       "is the workload of its pod, its container, its unit, or its main class. "
                       "Listed are services with a JVM that runs.",
               .answer = "The services.",
               .schema = "Services",
               .types = "text/plain",
               .problems = "400 403" } },
    { "/api/v1/signals", METHOD_GET, ROLE_VIEW, BIT(PID) | BIT(SERVICE) | BIT(LIST_FORMAT),
      .waits = true, .handle = handle_document, .document = DOCUMENT_SIGNALS,
      .doc = { .id = "listSignals",
               .summary = "What is wrong with the JVMs of this node, each as a sentence",
               .text = "Rules look at numbers of each JVM every 10 s: collections, its CPU limit, "
                       "memory, threads, descriptors. A JVM that ended is there for 10 minutes.",
               .answer = "The signals that are on, the most severe of a JVM first.",
               .schema = "Signals",
               .types = "text/plain",
               .problems = "400 403 404" } },
    { "/api/v1/words", METHOD_GET, ROLE_VIEW,
      BIT(PID) | BIT(SERVICE) | PARAMS_RANGE | BIT(EVENT) | BIT(LIST_FORMAT), .waits = true,
      .heavy = true, .handle = handle_words,
      .doc = { .id = "getWords",
               .summary = "A target in at most five sentences: what its time went to, what is "
                          "unusual, what changed, how sure",
               .text = "Without a range the last 5 minutes. With fewer than 300 samples it says "
                       "so, and goes on about the shortest time before that has as many.",
               .answer = "The sentences, each with a path that shows it.",
               .schema = "Words",
               .types = "text/plain",
               .problems = "400 403 404 503" } },
    { "/api/v1/changes", METHOD_GET, ROLE_VIEW,
      BIT(PID) | BIT(SERVICE) | BIT(A) | BIT(B) | BIT(LIST_FORMAT), .waits = true, .heavy = true,
      .handle = handle_changes,
      .doc = { .id = "listChanges",
               .summary = "What is different now, by functions, locks, waits and categories",
               .text = "`a` and `b` are ranges of the past. Without them the last 5 minutes are "
                       "compared with the 5 before. Each side is divided into minutes, or parts "
                       "of one, and a rank test compares them. Only what is significant is "
                       "listed.",
               .answer = "The changes, the greatest first.",
               .schema = "Changes",
               .types = "text/plain",
               .problems = "400 403 404 503" } },
    { "/api/v1/jvms/{pid}/preflight", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_PREFLIGHT,
      .doc = { .id = "getPreflight",
               .summary =
                   "What an attach to this JVM would meet, step by step; touches nothing in it",
               .answer = "The steps.",
               .schema = "Preflight",
               .problems = "400 403 404" } },
    { "/api/v1/jvms/{pid}/heap", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_HEAP,
      .doc = { .id = "getHeap",
               .summary = "The JVM's memory, collections, safepoints, threads and classes, as it "
                          "counts them itself",
               .text = "Out of the counters in the JVM's own memory: no file, no probe, nothing "
                       "injected. 409 where it runs with -XX:-UsePerfData. Sizes are bytes. The "
                       "collectors of HotSpot write `used` of a space at their collections only.",
               .answer = "The counters.",
               .schema = "Heap",
               .problems = "400 403 404 409" } },
    { "/api/v1/jvms/{pid}/threads", METHOD_GET, ROLE_PROFILE, BIT(LIST_FORMAT) | BIT(GROUP),
      .waits = true, .heavy = true, .handle = handle_threads, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getThreads",
               .summary = "What every Java thread does now, platform and virtual: name, state, "
                          "stack, lock and its owner",
               .text = "Read from the JVM's memory while it runs on: nothing is injected, and no "
                       "thread is stopped. What is missing is counted and said. Text has the "
                       "form of jstack.",
               .answer = "The threads.",
               .schema = "Threads",
               .types = "text/plain",
               .problems = "400 403 404 409 413" } },
    { "/api/v1/jvms/{pid}/perf-map", METHOD_GET, ROLE_PROFILE, BIT(MAP_SYMBOLS) | BIT(UNFOLD),
      .waits = true, .heavy = true, .handle = handle_perf_map, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getPerfMap",
               .summary =
                   "The JVM's map in the format of /tmp/perf-PID.map, for perf and other tools",
               .answer = "A line per piece of code: start and size in hex, and the name.",
               .types = "text/plain",
               .problems = "400 403 404 409" } },
    { "/api/v1/events", METHOD_GET, ROLE_VIEW, BIT(PID) | BIT(MATCH), .waits = true,
      .handle = handle_events,
      .doc = { .id = "listEvents",
               .summary = "The events that can be sampled",
               .text = "With `pid`, which is one process here: the events that can be sampled "
                       "there. With `match`: those whose name or description contains it. "
                       "Tracepoints of the kernel are among them then, up to 200.",
               .answer = "The events.",
               .schema = "Events",
               .problems = "400 403 404" } },
    { "/api/v1/captures", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(EVENT) | BIT(STATE) | BIT(SCHEDULE) | BIT(LIMIT) |
          BIT(CURSOR),
      .waits = true, .handle = handle_captures,
      .doc = { .id = "listCaptures",
               .summary = "Captures that are kept, newest first",
               .answer = "One page of them.",
               .schema = "Captures",
               .problems = "400 403 404 503" } },
    { "/api/v1/captures", METHOD_POST, ROLE_PROFILE, PARAMS_CAPTURE | PARAMS_RANGE | PARAMS_RENDER,
      .body = BODY_PARAMS, .waits = true, .handle = handle_capture_create, .audit = AUDIT_CAPTURE,
      .doc = { .id = "createCapture",
               .summary = "Begin a capture that runs on its own, or keep a time of the past as one",
               .text =
                   "The body is an object of the parameters of `/profile`, as numbers, texts, "
                   "booleans or lists. Without `seconds` it runs until it is stopped, 3,600 s "
                   "at most. With `from` or `at` nothing is sampled: what `/profile` would answer "
                   "of that time becomes a capture, which stays as others do. Parameters of "
                   "rendering are checked and have no effect: a capture is rendered when it is "
                   "asked for.",
               .status = 201,
               .answer = "It has begun.",
               .schema = "Capture",
               .problems = "400 403 404 409 413 415 503" } },
    { "/api/v1/captures/{id}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_capture,
      .doc = { .id = "getCapture",
               .summary = "One capture: state, progress, counts, warnings",
               .answer = "The capture.",
               .schema = "Capture",
               .problems = "400 403 404 503" } },
    { "/api/v1/captures/{id}", METHOD_DELETE, ROLE_PROFILE, PARAMS_NONE, .waits = true,
      .handle = handle_capture_delete, .audit = AUDIT_DELETE,
      .doc = { .id = "deleteCapture",
               .summary = "Remove a capture; a running one ends",
               .status = 204,
               .answer = "It is gone.",
               .problems = "400 403 404 503" } },
    { "/api/v1/captures/{id}/profile", METHOD_GET, ROLE_VIEW, BIT(EVENT) | PARAMS_RENDER,
      .negotiates = true, .waits = true, .heavy = true, .handle = handle_capture_profile,
      .doc = { .id = "getCaptureProfile",
               .summary = "Render a capture",
               .answer = "The profile; of a running capture what there is so far.",
               .problems = "400 403 404 406 409 413 503" } },
    { "/api/v1/captures/{id}/stop", METHOD_POST, ROLE_PROFILE, PARAMS_NONE, .waits = true,
      .handle = handle_capture_stop, .audit = AUDIT_STOP,
      .doc = { .id = "stopCapture",
               .summary = "End a capture early and keep it",
               .answer = "The capture.",
               .schema = "Capture",
               .problems = "403 404 409 503" } },
    { "/api/v1/captures/{id}/stream", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_capture_stream,
      .doc = { .id = "streamCapture",
               .summary = "Follow a capture while it runs",
               .answer = "Server-sent events: `progress` with the capture, `top` with the hottest "
                         "functions so far, at the end `done`, or `failed`.",
               .types = "text/event-stream",
               .problems = "403 404 503" } },
    { "/api/v1/query", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(EVENT) | PARAMS_RENDER, .negotiates = true, .waits = true,
      .heavy = true, .handle = handle_query,
      .doc = { .id = "query",
               .summary = "Merge what is stored of a target and a time into one profile",
               .text =
                   "Where no capture of that time is stored: what the flight recorder holds of it.",
               .answer = "The profile.",
               .problems = "400 403 404 406 413 503" } },
    { "/api/v1/diff", METHOD_GET, ROLE_VIEW, PARAMS_DIFF, .waits = true, .heavy = true,
      .handle = handle_diff,
      .doc = { .id = "diff",
               .summary = "Compare two captures or two ranges of time",
               .answer = "The diff: every stack with what it weighs in both, and the most changed "
                         "functions.",
               .types = "text/html image/svg+xml text/plain application/json",
               .problems = "400 403 404 409 413 503" } },
    { "/api/v1/timeline", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(BUCKETS) | BIT(BY), .waits = true, .heavy = true,
      .handle = handle_timeline,
      .doc = { .id = "getTimeline",
               .summary = "Samples by time out of the flight recorder, the history for what it "
                          "does not reach, and stored captures before that",
               .text = "Without `buckets` there are 60 up to an hour. Above that they are of 1 "
                       "minute, above 4 hours of 10, above 48 hours of an hour. The range is then "
                       "widened to whole ones.",
               .answer = "Lines of samples per bucket. Without a range the last 10 minutes. "
                         "`marks` are releases, set clocks, and captures. "
                         "`moments` are the garbage collections, and the safepoints of 10 ms or "
                         "more without their collections, of JVMs: the 500 longest.",
               .schema = "Timeline",
               .problems = "400 403 404 503" } },
    { "/api/v1/schedules", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_SCHEDULES,
      .doc = { .id = "listSchedules",
               .summary = "The configured schedules, their last and next run",
               .answer = "The schedules.",
               .schema = "Schedules",
               .problems = "403 503" } },
    { "/api/v1/push", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_document,
      .document = DOCUMENT_PUSH,
      .doc = { .id = "listPushTargets",
               .summary = "Where profiles and alerts are pushed, and how that goes",
               .text = "What the configuration has under `push`, and the webhooks of `triggers`: "
                       "what waits for each, what was sent, dropped and refused, and the last "
                       "error. The url of a webhook is shown without its path. A client that sees "
                       "only a part of the node gets empty lists.",
               .answer = "The targets.",
               .schema = "PushTargets",
               .problems = "403 503" } },
    { "/api/v1/audit", METHOD_GET, ROLE_MANAGE, BIT(LIMIT), .waits = true, .handle = handle_audit,
      .doc = { .id = "listAudit",
               .summary = "Who did what: captures, attaches, removals, triggers, logins, refusals; "
                          "the newest first, since flamed's start",
               .text = "Over TCP it takes a token, a password, a certificate or a login, unless "
                       "`tcp_manage` is set.",
               .answer = "The last 1,024 acts, 256 refusals of known callers (32 of one) and 64 of "
                         "others (16 of one address). At most as many as `limit` says (100).",
               .schema = "Audit",
               .problems = "403" } },
    { "/api/v1/whoami", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .asks = true, .handle = handle_whoami,
      .doc = { .id = "getWhoami",
               .summary = "The caller, how it is known, and what it may",
               .answer = "The subject of this request.",
               .schema = "Whoami",
               .problems = "401" } },
    { "/api/v1/logins", METHOD_POST, ROLE_VIEW, PARAMS_NONE, .handle = handle_login_ticket,
      .audit = AUDIT_LOGIN,
      .doc = { .id = "createLogin",
               .summary = "An address at which a browser logs in as the caller; on the Unix socket "
                          "alone (flamed --login)",
               .status = 201,
               .answer = "What to open, within seconds.",
               .schema = "Login",
               .problems = "403" } },
    { "/api/v1/triggers/{name}", METHOD_POST, ROLE_MANAGE, PARAMS_NONE, .body = BODY_IGNORED,
      .waits = true, .handle = handle_trigger, .audit = AUDIT_TRIGGER,
      .doc = { .id = "pullTrigger",
               .summary = "For webhooks of alerts: start the capture that the configuration names",
               .text = "A body is read and ignored. Over TCP it takes a token, a password, a "
                       "certificate or a login, unless `tcp_manage` is set.",
               .status = 201,
               .answer = "It has begun.",
               .schema = "Capture",
               .problems = "403 404 409 413 503" } },

    { "/mcp", METHOD_POST, ROLE_VIEW, PARAMS_NONE, .body = BODY_MESSAGE, .handle = handle_mcp,
      .receive = mcp_receive, .wrap = mcp_wrap,
      .doc = { .id = "callMcp",
               .summary = "For programs of language models: the Model Context Protocol",
               .text = "Where the configuration has `mcp: yes`; else 404. The body is one message "
                       "of JSON-RPC 2.0, of revision 2026-07-28, or of an older one: 2025-11-25, "
                       "2025-06-18, 2025-03-26. `tools/list` lists the tools. A call of a tool "
                       "counts as a request of the tool's route: by its role, its quota and its "
                       "line of the audit. docs/mcp.md says more.",
               .answer = "The reply. 202 without one to a notification.",
               .types = "application/json",
               .problems = "400 401 403 404 413 415" } },

    { "/debug/pprof/", METHOD_GET, ROLE_VIEW, PARAMS_LENIENT, .handle = handle_pprof_index,
      .doc = { .id = "getPprofIndex",
               .summary = "What is below this path",
               .text = "As all below /debug/pprof/ it ignores unknown parameters.",
               .answer = "A page.",
               .types = "text/html",
               .problems = "403" } },
    { "/debug/pprof/profile", METHOD_GET, ROLE_PROFILE,
      PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT, .waits = true, .handle = handle_pprof_profile,
      .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getPprofProfile",
               .summary = "Sample for some seconds and answer as Go programs do",
               .text = "For scrapers: unknown parameters are ignored, of repeated ones the first "
                       "counts. The capture is not stored.",
               .answer = "pprof, gzip.",
               .types = "application/octet-stream",
               .problems = "400 403 404 409 413 503" } },
    { "/debug/pprof/heap", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getPprofHeap",
               .summary = "Sample objects that stay on the Java heap",
               .text = "As `event=live`, of up to 8 JVMs: objects that were allocated in those "
                       "seconds and are still reachable. An agent is loaded into each JVM. "
                       "`inuse_objects` counts objects." PPROF_TEXT,
               .answer = "pprof with the sample types of Go programs.",
               .types = "application/octet-stream",
               .problems = "400 403 404 413 503" } },
    { "/debug/pprof/allocs", METHOD_GET, ROLE_PROFILE,
      PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT, .waits = true, .handle = handle_pprof_event,
      .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getPprofAllocs",
               .summary = "Sample allocation on the Java heap",
               .text =
                   "As `event=alloc`. `alloc_objects` counts the samples; `inuse` is 0." PPROF_TEXT,
               .answer = "pprof with the sample types of Go programs.",
               .types = "application/octet-stream",
               .problems = "400 403 404 413 503" } },
    { "/debug/pprof/block", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getPprofBlock",
               .summary = "Sample waits for locks and conditions",
               .text = "As `event=lock`: class of the lock, way of waiting, Java stack." PPROF_TEXT,
               .answer = "pprof with the sample types of Go programs.",
               .types = "application/octet-stream",
               .problems = "400 403 404 413 503" } },
    { "/debug/pprof/mutex", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      .doc = { .id = "getPprofMutex",
               .summary = "Sample waits for locks that others have",
               .text = "As `event=lock`, of monitors and locks alone." PPROF_TEXT,
               .answer = "pprof with the sample types of Go programs.",
               .types = "application/octet-stream",
               .problems = "400 403 404 413 503" } },
    { "/debug/pprof/goroutine", METHOD_GET, ROLE_VIEW, PARAMS_LENIENT, .handle = handle_pprof_empty,
      .doc = { .id = "getPprofGoroutine",
               .summary = "An empty, valid pprof",
               .answer = "pprof without a sample.",
               .types = "application/octet-stream",
               .problems = "403" } },
    { "/sd", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_sd,
      .doc = { .id = "discoverTargets",
               .summary = "Prometheus HTTP service discovery: one entry per JVM",
               .answer = "The full list.",
               .schema = "Targets",
               .problems = "403 503" } },
    { "/metrics", METHOD_GET, ROLE_VIEW, BIT(PID), .waits = true, .health = true,
      .at_once = metrics_at_once, .handle = handle_metrics,
      .doc = { .id = "getMetrics",
               .summary = "What flamed and the JVMs cost, as Prometheus text",
               .text = "All JVMs. `pid` is ignored: scrapers that follow /sd send it.",
               .answer = "Prometheus text, version 0.0.4.",
               .types = "text/plain",
               .problems = "400 403 503" } },

    { "/healthz", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .health = true, .handle = handle_health,
      .doc = { .id = "getHealth",
               .summary = "Whether the service answers",
               .answer = "It does.",
               .types = "application/json" } },
    { "/readyz", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .waits = true, .health = true,
      .handle = handle_ready,
      .doc = { .id = "getReadiness",
               .summary = "Whether profiles can be taken, and what is missing",
               .answer = "They can.",
               .schema = "Readiness",
               .unready = "They cannot, not yet, or not fully: what is missing and the remedy. "
                          "Also while a process whose memory does not answer holds flamed." } },
    { "/openapi.json", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_openapi,
      .doc = { .id = "getOpenapi",
               .summary = "This document",
               .answer = "This document.",
               .types = "application/json" } },
};

_Static_assert(ARRAY_SIZE(ROUTES) <= SERVE_ROUTES_MAX, "each has a row of counters");

const struct route *routes(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(ROUTES);
    return ROUTES;
}
