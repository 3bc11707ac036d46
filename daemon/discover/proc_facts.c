/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one process from /proc. The files are read one after the other while the process runs. The
 * facts count only if no exec was recorded since, and if the start time is still the same. Without
 * side-band records an exec in the meantime goes unnoticed.
 */
#include "discover/table.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "discover/container.h"
#include "proc/stall_readers.h"

#define FACTS_CGROUP_MAX_BYTES ((size_t)64 << 10)
#define FACTS_UID_MAP_MAX_BYTES ((size_t)16 << 10)
#define FACTS_COMMAND_BYTES ((size_t)4096) /* bytes of cmdline that are read for a name */

static void read_text(struct discover *d, int32_t host_pid, const char *name, size_t max,
                      struct buf *ret)
{
    char path[64];

    buf_init(ret, max);
    snprintf(path, sizeof(path), "%d/%s", host_pid, name);
    buf_read_at(ret, d->opts.proc_fd, path); /* cut or empty: the rest counts */
}

struct cmdline_reading {
    struct reading base; /* first */
    int proc_fd;
    int32_t host_pid;
    size_t max;
    struct buf text;
};

static int run_cmdline(struct reading *r)
{
    struct cmdline_reading *c = (struct cmdline_reading *)r;
    char path[64];

    buf_init(&c->text, c->max);
    snprintf(path, sizeof(path), "%d/cmdline", c->host_pid);
    return buf_read_at(&c->text, c->proc_fd, path);
}

static void drop_cmdline(struct reading *r)
{
    struct cmdline_reading *c = (struct cmdline_reading *)r;

    buf_deinit(&c->text);
    free(c);
}

void facts_read_cmdline(struct discover *d, const struct proc_id *id, size_t max, struct buf *ret)
{
    struct cmdline_reading *c;
    struct reading *r;

    buf_init(ret, max);
    if (d->source->is_quarantined && d->source->is_quarantined(d->ctx, id, NULL))
        return;
    c = malloc(sizeof(*c));
    if (!c)
        return;
    *c = (struct cmdline_reading){ .base = { run_cmdline, drop_cmdline, /* jvm= */ false },
                                   .proc_fd = d->opts.proc_fd,
                                   .host_pid = id->host_pid,
                                   .max = max };
    r = &c->base;
    if (readers_run(id, &r) == 0 || r) /* cut or empty: the rest counts */
        *ret = c->text;
    if (r) {
        c->text = BUF_NULL;
        drop_cmdline(r);
    }
}

/* Returns the name of the program: the last part of the first argument, if that is a path. */
static struct span command_of(struct span cmdline)
{
    struct span argv0;

    if (!cmdline_take(&cmdline, &argv0) || argv0.n == 0)
        return SPAN_NULL;
    if (argv0.p[0] == '/' || argv0.p[0] == '.') {
        struct span base = span_from(argv0, span_rfind(argv0, '/') + 1);

        if (base.n)
            return base;
    }
    return argv0;
}

/* Gets the container that the cgroup names of @im indicate. Only cgroups that root made count: a
 * user who has a cgroup may make others in it, under any name. Return: 0; -ETIMEDOUT: the owner of
 * @im is quarantined, so who made them is unknown, and *ret is what the names indicate. */
static int find_container(struct discover *d, struct image *im, struct span cgroup,
                          struct container *ret)
{
    _cleanup_buf_ struct buf made = BUF_UPTO(FACTS_CGROUP_MAX_BYTES);
    _cleanup_close_ int fd = -1;
    int r;

    container_parse(cgroup, im->p.ns_depth != 1, ret);
    if (!d->source->cgroup || (!ret->id[0] && !ret->pod_uid[0]))
        return 0;
    r = d->source->cgroup(d->ctx, &im->p.id, &fd, &im->cpu_limit, NULL);
    if (r == -ETIMEDOUT)
        return r;
    if (r == 0 && buf_read_fd(&made, fd) == 0) {
        container_parse(buf_span(&made), im->p.ns_depth != 1, ret);
        im->cpu_limit_ns = clock_monotonic_ns();
    } else {
        *ret = (struct container){ 0 };
    }
    return 0;
}

static void set_container(struct discover *d, struct image *im, struct span cgroup, uint64_t now_ns)
{
    struct container c;
    int r = find_container(d, im, cgroup, &c);

    if (c.id[0] && strcmp(c.id, im->p.container.id) == 0) { /* keep names that were found earlier */
        struct container known = im->p.container;

        if (!known.pod_uid[0])
            memcpy(known.pod_uid, c.pod_uid, sizeof(known.pod_uid));
        c = known;
    } else if (r < 0) { /* read again after the quarantine */
        bool same = !c.id[0] && strcmp(c.pod_uid, im->p.container.pod_uid) == 0;

        c = same ? im->p.container : (struct container){ 0 };
    }
    pod_cache_fill(d->pods, &c, now_ns);
    im->p.container = c;
    image_set_text(&im->p.cgroup, cgroup_path(cgroup), DISCOVER_CGROUP_MAX);
}

/* Sets the user that may see @im: its own user, or the user who made its container without root. */
static void set_owner(struct discover *d, struct image *im, const struct proc_status *status,
                      struct span uid_map, struct span cgroup)
{
    int32_t host_pid = im->p.id.host_pid;
    uint32_t uid = 0;

    im->p.owner = proc_user(d->opts.proc_fd, status, uid_map, cgroup, host_pid);
    im->p.rootless = false;
    if (im->p.owner || !d->source->namespace_user ||
        !proc_is_namespaced(d->opts.proc_fd, status, uid_map, host_pid) ||
        d->source->namespace_user(d->ctx, &im->p.id, &uid, NULL) != 0)
        return;
    im->p.owner = uid;
    im->p.rootless = uid != 0;
}

/* Returns whether the pid is still that process's. Without side-band records nothing else shows
 * that it belongs to another one now. */
static bool is_same_still(struct discover *d, const struct image *im)
{
    struct proc_stat stat;
    int r = readers_stat(d->opts.proc_fd, &im->p.id, &stat);

    return r == -ETIMEDOUT || (r == 0 && stat.start_ticks == im->p.id.start_ticks);
}

static int read_all(struct discover *d, struct image *im, uint64_t now_ns)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL, cmdline = BUF_NULL, uid_map = BUF_NULL;
    int32_t host_pid = im->p.id.host_pid;
    struct proc_status status;
    struct proc_stat stat;
    int r;

    r = readers_stat(d->opts.proc_fd, &im->p.id, &stat);
    if (r == 0 && im->p.id.start_ticks == 0)
        im->p.id.start_ticks = stat.start_ticks;
    if (r == 0 && stat.start_ticks != im->p.id.start_ticks)
        r = PROC_GONE;
    if (r == 0)
        r = proc_read_status(d->opts.proc_fd, host_pid, &status);
    if (r)
        return r;
    read_text(d, host_pid, "cgroup", FACTS_CGROUP_MAX_BYTES, &cgroup);
    facts_read_cmdline(d, &im->p.id, FACTS_COMMAND_BYTES, &cmdline);
    read_text(d, host_pid, "uid_map", FACTS_UID_MAP_MAX_BYTES, &uid_map);
    events_drain(d);
    if (!image_is_live(im) || (!d->sideband && !is_same_still(d, im)))
        return PROC_GONE;
    image_note_start(im);
    im->p.kernel_thread = stat.kernel_thread || status.kernel_thread;
    im->p.zombie = proc_stat_is_dead(&stat);
    im->p.uid = status.uid;
    set_owner(d, im, &status, buf_span(&uid_map), buf_span(&cgroup));
    im->p.container_uid = id_map_inside(buf_span(&uid_map), status.uid);
    memcpy(im->p.ns_pid, status.ns_pid, sizeof(im->p.ns_pid));
    im->p.ns_depth = status.ns_depth;
    image_set_comm(im, span_of(stat.comm));
    set_container(d, im, buf_span(&cgroup), now_ns);
    if (im->p.jvm == JVM_NO || !im->p.main[0]) {
        struct span command = command_of(buf_span(&cmdline));

        image_set_text(&im->p.command, command.n ? command : span_of(im->p.comm),
                       DISCOVER_COMMAND_MAX);
    }
    usage_note(im, &stat, now_ns);
    im->look.vsize_bytes = stat.vsize_bytes;
    im->facts = true;
    im->facts_ns = now_ns; /* an exec after this time may not be in the facts */
    return 0;
}

int facts_read(struct discover *d, struct image *im)
{
    uint64_t now_ns = clock_monotonic_ns();
    int r;

    im->p.pins++; /* keeps @im while records are drained */
    r = read_all(d, im, now_ns);
    im->p.pins--;
    if (r == PROC_GONE)
        image_end(d, im, now_ns, /* replaced= */ false);
    return r;
}

const struct recent_note *facts_note(const struct discover *d, int32_t host_pid,
                                     uint64_t start_ticks)
{
    const struct recent_note *note = recent_find(&d->recent, host_pid);
    uint64_t start_ns = monotonic_of_ticks(d, start_ticks);

    /* An earlier note is of another process. Start times are rounded down to a tick. */
    return note && MAX(note->fork_ns, note->exec_ns) >= start_ns ? note : NULL;
}

/* Reads process @host_pid before it has an entry. If its owner holds a reader, only its name is
 * read, and start_ticks is 0. Returns false if it is gone, a thread, or not wanted. */
static bool introduce(struct discover *d, int32_t host_pid, bool kernel_threads,
                      struct proc_stat *ret)
{
    _cleanup_buf_ struct buf comm = BUF_NULL;
    struct proc_id id = { .host_pid = host_pid };
    struct proc_status status;
    int r = readers_stat(d->opts.proc_fd, &id, ret);

    if ((r != 0 && r != -ETIMEDOUT) || proc_read_status(d->opts.proc_fd, host_pid, &status) != 0 ||
        status.tgid != host_pid)
        return false;
    if (r == -ETIMEDOUT) {
        *ret = (struct proc_stat){ .kernel_thread = status.kernel_thread };
        read_text(d, host_pid, "comm", sizeof(ret->comm), &comm);
        span_copy(span_trim(buf_span(&comm)), ret->comm, sizeof(ret->comm));
    }
    return !ret->kernel_thread || kernel_threads;
}

static bool started_then(const struct image *im, uint64_t start_ticks)
{
    return !start_ticks || !im->p.id.start_ticks || im->p.id.start_ticks == start_ticks;
}

struct image *facts_discover(struct discover *d, int32_t host_pid, bool kernel_threads)
{
    struct proc_id id = { .host_pid = host_pid };
    const struct recent_note *note;
    struct proc_stat stat;
    struct image *im;

    events_drain(d);
    if (!introduce(d, host_pid, kernel_threads, &stat))
        return NULL;
    id.start_ticks = stat.start_ticks;
    note = facts_note(d, host_pid, stat.start_ticks);
    id.exec_no = note ? note->execs : 0;
    im = table_newest(d, host_pid);
    if (im && started_then(im, id.start_ticks) && !image_is_live(im))
        id.exec_no = MAX(id.exec_no, im->p.id.exec_no + 1);
    if (!im || !image_is_live(im) || !started_then(im, id.start_ticks)) {
        if (im)
            image_end(d, im, clock_monotonic_ns(), /* replaced= */ false);
        im = table_add(d, &id, NULL, span_of(stat.comm));
        if (!im)
            return NULL;
        if (note)
            im->begin_ns = im->p.exec_time_ns = note->exec_ns;
    }
    if (!im->facts && facts_read(d, im) != 0 && im->p.replaced) /* by an exec just now */
        im = table_newest(d, host_pid);
    if (!im || !image_is_live(im))
        return NULL;
    if (!im->look.last_ns)
        jvm_schedule(d, im);
    return im;
}
