/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for the cgroups that root put a process into, for their limits, and for their counters.
 */
#include "base/cleanup.h"
#include "broker/target/cgroup_files.h"

static void add_line(struct buf *out, const struct cgroup_line *line, struct span path)
{
    buf_printf(out, "%ju:", (uintmax_t)line->hierarchy);
    buf_add_span(out, line->controllers);
    buf_add_char(out, ':');
    if (path.n)
        buf_add_span(out, path);
    else
        buf_add_char(out, '/');
    buf_add_char(out, '\n');
}

void cgroup_made_by_root(const struct server *s, struct span cgroup, struct buf *out)
{
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        _cleanup_close_ int mount = -1;
        struct span path = line.path, below;
        int r = cgroup_open_mount(s, &line, &below, &mount);

        path.n = 0;
        if (r < 0 && r != -ENOENT) {
            out->error = r;
            return;
        }
        if (r == 0) {
            cgroup_cut_to_root(mount, &below);
            path.n = (size_t)(below.p + below.n - line.path.p);
        }
        add_line(out, &line, path);
    }
}

/*
 * cgroup. Safe: text that every user may read of the process, cut where others than root made a
 * cgroup, and a limit that every user may read. Only folders of the cgroup file system are opened,
 * for their owners, and the files of that limit.
 */
int request_cgroup(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_buf_ struct buf text = BUF_NULL, out = BUF_UPTO(TARGET_TEXT_MAX);
    _cleanup_target_ struct target t = TARGET_NULL;
    int fd = -1, r;

    r = target_pin(s, q, &t, &rep->err) ?: target_read_proc(&t, "cgroup", &text, &rep->err);
    if (r)
        return r;
    cgroup_made_by_root(s, buf_span(&text), &out);
    if (out.error)
        return error_code(&rep->err, out.error, "cannot read the cgroups of process %d",
                          t.host_pid);
    r = memfd_of("cgroup", out.p, out.n, &fd, &rep->err);
    rep->body.cgroup = (struct cgroup_answer){ cgroup_cpu_limit(s, buf_span(&text)),
                                               cgroup_frozen(s, buf_span(&text)) > 0 };
    return r ? r : reply_fd(rep, fd);
}

/*
 * cgroup_numbers. Safe: numbers that every user may read of the process's cgroups, from files of
 * the cgroup file system with fixed names, opened read-only.
 */
int request_cgroup_numbers(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    _cleanup_target_ struct target t = TARGET_NULL;
    struct cgroup_files_answer *answer = &rep->body.cgroup_numbers;
    struct broker_cgroup_files files;
    int r;

    r = target_pin(s, q, &t, &rep->err) ?: target_read_proc(&t, "cgroup", &text, &rep->err);
    if (r)
        return r;
    cgroup_files_open(s, buf_span(&text), &files);
    *answer = (struct cgroup_files_answer){ .cpu_limit = files.cpu_limit,
                                            .memory_limit = files.memory_limit,
                                            .swap_limit = files.swap_limit };
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++) {
        if (files.fds[i] < 0)
            continue;
        answer->files |= 1u << i;
        reply_fd(rep, files.fds[i]);
    }
    return 0;
}
