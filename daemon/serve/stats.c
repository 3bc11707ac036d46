/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/stats.h"

#include "serve/route.h"
#include "serve/serve.h"

/* The last stands for any other: the set of labels is bounded by these tables. */
static const unsigned STATUSES[] = { 200, 201, 204, 400, 401, 403, 404, 405, 406,
                                     409, 413, 415, 429, 431, 500, 503, 0 };
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
            buf_printf(out, "flamed_http_requests_total{route=\"%s\",method=\"%s\",status=\"",
                       i < count ? list[i].path : "other", i < count ? route_method(&list[i]) : "");
            if (STATUSES[k])
                buf_add_u64(out, STATUSES[k]);
            else
                buf_add_str(out, "other");
            buf_printf(out, "\"} %llu\n", (unsigned long long)c->count[i][k]);
        }
    }
}

static void write_one(struct buf *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
               (unsigned long long)value);
}

static void write_quotas(const struct serve_stats *s, struct buf *out)
{
    static const char *const NAMES[QUOTA_COUNT] = {
        [QUOTA_CONNECTIONS] = "connections", [QUOTA_WAITING] = "waiting",
        [QUOTA_STREAMS] = "streams",         [QUOTA_CAPTURES] = "captures",
        [QUOTA_ATTACHES] = "attaches",       [QUOTA_RENDERING] = "rendering",
        [QUOTA_ATTEMPTS] = "attempts"
    };

    buf_add_str(out, "# HELP flamed_http_quota_refused_total Requests refused with 429, by what "
                     "their caller, or all callers, had as many of as may be.\n"
                     "# TYPE flamed_http_quota_refused_total counter\n");
    for (size_t i = 0; i < QUOTA_COUNT; i++)
        buf_printf(out, "flamed_http_quota_refused_total{quota=\"%s\"} %llu\n", NAMES[i],
                   (unsigned long long)s->quota_refused[i]);
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
              "newer ones.",
              s->evicted);
    write_one(out, "flamed_http_connections_timed_out_total", "counter",
              "Connections that took too long to send a request or to read its answer.",
              s->timed_out);
    write_one(out, "flamed_http_refused_access_total", "counter",
              "Requests refused for where they came from.", s->refused_access);
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
