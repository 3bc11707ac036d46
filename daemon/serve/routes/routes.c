/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/mcp.h"
#include "serve/routes/handlers.h"

#define BIT(name) PARAM_BIT(PARAM_##name)
#define PPROF_TEXT                                                                                 \
    " Without `seconds` nothing was counted yet: an empty, valid pprof, at once. Also where the "  \
    "event is not possible: `X-Flamed-Warning` then says why. For scrapers, as "                   \
    "/debug/pprof/profile."
/* How openapi.json describes a route. */
#define DOC(id_, summary_, answer_, problems_, ...)                                                \
    .doc = {                                                                                       \
        .id = id_, .summary = summary_, .answer = answer_, .problems = problems_, ##__VA_ARGS__    \
    }

static const struct route ROUTES[] = {
    { "/", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_page,
      DOC("getIndex",
          "The web page: every JVM of this node, its timeline, flame graphs and captures",
          "The page, or a few lines of text.", "403",
          .text = "To a client that does not name text/html in `Accept`, such as curl: JVMs with "
                  "problems, then the busiest, and three commands to type next. A JVM's line ends "
                  "with what its release changed.",
          .types = "text/html text/plain") },
    { "/ui/{file}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_page_file,
      DOC("getPageFile", "The files of the web page; their names change with their contents",
          "A script or a style sheet, which may be cached without end.", NULL,
          .types = "text/javascript text/css") },
    { "/login", METHOD_GET, ROLE_HEALTH, BIT(TICKET), .asks = true, .cookies_alone = true,
      .handle = handle_login, .audit = AUDIT_LOGIN,
      DOC("login",
          "Log in by an address of flamed --login, which works once; sets a cookie and leads to "
          "the page",
          "Logged in: Set-Cookie has the session (HttpOnly, SameSite=Strict), Location the page.",
          "403", .status = 303) },
    { "/logout", METHOD_POST, ROLE_HEALTH, PARAMS_NONE, .asks = true, .cookies_alone = true,
      .handle = handle_logout, .audit = AUDIT_LOGOUT,
      DOC("logout", "End the session of the cookie", "The session has ended.", "403",
          .text =
              "Streams, and answers that wait for their capture, end with it. Captures that run on "
              "their own (POST /api/v1/captures) go on: the session's user may still have them.",
          .status = 204) },
    { "/profile", METHOD_GET, ROLE_PROFILE, PARAMS_PROFILE, .negotiates = true, .streams = true,
      .waits = true, .handle = handle_profile, .finish = finish_profile, .audit = AUDIT_CAPTURE,
      DOC("getProfile", "Sample for some seconds, then answer with the finished profile",
          "The profile.", "400 403 404 406 409 413 503",
          .text = "Without a target the whole node is sampled. A client that leaves ends its "
                  "sampling. By HTTP/1.0, a client that ends its sending side counts as one that "
                  "left, except in the first second after its request. HEAD checks the request and "
                  "its target and samples nothing. With "
                  "`from` nothing is sampled. The answer comes at once, from what the flight "
                  "recorder and the store hold of that time. `pid` is then the last process with "
                  "that pid, dead or alive. With `Accept: text/event-stream`: events `progress` "
                  "while it runs, then `done` with the `link` of the profile, or `failed`. There "
                  "are none with `from` or `at`.") },
    { "/top", METHOD_GET, ROLE_PROFILE, PARAMS_TOP, .streams = true, .waits = true,
      .handle = handle_top, .finish = finish_top, .audit = AUDIT_CAPTURE,
      DOC("getTop", "The hottest functions, live or of a time in the past",
          "A table that is drawn again in place until the client leaves: for `curl -N` in a "
          "terminal. With `Accept: text/event-stream`: events `top` with JSON.",
          "400 403 404 409 503",
          .text = "With `from` or `at` nothing is sampled. The answer is then one table of what "
                  "the flight recorder, the history and the store hold of that time. With `by` "
                  "there is a line for each group, the greatest first, and below it its hottest "
                  "functions; JSON then has `groups`, too, and `groups_left_out`. It takes the "
                  "parameters of `/profile` for targets and filters, but neither `calls` nor "
                  "`over`: a call is longer than a table. JSON has all `warnings`, a table two.",
          .types = "text/plain text/event-stream") },

    { "/api/v1/jvms", METHOD_GET, ROLE_VIEW, PARAMS_TARGET | BIT(LIST_FORMAT), .waits = true,
      .handle = handle_document, .document = DOCUMENT_JVMS,
      DOC("listJvms", "Every JVM on the node",
          "The JVMs that the target parameters select; all without one.", "400 403 404",
          .schema = "Jvms", .types = "text/plain") },
    { "/api/v1/jvms/{pid}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_JVM,
      DOC("getJvm", "One JVM", "The JVM.", "400 403 404", .schema = "Jvm") },
    { "/api/v1/services", METHOD_GET, ROLE_VIEW, BIT(LIST_FORMAT), .waits = true,
      .handle = handle_document, .document = DOCUMENT_SERVICES,
      DOC("listServices", "The services of this node, by name", "The services.", "400 403",
          .text = "A service is what its JVMs say of themselves: what a tracer publishes, "
                  "-Dotel.service.name, OTEL_SERVICE_NAME, DD_SERVICE and the like. If a JVM says "
                  "nothing, its service is the workload of its pod, its container, its unit, or "
                  "its main class. The list has services with a running JVM.",
          .schema = "Services", .types = "text/plain") },
    { "/api/v1/signals", METHOD_GET, ROLE_VIEW, BIT(PID) | BIT(SERVICE) | BIT(LIST_FORMAT),
      .waits = true, .handle = handle_document, .document = DOCUMENT_SIGNALS,
      DOC("listSignals", "What is wrong with the JVMs of this node, each as a sentence",
          "The signals that are on, the most severe of a JVM first.", "400 403 404",
          .text = "Rules read figures of each JVM every 10 s: collections, its CPU limit, memory, "
                  "threads, descriptors. The signal of a JVM that ended stays for 10 minutes.",
          .schema = "Signals", .types = "text/plain") },
    { "/api/v1/words", METHOD_GET, ROLE_VIEW,
      BIT(PID) | BIT(SERVICE) | PARAMS_RANGE | BIT(EVENT) | BIT(LIST_FORMAT), .waits = true,
      .heavy = true, .handle = handle_words,
      DOC("getWords",
          "A target in at most five sentences: what its time went to, what is unusual, what "
          "changed, how sure",
          "The sentences, each with a path that shows it.", "400 403 404 503",
          .text = "The default range is the last 5 minutes. With fewer than 300 samples the answer "
                  "says so, and covers the shortest longer time that has 300.",
          .schema = "Words", .types = "text/plain") },
    { "/api/v1/changes", METHOD_GET, ROLE_VIEW,
      BIT(PID) | BIT(SERVICE) | BIT(A) | BIT(B) | BIT(LIST_FORMAT), .waits = true, .heavy = true,
      .handle = handle_changes,
      DOC("listChanges", "What changed, by functions, locks, waits, pauses and categories",
          "The changes, the greatest first.", "400 403 404 503",
          .text = "`a` and `b` are ranges of the past. Without them flamed chooses both, such "
                  "as the last 10 minutes and the hour before the last deploy. Each side is "
                  "divided into minutes, or parts of one, "
                  "and a rank test compares them. The list has significant changes only.",
          .schema = "Changes", .types = "text/plain") },
    { "/api/v1/jvms/{pid}/preflight", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_PREFLIGHT,
      DOC("getPreflight",
          "The steps of an attach to this JVM, each checked in advance; touches nothing in it",
          "The steps.", "400 403 404", .schema = "Preflight") },
    { "/api/v1/jvms/{pid}/heap", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_HEAP,
      DOC("getHeap",
          "The JVM's memory, collections, safepoints, threads and classes, as it counts them "
          "itself",
          "The counters.", "400 403 404 409",
          .text = "From the counters in the JVM's own memory: no file, no probe, nothing injected. "
                  "409 if it runs with -XX:-UsePerfData. Sizes are bytes. The collectors of "
                  "HotSpot write `used` of a space at their collections only.",
          .schema = "Heap") },
    { "/api/v1/jvms/{pid}/threads", METHOD_GET, ROLE_PROFILE, BIT(LIST_FORMAT) | BIT(GROUP),
      .waits = true, .heavy = true, .handle = handle_threads, .audit = AUDIT_CAPTURE,
      DOC("getThreads",
          "What every Java thread does now, platform and virtual: name, state, stack, lock and its "
          "owner",
          "The threads.", "400 403 404 409 413 503",
          .text = "Read from the JVM's memory while it runs on: nothing is injected, and no thread "
                  "is stopped. What is missing is counted, and a warning says so. The text has the "
                  "form of jstack's.",
          .schema = "Threads", .types = "text/plain") },
    { "/api/v1/jvms/{pid}/perf-map", METHOD_GET, ROLE_PROFILE, BIT(MAP_SYMBOLS) | BIT(UNFOLD),
      .waits = true, .heavy = true, .handle = handle_perf_map, .audit = AUDIT_CAPTURE,
      DOC("getPerfMap",
          "The JVM's map in the format of /tmp/perf-PID.map, for perf and other tools",
          "A line per piece of code: start and size in hex, and the name.",
          "400 403 404 409 413 503", .types = "text/plain") },
    { "/api/v1/events", METHOD_GET, ROLE_VIEW, BIT(PID) | BIT(MATCH), .waits = true,
      .handle = handle_events,
      DOC("listEvents", "The events that can be sampled", "The events.", "400 403 404",
          .text = "With `pid`, which is one process here: the events that can be sampled there. "
                  "With `match`: those whose name or description contains it. Tracepoints of the "
                  "kernel are among them then, up to 200.",
          .schema = "Events") },
    { "/api/v1/captures", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(EVENT) | BIT(STATE) | BIT(SCHEDULE) | BIT(LIMIT) |
          BIT(CURSOR),
      .waits = true, .handle = handle_captures,
      DOC("listCaptures", "Captures that are kept, newest first", "One page of captures.",
          "400 403 404 503",
          .text = "The target filters the list, and captures outlive their processes: one that "
                  "matches nothing gives an empty list. 404 is for an `nspid` that its container "
                  "does not have.",
          .schema = "Captures") },
    { "/api/v1/captures", METHOD_POST, ROLE_PROFILE, PARAMS_CAPTURE | PARAMS_RANGE | PARAMS_RENDER,
      .body = BODY_PARAMS, .waits = true, .handle = handle_capture_create, .audit = AUDIT_CAPTURE,
      DOC("createCapture",
          "Begin a capture that runs on its own, or keep a time of the past as one",
          "The capture has begun.", "400 403 404 409 413 415 503",
          .text = "The body is an object of the parameters of `/profile`, as numbers, texts, "
                  "booleans or lists. Without `seconds` it runs until it is stopped, 3,600 s at "
                  "most. With `from` or `at` nothing is sampled: what `/profile` would answer of "
                  "that time becomes a capture, which stays as others do. Parameters of rendering "
                  "are checked and have no effect: a capture is rendered when it is asked for.",
          .status = 201, .schema = "Capture") },
    { "/api/v1/captures/{id}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_capture,
      DOC("getCapture", "One capture: state, progress, counts, warnings", "The capture.",
          "400 403 404 503", .schema = "Capture") },
    { "/api/v1/captures/{id}", METHOD_DELETE, ROLE_PROFILE, PARAMS_NONE, .waits = true,
      .handle = handle_capture_delete, .audit = AUDIT_DELETE,
      DOC("deleteCapture", "Remove a capture; a running one ends", "The capture is removed.",
          "400 403 404 503", .status = 204) },
    { "/api/v1/captures/{id}/profile", METHOD_GET, ROLE_VIEW, BIT(EVENT) | PARAMS_RENDER,
      .negotiates = true, .waits = true, .heavy = true, .handle = handle_capture_profile,
      DOC("getCaptureProfile", "Render a capture",
          "The profile; of a running capture what there is so far.",
          "400 403 404 406 409 413 503") },
    { "/api/v1/captures/{id}/stop", METHOD_POST, ROLE_PROFILE, PARAMS_NONE, .waits = true,
      .handle = handle_capture_stop, .audit = AUDIT_STOP,
      DOC("stopCapture", "End a capture early and keep it", "The capture.", "403 404 409 503",
          .schema = "Capture") },
    { "/api/v1/captures/{id}/stream", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_capture_stream,
      DOC("streamCapture", "Follow a capture while it runs",
          "Server-sent events: `progress` with the capture, `top` with the hottest functions so "
          "far, at the end `done`, or `failed`.",
          "403 404 503", .types = "text/event-stream") },
    { "/api/v1/query", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(EVENT) | PARAMS_RENDER, .negotiates = true, .waits = true,
      .heavy = true, .handle = handle_query,
      DOC("query", "Merge what is stored of a target and a time into one profile", "The profile.",
          "400 403 404 406 413 503",
          .text = "If no capture of that time is stored, the samples are those of the flight "
                  "recorder.") },
    { "/api/v1/diff", METHOD_GET, ROLE_VIEW, PARAMS_DIFF, .waits = true, .heavy = true,
      .handle = handle_diff,
      DOC("diff", "Compare two captures or two ranges of time",
          "The diff: every stack with what it weighs in both, and the most changed functions.",
          "400 403 404 409 413 503",
          .types = "text/html image/svg+xml text/plain application/json") },
    { "/api/v1/timeline", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(BUCKETS) | BIT(BY), .waits = true, .heavy = true,
      .handle = handle_timeline,
      DOC("getTimeline",
          "Samples by time out of the flight recorder, the history for what it does not reach, and "
          "stored captures before that",
          "Lines of samples per bucket. Without a range the last 10 minutes. `marks` are releases, "
          "set clocks, and captures. `moments` are the garbage collections, and the safepoints of "
          "10 ms or more without their collections, of JVMs: the 500 longest.",
          "400 403 404 503",
          .text = "Without `buckets` there are 60 up to an hour. Above that they are of 1 minute, "
                  "above 4 hours of 10, above 48 hours of an hour. The range is then widened to "
                  "whole ones.",
          .schema = "Timeline") },
    { "/api/v1/schedules", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_document, .document = DOCUMENT_SCHEDULES,
      DOC("listSchedules", "The configured schedules, their last and next run", "The schedules.",
          "403 503", .schema = "Schedules") },
    { "/api/v1/push", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_document,
      .document = DOCUMENT_PUSH,
      DOC("listPushTargets", "The targets of profiles and alerts that are pushed, and their state",
          "The targets.", "403 503",
          .text = "The targets under `push` in the configuration, and the webhooks of `triggers`. "
                  "Each has what waits, what was sent, dropped and refused, and the last error. "
                  "The url of a webhook is shown without its path. A client that sees only a part "
                  "of the node gets empty lists.",
          .schema = "PushTargets") },
    { "/api/v1/audit", METHOD_GET, ROLE_MANAGE, BIT(LIMIT), .waits = true, .handle = handle_audit,
      DOC("listAudit",
          "Who did what: captures, attaches, removals, triggers, logins, refusals; the newest "
          "first, since flamed's start",
          "The last 1,024 acts, 256 refusals of known callers (32 of one) and 64 of others (16 of "
          "one address). At most as many as `limit` says (100).",
          "403",
          .text = "Over TCP it needs a token, a password, a certificate or a login, unless "
                  "`tcp_manage` is set.",
          .schema = "Audit") },
    { "/api/v1/whoami", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .asks = true, .handle = handle_whoami,
      DOC("getWhoami", "The caller, how it is identified, and its rights",
          "The subject of this request.", "401", .schema = "Whoami") },
    { "/api/v1/logins", METHOD_POST, ROLE_VIEW, PARAMS_NONE, .handle = handle_login_ticket,
      .audit = AUDIT_LOGIN,
      DOC("createLogin",
          "An address at which a browser logs in as the caller; on the Unix socket alone (flamed "
          "--login)",
          "The address to open, within seconds.", "403", .status = 201, .schema = "Login") },
    { "/api/v1/triggers/{name}", METHOD_POST, ROLE_MANAGE, PARAMS_NONE, .body = BODY_IGNORED,
      .waits = true, .handle = handle_trigger, .audit = AUDIT_TRIGGER,
      DOC("pullTrigger", "For webhooks of alerts: start the capture that the configuration names",
          "The capture has begun.", "403 404 409 413 503",
          .text = "A body is read and ignored. Over TCP it needs a token, a password, a "
                  "certificate or a login, unless `tcp_manage` is set.",
          .status = 201, .schema = "Capture") },

    { "/mcp", METHOD_POST, ROLE_VIEW, PARAMS_NONE, .body = BODY_MESSAGE, .handle = handle_mcp,
      .receive = mcp_receive, .wrap = mcp_wrap,
      DOC("callMcp", "For programs of language models: the Model Context Protocol",
          "The reply. 202 without one to a notification.", "400 401 403 404 413 415",
          .text = "Where the configuration has `mcp: yes`; else 404. The body is one message of "
                  "JSON-RPC 2.0, of revision 2026-07-28, or of an older one: 2025-11-25, "
                  "2025-06-18, 2025-03-26. `tools/list` lists the tools. A call of a tool counts "
                  "as a request of the tool's route, with its role, its quota and its line in the "
                  "audit. docs/mcp.md says more.",
          .types = "application/json") },

    { "/debug/pprof/", METHOD_GET, ROLE_VIEW, PARAMS_LENIENT, .handle = handle_pprof_index,
      DOC("getPprofIndex", "What is below this path", "A page.", "403",
          .text = "As all below /debug/pprof/ it ignores unknown parameters.",
          .types = "text/html") },
    { "/debug/pprof/profile", METHOD_GET, ROLE_PROFILE,
      PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT, .waits = true, .handle = handle_pprof_profile,
      .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      DOC("getPprofProfile", "Sample for some seconds and answer as Go programs do", "pprof, gzip.",
          "400 403 404 409 413 503",
          .text = "For scrapers: unknown parameters are ignored, and of a repeated `seconds` the "
                  "first counts. The capture is not stored.",
          .types = "application/octet-stream") },
    { "/debug/pprof/heap", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      DOC("getPprofHeap", "Sample objects that stay on the Java heap",
          "pprof with the sample types of Go programs.", "400 403 404 413 503",
          .text = "As `event=live`, of up to 8 JVMs: objects that were allocated in those seconds "
                  "and are still reachable. An agent is loaded into each JVM. `inuse_objects` "
                  "counts objects." PPROF_TEXT,
          .types = "application/octet-stream") },
    { "/debug/pprof/allocs", METHOD_GET, ROLE_PROFILE,
      PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT, .waits = true, .handle = handle_pprof_event,
      .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      DOC("getPprofAllocs", "Sample allocation on the Java heap",
          "pprof with the sample types of Go programs.", "400 403 404 413 503",
          .text = "As `event=alloc`. `alloc_objects` counts the samples; `inuse` is 0." PPROF_TEXT,
          .types = "application/octet-stream") },
    { "/debug/pprof/block", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      DOC("getPprofBlock", "Sample waits for locks and conditions",
          "pprof with the sample types of Go programs.", "400 403 404 413 503",
          .text = "As `event=lock`: class of the lock, way of waiting, Java stack." PPROF_TEXT,
          .types = "application/octet-stream") },
    { "/debug/pprof/mutex", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE,
      DOC("getPprofMutex", "Sample waits for contended locks",
          "pprof with the sample types of Go programs.", "400 403 404 413 503",
          .text = "As `event=lock`, but only monitors and locks." PPROF_TEXT,
          .types = "application/octet-stream") },
    { "/debug/pprof/goroutine", METHOD_GET, ROLE_VIEW, PARAMS_LENIENT, .handle = handle_pprof_empty,
      DOC("getPprofGoroutine", "An empty, valid pprof", "pprof without a sample.", "403",
          .types = "application/octet-stream") },
    { "/sd", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_sd,
      DOC("discoverTargets", "Prometheus HTTP service discovery: one entry per JVM",
          "The full list.", "403 503", .schema = "Targets") },
    { "/metrics", METHOD_GET, ROLE_VIEW, BIT(PID), .waits = true, .health = true,
      .at_once = metrics_at_once, .handle = handle_metrics,
      DOC("getMetrics", "What flamed and the JVMs cost, as Prometheus text",
          "Prometheus text, version 0.0.4; OpenMetrics 1.0.0 if `Accept` prefers it.",
          "400 403 503", .text = "All JVMs. `pid` is ignored: scrapers that follow /sd send it.",
          .types = "text/plain application/openmetrics-text") },

    { "/healthz", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .health = true, .handle = handle_health,
      DOC("getHealth", "Whether the service answers", "The service answers.", NULL,
          .types = "application/json") },
    { "/readyz", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .waits = true, .health = true,
      .handle = handle_ready,
      DOC("getReadiness", "Whether profiles can be taken, and what is missing",
          "Profiles can be taken.", NULL, .schema = "Readiness",
          .unready =
              "Profiles cannot be taken, or not yet, or not fully: what is missing and the remedy. "
              "Also while the memory of a process does not answer and blocks flamed.") },
    { "/openapi.json", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_openapi,
      DOC("getOpenapi", "This document", "This document.", NULL, .types = "application/json") },
};

_Static_assert(ARRAY_SIZE(ROUTES) <= SERVE_ROUTES_MAX, "each has a row of counters");

const struct route *routes(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(ROUTES);
    return ROUTES;
}
