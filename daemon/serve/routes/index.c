/* SPDX-License-Identifier: Apache-2.0 */
/* GET / for curl: the busiest JVMs, and commands to try next. */
#include "serve/routes/handlers.h"

#define INDEX_JVMS_MAX 6

struct index_row {
    int32_t host_pid;
    double cpu_percent;
    char service[40], main[64], signals[96];
};

struct index {
    struct index_row rows[INDEX_JVMS_MAX]; /* busiest first */
    size_t count;                          /* number of rows */
    size_t jvms;                           /* number of all JVMs */
    bool signals;                          /* some JVM has a signal */
};

static void add_jvm(void *cookie, const struct jvm_facts *f)
{
    struct index *x = cookie;
    size_t i;

    x->jvms++;
    x->signals |= f->signals && f->signals[0];
    if (x->count == INDEX_JVMS_MAX && f->cpu_percent <= x->rows[x->count - 1].cpu_percent)
        return;
    for (i = MIN(x->count, (size_t)INDEX_JVMS_MAX - 1);
         i > 0 && x->rows[i - 1].cpu_percent < f->cpu_percent; i--)
        x->rows[i] = x->rows[i - 1];
    x->rows[i] = (struct index_row){ .host_pid = f->host_pid, .cpu_percent = f->cpu_percent };
    snprintf(x->rows[i].service, sizeof(x->rows[i].service), "%s", f->service);
    snprintf(x->rows[i].main, sizeof(x->rows[i].main), "%s", f->main);
    snprintf(x->rows[i].signals, sizeof(x->rows[i].signals), "%s", f->signals ? f->signals : "");
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
    buf_printf(out, "%zu JVM%s here%s\n", x->jvms, x->jvms == 1 ? "" : "s",
               x->jvms > x->count ? "; the busiest:"
               : x->jvms > 1      ? ", the busiest first:"
                                  : "");
    for (size_t i = 0; i < x->count; i++)
        buf_printf(out, "%8d %6.1f%%  %-24s %s%s%s\n", x->rows[i].host_pid, x->rows[i].cpu_percent,
                   x->rows[i].service, x->rows[i].main, x->rows[i].signals[0] ? "  ! " : "",
                   x->rows[i].signals);
}

bool handle_index(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct target_selector everything = { .viewer = &req->who.subject.viewer };
    struct answer *a = &req->answer;
    struct error err = ERROR_NULL;
    struct index x = { 0 };
    int32_t busiest;
    int r = be->jvms_each(be->ctx, &everything, add_jvm, &x, &err);

    if (r != 0) {
        answer_outcome(a, r, &err, 1);
        return true;
    }
    busiest = x.count ? x.rows[0].host_pid : 0;
    add_rows(&x, &a->body);
    add_command(req, "-o flame.html ", "/profile?seconds=10", busiest, &a->body);
    add_command(req, "-N ", "/top", busiest, &a->body);
    add_command(req, "", x.signals ? "/api/v1/signals?format=text" : "/api/v1/services", 0,
                &a->body);
    a->content_type = "text/plain; charset=utf-8";
    return true;
}
