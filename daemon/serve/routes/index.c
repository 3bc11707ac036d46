/* SPDX-License-Identifier: Apache-2.0 */
/* GET / for curl: JVMs with problems, the busiest ones, and commands to try next. */
#include "base/text.h"
#include "base/url.h"
#include "serve/routes/handlers.h"

#define INDEX_JVMS_MAX 6
#define SEVERITY_ILL 2 /* lowest severity that lists a JVM before busier ones */

struct index_row {
    int32_t host_pid;
    unsigned severity; /* 0: less than SEVERITY_ILL */
    double cpu_percent;
    char service[128], main[64], signals[96], release[112];
};

struct index {
    struct index_row rows[INDEX_JVMS_MAX]; /* by comes_before() */
    size_t count;                          /* number of rows */
    size_t jvms;                           /* number of all JVMs */
    bool signals;                          /* some JVM has a signal */
};

static bool comes_before(const struct index_row *a, const struct index_row *b)
{
    return a->severity != b->severity ? a->severity > b->severity : a->cpu_percent > b->cpu_percent;
}

static void add_jvm(void *cookie, const struct jvm_facts *f)
{
    struct index *x = cookie;
    struct index_row row = { .host_pid = f->host_pid,
                             .severity = f->severity >= SEVERITY_ILL ? f->severity : 0,
                             .cpu_percent = f->cpu_percent };
    size_t i;

    x->jvms++;
    x->signals |= f->signals && f->signals[0];
    if (x->count == INDEX_JVMS_MAX && !comes_before(&row, &x->rows[x->count - 1]))
        return;
    for (i = MIN(x->count, (size_t)INDEX_JVMS_MAX - 1);
         i > 0 && comes_before(&row, &x->rows[i - 1]); i--)
        x->rows[i] = x->rows[i - 1];
    x->rows[i] = row;
    snprintf(x->rows[i].service, sizeof(x->rows[i].service), "%s", f->service);
    snprintf(x->rows[i].main, sizeof(x->rows[i].main), "%s", f->main);
    snprintf(x->rows[i].signals, sizeof(x->rows[i].signals), "%s", f->signals ? f->signals : "");
    text_clean_into(span_of(f->release ? f->release : ""), x->rows[i].release,
                    sizeof(x->rows[i].release));
    x->count = MIN(x->count + 1, (size_t)INDEX_JVMS_MAX);
}

/* Appends a line with the curl command that gets @path from the address that @req was sent to. */
static void add_command(const struct request *req, const char *options, const char *path,
                        int32_t host_pid, struct buf *out)
{
    const char *host = req->received.host[0] ? req->received.host : "localhost";

    buf_printf(out, "  curl %s", options);
    if (req->client->unix_socket)
        buf_printf(out, "--unix-socket %s ", req->serve->listen.unix_path);
    buf_printf(out, "'%s://%s%s", req->client->speaks_tls ? "https" : "http", host, path);
    if (host_pid)
        buf_printf(out, "%cpid=%d", strchr(path, '?') ? '&' : '?', host_pid);
    buf_add_str(out, "'\n");
}

static void add_rows(const struct index *x, struct buf *out)
{
    bool ill = x->count && x->rows[0].severity;

    buf_printf(out, "%zu JVM%s here%s\n", x->jvms, x->jvms == 1 ? "" : "s",
               x->jvms == 1         ? ""
               : ill                ? ": those with problems, then the busiest:"
               : x->jvms > x->count ? "; the busiest:"
                                    : ", the busiest first:");
    for (size_t i = 0; i < x->count; i++)
        buf_printf(out, "%8d %6.1f%%  %-24.40s %s%s%s%s%s\n", x->rows[i].host_pid,
                   x->rows[i].cpu_percent, x->rows[i].service, x->rows[i].main,
                   x->rows[i].signals[0] ? "  ! " : "", x->rows[i].signals,
                   x->rows[i].release[0] ? "  " : "", x->rows[i].release);
}

/* Appends the command for what changed in the first service with a release, or else for its
 * methods. */
static void add_second(const struct request *req, const struct index *x, struct buf *out)
{
    _cleanup_buf_ struct buf path = BUF_UPTO(1024);

    for (size_t i = 0; i < x->count && !path.n; i++) {
        if (!x->rows[i].release[0] || !x->rows[i].service[0])
            continue;
        buf_add_str(&path, "/api/v1/changes?format=text&service=");
        url_add_escaped(&path, span_of(x->rows[i].service));
    }
    if (path.n && !path.error)
        add_command(req, "", path.p, 0, out);
    else
        add_command(req, "-N ", "/top", x->count ? x->rows[0].host_pid : 0, out);
}

bool handle_index(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct target_selector everything = { .viewer = &req->who.subject.viewer };
    struct answer *a = &req->answer;
    struct error err = ERROR_NULL;
    struct index x = { 0 };
    int32_t first;
    int r = be->jvms_each(be->ctx, &everything, add_jvm, &x, &err);

    if (r != 0) {
        answer_outcome(a, r, &err, 1);
        return true;
    }
    first = x.count ? x.rows[0].host_pid : 0;
    add_rows(&x, &a->body);
    add_command(req, "-o flame.html ", "/profile?seconds=10", first, &a->body);
    add_second(req, &x, &a->body);
    add_command(req, "", x.signals ? "/api/v1/signals?format=text" : "/api/v1/services", 0,
                &a->body);
    a->content_type = "text/plain; charset=utf-8";
    return true;
}
