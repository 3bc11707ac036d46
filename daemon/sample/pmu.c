/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/pmu.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dir.h"

#define PMU_FILE_BYTES 4096
#define PMU_PATH_BYTES 192
#define CONFIG_BITS 64u

/* A PMU while its event is resolved. */
struct pmu {
    int devices_fd;
    struct span name;
    struct perf_event_attr *attr;
    struct error *err;
};

/* Reads the file @leaf of the PMU, or @sub/@leaf if @sub is not "". 0, -errno. */
static int read_file(const struct pmu *p, const char *sub, struct span leaf, struct buf *text)
{
    char path[PMU_PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%.*s/%s%s%.*s", (int)p->name.n, p->name.p, sub,
                     sub[0] ? "/" : "", (int)leaf.n, leaf.p);

    return n < 0 || (size_t)n >= sizeof(path) ? -ENAMETOOLONG
                                              : buf_read_at(text, p->devices_fd, path);
}

/* Sets the bits "0-7,32-35" of *config to @value, lowest bit first. */
static int set_bits(struct span bits, uint64_t value, uint64_t *config)
{
    uint64_t first, last;
    int r;

    while ((r = span_take_range(&bits, &first, &last)) > 0) {
        if (last >= CONFIG_BITS)
            return -EBADMSG;
        for (uint64_t bit = first; bit <= last; bit++, value >>= 1)
            *config = (*config & ~(UINT64_C(1) << bit)) | (value & 1) << bit;
    }
    return r < 0 ? r : value ? -ERANGE : 0;
}

/* Takes the name of a word of the attributes: "config", "config1" or "config2"; NULL: none. */
static struct span config_name(struct span *s)
{
    struct span name;

    return span_take_until(s, ':', &name) ? name : SPAN_NULL;
}

static int set_term(const struct pmu *p, const struct event_term *t);

/* Sets the terms of an event of the PMU, "event=0x3c,umask=0x1". */
static int set_terms(const struct pmu *p, struct span terms)
{
    struct span one;

    while (span_take_until(&terms, ',', &one)) {
        struct event_term t = { .value = 1 };

        t.given = span_find(one, '=') < one.n;
        if (!span_take_until(&one, '=', &t.name))
            return -EBADMSG;
        if (t.given && !(span_take_str(&one, "0x") ? span_take_hex(&one, &t.value)
                                                   : span_take_dec(&one, &t.value)))
            return -EBADMSG;
        if (one.n)
            return -EBADMSG;
        t.given = true; /* without this, the term could name an event again */
        if (set_term(p, &t) < 0)
            return -EBADMSG;
    }
    return 0;
}

static int put_value(const struct pmu *p, struct span name, struct span bits, uint64_t value)
{
    uint64_t config = 0;
    int r;

    if (span_eq_str(name, "config"))
        config = p->attr->config;
    else if (span_eq_str(name, "config1"))
        config = p->attr->config1;
    else if (span_eq_str(name, "config2"))
        config = p->attr->config2;
    else
        return -EBADMSG;
    r = set_bits(bits, value, &config);
    if (r < 0)
        return r;
    if (span_eq_str(name, "config"))
        p->attr->config = config;
    else if (span_eq_str(name, "config1"))
        p->attr->config1 = config;
    else
        p->attr->config2 = config;
    return 0;
}

static int no_term(const struct pmu *p, const struct event_term *t)
{
    error_remedy(p->err, "see %s/%.*s/format and .../events on the machine", PMU_DEVICES,
                 (int)p->name.n, p->name.p);
    return error_parameter(p->err, "event", -ENOENT, "the PMU %.*s has no term or event '%.*s'",
                           (int)p->name.n, p->name.p, (int)t->name.n, t->name.p);
}

static int set_term(const struct pmu *p, const struct event_term *t)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(PMU_FILE_BYTES);
    struct span s, name;
    int r;

    if (span_eq_str(t->name, "config") || span_eq_str(t->name, "config1") ||
        span_eq_str(t->name, "config2"))
        return put_value(p, t->name, SPAN("0-63"), t->value);
    r = read_file(p, "format", t->name, &text);
    if (r == 0) {
        s = span_trim(buf_span(&text));
        name = config_name(&s);
        r = put_value(p, name, s, t->value);
        if (r == -ERANGE)
            return error_parameter(
                p->err, "event", -EINVAL, "0x%llx is too large for '%.*s', which has the bits %.*s",
                (unsigned long long)t->value, (int)t->name.n, t->name.p, (int)s.n, s.p);
    } else if (!t->given) {
        r = read_file(p, "events", t->name, &text) ?: set_terms(p, span_trim(buf_span(&text)));
    }
    if (r == -ENOENT)
        return no_term(p, t);
    return r < 0 ? error_code(p->err, r, "the kernel's description of '%.*s' cannot be read",
                              (int)t->name.n, t->name.p)
                 : 0;
}

/* Writes the error for an unknown PMU, with the names of those that exist. */
static int no_pmu(const struct pmu *p)
{
    char list[ERROR_MSG_MAX / 2] = "";
    _cleanup_closedir_ DIR *dir = dir_open(p->devices_fd, ".");
    const struct dirent *d;

    while (dir && (d = readdir(dir))) {
        size_t n = strlen(list);

        if (d->d_name[0] != '.' && n + strlen(d->d_name) + 3 < sizeof(list))
            snprintf(list + n, sizeof(list) - n, "%s%.64s", n ? ", " : "", d->d_name);
    }
    error_remedy(p->err, "many virtual machines have no hardware counters, and some can be given "
                         "them (a virtual PMU)");
    return error_parameter(p->err, "event", -ENOENT, "this machine has no PMU '%.*s'%s%s",
                           (int)p->name.n, p->name.p, list[0] ? ": it has " : "", list);
}

static bool has_file(const struct pmu *p, const char *leaf)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(PMU_FILE_BYTES);

    return read_file(p, "", span_of(leaf), &text) == 0;
}

/* Accepts only counters of a processor: its own PMU (type RAW), those of kinds of processors (which
 * have a file cpus), AMD's instruction-based sampling. No other may pass: numbers for the PMUs
 * kprobe, uprobe and breakpoint are addresses in the kernel, in the broker or in any process. */
static int check_pmu(const struct pmu *p, uint32_t type)
{
    if (type == PERF_TYPE_RAW || (type >= PERF_TYPE_MAX && has_file(p, "cpus")) ||
        span_eq_str(p->name, "ibs_op") || span_eq_str(p->name, "ibs_fetch"))
        return 0;
    if (has_file(p, "cpumask")) {
        error_remedy(p->err, "perf stat -a -e counts it");
        return error_parameter(p->err, "event", -EOPNOTSUPP,
                               "the PMU %.*s counts for the whole machine, and can tell of no "
                               "process",
                               (int)p->name.n, p->name.p);
    }
    error_remedy(p->err, "GET /api/v1/events lists the events that can be sampled here");
    return error_parameter(p->err, "event", -EOPNOTSUPP,
                           "the PMU %.*s is no counter of the processors", (int)p->name.n,
                           p->name.p);
}

int pmu_resolve(int devices_fd, const struct event_form *form, struct perf_event_attr *attr,
                struct error *err)
{
    struct pmu p = { devices_fd, form->name, attr, err };
    _cleanup_buf_ struct buf text = BUF_UPTO(PMU_FILE_BYTES);
    uint64_t type;
    int r;

    r = read_file(&p, "", SPAN("type"), &text);
    if (r == -ENOENT)
        return no_pmu(&p);
    if (r < 0 || !span_parse_dec(span_trim(buf_span(&text)), &type) || type > UINT32_MAX)
        return error_code(err, r < 0 ? r : -EBADMSG, "the number of the PMU cannot be read");
    attr->type = (uint32_t)type;
    r = check_pmu(&p, (uint32_t)type);
    if (r < 0)
        return r;
    for (size_t i = 0; i < form->term_count; i++) {
        r = set_term(&p, &form->terms[i]);
        if (r < 0)
            return r;
    }
    return 0;
}
