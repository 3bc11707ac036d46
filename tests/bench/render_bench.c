/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time and memory of each format for a million samples, 50,000 stacks and 1,000 threads.
 * render_bench [FORMAT,... [LIMIT_SECONDS [LIMIT_MIB [threads]]]]: without arguments a table of
 * all; with limits it fails beyond them. With the word "threads" only with threads=1, which takes
 * more of both. Each format runs in its own process, so that memory is its own.
 */
#include "../formats/made.h"
#include "base/clock.h"
#include "render/render.h"
#include "render/zstd_buf.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double rss_mib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static int take(void *packed, struct span text)
{
    return zstd_buf_add(packed, text);
}

/* Renders like an answer: a long text is packed while it is written. *ret_n: its length. */
static int render(const struct render_format *f, const struct view *v, struct buf *out,
                  size_t *ret_n, struct error *err)
{
    struct render_opts o = { .version = "0.0-test" };
    struct zstd_buf *p = NULL;
    int r = f->flows ? zstd_buf_new((size_t)1 << 30, (size_t)64 << 20, &p) : 0;

    if (p) {
        out->spill = take;
        out->spill_cookie = p;
        out->spill_bytes = (size_t)1 << 20;
    }
    if (r == 0)
        r = f->render(v, &o, out, err);
    *ret_n = out->n;
    if (r == 0 && p) {
        r = zstd_buf_add(p, buf_span(out));
        if (r == 0)
            r = zstd_buf_end(p);
        *ret_n = zstd_buf_bytes(p);
    }
    zstd_buf_free(p);
    return r;
}

/* 0 within the limits. */
static int measure(struct profile *p, const struct render_format *f, bool threads, double seconds,
                   double mib)
{
    struct view_opts vo = { .exact = f->exact, .keep_lines = f->keep_lines, .threads = threads };
    double before_mib = rss_mib(), took, used_mib;
    uint64_t start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct error err = ERROR_NULL;
    struct view *v = NULL;
    struct buf out = BUF_NULL;
    size_t n = 0;
    int r;

    buf_init(&out, (size_t)64 << 20);
    r = view_new(p, &vo, &v, &err);
    if (r == 0)
        r = render(f, v, &out, &n, &err);
    took = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e9;
    used_mib = rss_mib() - before_mib;
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", f->name, err.msg);
        return 1;
    }
    printf("%-12s %-9s %6.2f s %7.0f MiB more %10.1f MB\n", f->name, threads ? "threads=1" : "",
           took, used_mib, (double)n / 1e6);
    fflush(stdout);
    return (seconds > 0 && took > seconds) || (mib > 0 && used_mib > mib);
}

/* Returns whether @name is one of @list, which commas separate. */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct profile *p = made_profile("big");
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0,
           mib = argc > 3 ? strtod(argv[3], NULL) : 0;
    bool only_threads = argc > 4 && strcmp(argv[4], "threads") == 0;
    bool all = argc <= 1 || strcmp(argv[1], "all") == 0;
    size_t n, left = 1; /* names of the list that are no format */
    const struct render_format *formats = render_formats(&n);
    int bad = 0;

    for (const char *at = all ? "" : argv[1]; *at; at++)
        left += *at == ',';

    for (size_t i = 0; i < 2 * n; i++) {
        const struct render_format *f = &formats[i / 2];
        int status = 0;
        pid_t pid;

        if (!all && !is_listed(argv[1], f->name))
            continue;
        left -= i % 2;
        if (only_threads && i % 2 == 0)
            continue;
        pid = fork();
        if (pid == 0)
            _exit(measure(p, f, i % 2 == 1, seconds, mib));
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            bad = 1;
    }
    profile_unref(p);
    if (!all && left)
        fprintf(stderr, "%zu of %s are no formats\n", left, argv[1]);
    return bad || (!all && left);
}
