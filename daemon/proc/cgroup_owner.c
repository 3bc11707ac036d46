/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the owner of a process. Names that a user may choose (a cgroup below the user's own
 * manager, a process) must not give one user many owners, nor one owner to a user and to another's
 * container.
 */
#include "base/ascii.h"
#include "base/shares.h"
#include "proc/proc.h"

/* Hexadecimal digits of the id that all runtimes put into a cgroup's name. */
#define CONTAINER_ID_BYTES 64
#define CGROUP_MAX_BYTES ((size_t)64 << 10) /* 13 hierarchies, each path at its longest */

/* Returns the first run of 64 hexadecimal digits; empty: none. */
static struct span container_id(struct span text)
{
    size_t run = 0;

    for (size_t i = 0; i < text.n; i++) {
        run = ascii_is_lower_hex(text.p[i]) ? run + 1 : 0;
        if (run == CONTAINER_ID_BYTES)
            return (struct span){ text.p + i + 1 - run, run };
    }
    return (struct span){ text.p, 0 };
}

static bool is_of_user(struct span part)
{
    return (span_starts_with(part, "user-") && span_ends_with(part, ".slice")) ||
           (span_starts_with(part, "user@") && span_ends_with(part, ".service"));
}

/* Returns whether @part is the cgroup of a container without an id, as container_parse() finds it.
 */
static bool is_of_named_container(struct span part, struct span parent)
{
    if (span_ends_with(part, ".scope"))
        return span_starts_with(part, "runc-") || span_starts_with(part, "crun-") ||
               (span_starts_with(part, "machine-") && span_eq_str(parent, "machine.slice"));
    return span_starts_with(part, "lxc.payload.") || span_eq_str(parent, "lxc") ||
           span_eq_str(parent, "lxc.payload") ||
           (span_starts_with(part, "systemd-nspawn@") && span_ends_with(part, ".service"));
}

/* Returns the part of @path down to the outermost cgroup of a container or user; empty: none.
 * Its processes may make any other below it. *ret_user: it is a user's. */
static struct span outermost(struct span path, bool *ret_user)
{
    struct span rest = path, parent = SPAN_NULL, part;

    for (; span_take_until(&rest, '/', &part); parent = part) {
        struct span id = container_id(part);

        *ret_user = is_of_user(part);
        if (*ret_user || (!id.n && is_of_named_container(part, parent)))
            return (struct span){ path.p, (size_t)(part.p + part.n - path.p) };
        if (id.n)
            return (struct span){ path.p, (size_t)(id.p + id.n - path.p) };
    }
    return (struct span){ path.p, 0 };
}

/* Returns the part of the path that is the same for a whole container or user; empty: neither. For
 * a container it begins at the root: a process in a cgroup of no container could make a cgroup with
 * any id below its own. */
static struct span whole(struct span cgroup)
{
    struct span user = { cgroup.p, 0 };
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        bool is_user;
        struct span part = outermost(line.path, &is_user);

        if (part.n && !is_user)
            return part;
        if (part.n)
            user = part;
    }
    return user;
}

/* What an owner's number is made of. */
enum kind { CONTAINER_OR_USER, USER_IN_CGROUP, PROCESS };

static struct fingerprint_key key; /* 0: this program's own */

void proc_owner_use_key(const struct fingerprint_key *shared)
{
    key = *shared;
}

/* Returns a number that cannot be predicted. Otherwise a user could choose a cgroup that has
 * another owner's number. */
static uint64_t number(enum kind kind, struct span text, uint64_t a, uint64_t b)
{
    const struct fingerprint_key use = key.k0 || key.k1 ? key : fingerprint_key_new();
    const uint64_t words[] = { kind, fingerprint(&use, text), a, b };

    uint64_t n = fingerprint(&use, (struct span){ (const char *)words, sizeof(words) });

    return n && n != OWNER_FOREIGN ? n : 1;
}

/* Returns whether @id is still the process that has its pid. */
static bool is_there(int proc_fd, const struct proc_id *id)
{
    uint64_t start_ticks;

    return proc_read_start(proc_fd, id->host_pid, &start_ticks) == 0 &&
           (!id->start_ticks || start_ticks == id->start_ticks);
}

uint64_t proc_owner(int proc_fd, const struct proc_id *id)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(CGROUP_MAX_BYTES);
    struct proc_status status;
    struct span cgroup, of_all;
    char name[32];
    int r;

    if (proc_fd < 0)
        return number(PROCESS, SPAN_NULL, (uint64_t)id->host_pid, id->start_ticks);
    snprintf(name, sizeof(name), "%d/cgroup", id->host_pid);
    r = buf_read_at(&text, proc_fd, name);
    if (r < 0 && r != -ENOENT) /* a kernel without cgroups has no such file */
        return OWNER_FOREIGN;
    cgroup = buf_span(&text);
    of_all = whole(cgroup);
    if (!of_all.n && proc_read_status(proc_fd, id->host_pid, &status) != 0)
        return OWNER_FOREIGN;
    /* The number of a process that has ended would be that of the process which has its pid now. A
     * zombie has lost its cgroup of version 1. */
    if (!is_there(proc_fd, id) || (!of_all.n && (status.state == 'Z' || status.state == 'X')))
        return OWNER_FOREIGN;
    if (of_all.n)
        return number(CONTAINER_OR_USER, of_all, 0, 0);
    if (status.uid != 0)
        return number(USER_IN_CGROUP, cgroup_path(cgroup), status.uid, 0);
    return number(PROCESS, SPAN_NULL, (uint64_t)id->host_pid, id->start_ticks);
}
