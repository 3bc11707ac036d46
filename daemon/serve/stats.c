/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/stats.h"

#include "serve/route.h"
#include "serve/serve.h"

/* The last entry counts all other statuses, so that these tables bound the set of labels. */
static const unsigned STATUSES[] = { 200, 201, 202, 204, 400, 401, 403, 404, 405,
                                     406, 409, 413, 415, 429, 431, 500, 503, 0 };
_Static_assert(ARRAY_SIZE(STATUSES) <= SERVE_STATUSES_MAX, "each has a counter");

void stats_count(struct answer_counts *c, const struct route *route, unsigned status)
{
    size_t row = SERVE_ROUTES_MAX, column = 0, count;
    const struct route *first = routes(&count);

    if (route)
        row = (size_t)(route - first);
    while (column + 1 < ARRAY_SIZE(STATUSES) && STATUSES[column] != status)
        column++;
    c->count[row][column]++;
}

static const char *route_method(const struct route *r)
{
    return r->methods & METHOD_GET ? "GET" : r->methods & METHOD_POST ? "POST" : "DELETE";
}

/* Appends @value without printf(3), which would take most of the time of a scrape that shares the
 * other text. */
static void write_value(struct buf *out, uint64_t value)
{
    buf_add_u64(out, value);
    buf_add_char(out, '\n');
}

static void write_requests(const struct answer_counts *c, struct buf *out)
{
    size_t count;
    const struct route *list = routes(&count);

    buf_add_str(out, "# HELP flamed_http_requests_total Requests answered, by route and status.\n"
                     "# TYPE flamed_http_requests_total counter\n");
    for (size_t i = 0; i <= SERVE_ROUTES_MAX; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(STATUSES); k++) {
            if (!c->count[i][k])
                continue;
            buf_add_str(out, "flamed_http_requests_total{route=\"");
            buf_add_str(out, i < count ? list[i].path : "other");
            buf_add_str(out, "\",method=\"");
            buf_add_str(out, i < count ? route_method(&list[i]) : "");
            buf_add_str(out, "\",status=\"");
            if (STATUSES[k])
                buf_add_u64(out, STATUSES[k]);
            else
                buf_add_str(out, "other");
            buf_add_str(out, "\"} ");
            write_value(out, c->count[i][k]);
        }
    }
}

static void write_one(struct buf *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    const char *const parts[] = { "# HELP ", name, " ",  help, "\n# TYPE ", name,
                                  " ",       type, "\n", name, " " };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        buf_add_str(out, parts[i]);
    write_value(out, value);
}

static void write_quotas(const struct serve_stats *s, struct buf *out)
{
    static const char *const NAMES[QUOTA_COUNT] = {
        [QUOTA_CONNECTIONS] = "connections", [QUOTA_WAITING] = "waiting",
        [QUOTA_STREAMS] = "streams",         [QUOTA_CAPTURES] = "captures",
        [QUOTA_ATTACHES] = "attaches",       [QUOTA_BEGUN] = "begun",
        [QUOTA_RENDERING] = "rendering",     [QUOTA_ANSWERS] = "answers",
        [QUOTA_ATTEMPTS] = "attempts"
    };

    buf_add_str(
        out,
        "# HELP flamed_http_quota_refused_total Requests refused with 429, by the limit that their "
        "caller, or all callers, had reached.\n# TYPE flamed_http_quota_refused_total counter\n");
    for (size_t i = 0; i < QUOTA_COUNT; i++) {
        buf_add_str(out, "flamed_http_quota_refused_total{quota=\"");
        buf_add_str(out, NAMES[i]);
        buf_add_str(out, "\"} ");
        write_value(out, s->quota_refused[i]);
    }
}

void stats_write(const struct answer_counts *c, const struct serve_stats *s, struct buf *out)
{
    write_requests(c, out);
    write_one(out, "flamed_http_connections_total", "counter", "Connections accepted.",
              s->connections);
    write_one(out, "flamed_http_connections", "gauge", "Connections open.", s->connections_now);
    write_one(out, "flamed_http_guest_connections", "gauge",
              "Connections beyond their caller's share, on which health alone is answered.",
              s->guests_now);
    write_quotas(s, out);
    write_one(out, "flamed_http_connections_evicted_total", "counter",
              "Connections that were idle, or did not read their answer, cut off to make room for "
              "newer ones or for other answers.",
              s->evicted);
    write_one(out, "flamed_http_connections_timed_out_total", "counter",
              "Connections that took too long to send a request or to read its answer.",
              s->timed_out);
    write_one(out, "flamed_http_refused_access_total", "counter",
              "Requests refused for where they came from.", s->refused_access);
    write_one(out, "flamed_http_caller_looks_total", "counter",
              "Searches for the processes that hold the sockets of callers on this machine.",
              s->looks);
    write_one(out, "flamed_http_caller_looks_late_total", "counter",
              "Searches that ended before all their callers were found.", s->looks_late);
    write_one(out, "flamed_http_caller_looks_slow_total", "counter",
              "Searches by the kernel's iterator over all descriptors, which takes ten times as "
              "long.",
              s->looks_slow);
    write_one(out, "flamed_http_caller_looks_fast_total", "counter",
              "Searches for processes that needed only the broker's walk over the tables of "
              "descriptors.",
              s->looks_fast);
    write_one(out, "flamed_http_caller_unknown_total", "counter",
              "Requests answered with 503 because their caller was not known in time.",
              s->callers_untold);
    write_one(out, "flamed_http_clients_left_total", "counter",
              "Clients that left before their answer was there.", s->clients_left);
    write_one(out, "flamed_http_streams", "gauge", "Live streams open.", s->streams_now);
    write_one(out, "flamed_http_captures_total", "counter", "Captures that a client waited for.",
              s->captures);
    write_one(out, "flamed_http_captures_waiting", "gauge",
              "Captures that a client is waiting for.", s->captures_now);
    write_one(out, "flamed_http_captures_refused_total", "counter",
              "Captures refused because as many as allowed were running.", s->captures_refused);
}
