/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/cgroup: one line for each hierarchy of version 1, and one for version 2. Paths are
 * relative to the reader's cgroup namespace (they may begin with "/.."). container_cgroup.c has the
 * names that containers have there.
 */
#include "proc/proc.h"

#define CGROUP_DELETED " (deleted)"

bool cgroup_take_line(struct span *text, struct cgroup_line *ret)
{
    struct span line;

    while (span_take_line(text, &line)) {
        struct cgroup_line l;

        if (!span_take_dec(&line, &l.hierarchy) || !span_take_char(&line, ':'))
            continue;
        l.controllers = (struct span){ line.p, span_find(line, ':') };
        if (l.controllers.n == line.n)
            continue;
        l.path = span_from(line, l.controllers.n + 1);
        if (l.path.n == 0 || l.path.p[0] != '/')
            continue;
        if (span_ends_with(l.path, CGROUP_DELETED))
            l.path.n -= sizeof(CGROUP_DELETED) - 1;
        *ret = l;
        return true;
    }
    return false;
}

bool cgroup_has(const struct cgroup_line *line, const char *controller)
{
    struct span rest = line->controllers, one;

    while (span_take_until(&rest, ',', &one)) {
        if (span_eq_str(one, controller))
            return true;
    }
    return false;
}

struct span cgroup_path(struct span text)
{
    struct span best = SPAN("/");
    struct cgroup_line l;
    int best_rank = 0;

    while (cgroup_take_line(&text, &l)) {
        int rank = l.path.n <= 1                                ? 0
                   : l.hierarchy == 0                           ? 3
                   : span_eq_str(l.controllers, "name=systemd") ? 2
                                                                : 1;

        if (rank > best_rank || (rank == best_rank && rank == 1 && l.path.n > best.n)) {
            best_rank = rank;
            best = l.path;
        }
    }
    return best;
}
