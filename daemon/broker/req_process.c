/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for the kernel's files of a target: maps, mem, pagemap, environ, stat.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "broker/jar_file.h"
#include "broker/service_words.h"
#include "broker/target/target.h"
#include "broker/tracer_file.h"
#include "proc/exit_status.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRON_MAX_BYTES ((size_t)256 << 10)

/*
 * maps. Safe: a read-only view of addresses and path names, made by the kernel; it pins no memory
 * and shows nothing once the target has exec'ed. It shows flamed which files a process maps, which
 * a profiler of the whole node must know.
 */
int request_maps(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    int fd = -1, r;

    r = target_pin(s, q, &t, &rep->err) ?: target_open_proc(&t, "maps", &fd, &rep->err);
    return r ? r : reply_fd(rep, fd);
}

/* Makes no request to the program's file system, because it may not answer. */
bool target_program(const struct server *s, int32_t host_pid, struct program *ret)
{
    struct statx st;
    char path[32];

    snprintf(path, sizeof(path), "%d/exe", host_pid);
    if (statx(s->proc_fd, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) < 0)
        return false;
    *ret = (struct program){ st.stx_dev_major, st.stx_dev_minor, st.stx_ino };
    return true;
}

/* Returns true if @theirs is the program of process @own, or if that cannot be read. */
static bool runs_program_of(const struct server *s, const struct program *theirs, int32_t own)
{
    struct program ours;

    return !target_program(s, own, &ours) ||
           (ours.inode == theirs->inode && ours.dev_major == theirs->dev_major &&
            ours.dev_minor == theirs->dev_minor);
}

/* Returns true if the program has the name of flamed-attach or flamed-push. Those are in memory, on
 * a file system of their own or another file, so only their names are known here. Another process
 * with such a name is refused, and gains nothing. */
static bool runs_helper(const struct server *s, int32_t host_pid)
{
    static const char *const NAMES[] = { "flamed-attach", "flamed-push" };
    char path[32], link[PATH_MAX];
    struct span name;
    ssize_t n;

    snprintf(path, sizeof(path), "%d/exe", host_pid);
    n = readlinkat(s->proc_fd, path, link, sizeof(link));
    name = (struct span){ link, n < 0 ? 0 : (size_t)n };
    if (span_ends_with(name, " (deleted)"))
        name.n -= strlen(" (deleted)");
    return ANY_OF(i, ARRAY_SIZE(NAMES), span_ends_with(name, NAMES[i]));
}

/* Returns true for flamed's namer. */
static bool is_namer(const struct server *s, const struct program *theirs, int32_t host_pid)
{
    struct proc_stat stat;

    return s->client && runs_program_of(s, theirs, s->client) &&
           proc_read_stat(s->proc_fd, host_pid, &stat) == 0 &&
           strcmp(stat.comm, "flamed-namer") == 0;
}

/* Returns true for flamed and its namer, for the helper and flamed-push, and for each process of
 * the broker's program. These are the broker, its openers, their nursery, the launcher, the mounter
 * and the supervisor. */
static bool is_ours(const struct server *s, int32_t host_pid)
{
    struct program theirs;

    if (host_pid == s->self || (s->parent && host_pid == s->parent) ||
        (s->client && host_pid == s->client))
        return true;
    if (!target_program(s, host_pid, &theirs))
        return false; /* its file system refuses us, so it is not ours; or it has no program */
    return runs_program_of(s, &theirs, s->self) || is_namer(s, &theirs, host_pid) ||
           runs_helper(s, host_pid);
}

int server_refuse_own(const struct server *s, int32_t host_pid, struct error *err)
{
    if (is_ours(s, host_pid))
        return error_set(err, -EPERM, "process %d is flamed itself", host_pid);
    if (host_pid == 1 && s->initial_pid_ns)
        return error_set(err, -EPERM, "process 1 is the host's init");
    return 0;
}

int target_check_jvm(const struct target *t, int maps_fd, uint64_t *start, struct error *err)
{
    int r;

    if (maps_find_jvm(maps_fd, start))
        return 0;
    r = target_check(t);
    return r ? r : error_set(err, -EPERM, "process %d maps no libjvm.so", t->host_pid);
}

/* Opens a file of a JVM. @name: of that file; NULL: there is only one. */
typedef int (*open_fn)(const struct server *s, const struct target *t, const char *name,
                       int *ret_fd, struct error *err);

/* Answers with a file about the memory of a JVM. Ensures that it belongs to the JVM, not to an
 * earlier or later program of the process. One view of the maps is opened before the file, and one
 * after it; both must show the same libjvm.so. The first view is read last: it is empty if the
 * process has exec'ed. */
static int reply_memory(const struct server *s, const struct target_fields *of, open_fn open_it,
                        const char *name, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int before = -1, after = -1, fd = -1;
    struct error *err = &rep->err;
    uint64_t start = 0;
    int r;

    r = target_pin(s, of, &t, err) ?: server_refuse_own(s, of->host_pid, err) ?:
        target_open_proc(&t, "maps", &before, err) ?: open_it(s, &t, name, &fd, err) ?:
        target_open_proc(&t, "maps", &after, err) ?: target_check_jvm(&t, after, &start, err) ?:
        target_check_jvm(&t, before, &start, err) ?: target_check(&t);
    return r ? r : reply_fd(rep, take_fd(&fd));
}

static int open_mem(const struct server *s, const struct target *t, const char *name, int *ret_fd,
                    struct error *err)
{
    (void)s;
    (void)name;
    return target_open_proc(t, "mem", ret_fd, err);
}

/* Reads the environment and keeps only the words that name a service. Reads no more than
 * ENVIRON_MAX_BYTES. */
static int open_service_words(const struct server *s, const struct target *t, const char *name,
                              int *ret_fd, struct error *err)
{
    _cleanup_buf_ struct buf environ = BUF_UPTO(ENVIRON_MAX_BYTES),
                             words = BUF_UPTO(ENVIRON_MAX_BYTES);
    _cleanup_close_ int fd = -1;
    struct span all;
    int r = target_open_proc(t, "environ", &fd, err);

    (void)s;
    (void)name;
    if (r)
        return r;
    r = buf_read_fd(&environ, fd);
    if (r < 0 && r != -EFBIG)
        return error_code(err, r, "cannot read the environment of process %d", t->host_pid);
    all = buf_span(&environ);
    if (r == -EFBIG) /* the last word may be cut off */
        all.n = span_rfind(all, '\0');
    service_words_find(all, &words);
    if (words.error)
        return error_code(err, words.error, "no memory for the environment of process %d",
                          t->host_pid);
    return memfd_of("service-words", words.p, words.n, ret_fd, err);
}

static int open_tracer_info(const struct server *s, const struct target *t, const char *name,
                            int *ret_fd, struct error *err)
{
    (void)name;
    return tracer_file_copy(s, t, ret_fd, err);
}

/* Makes CAP_SYS_ADMIN effective, or not effective, for the following calls. 0 or -errno. */
static int admin_counts(bool counts)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    const uint32_t bit = 1u << CAP_SYS_ADMIN;

    if (syscall(SYS_capget, &head, caps) < 0)
        return -errno;
    if (counts)
        caps[0].effective |= caps[0].permitted & bit;
    else
        caps[0].effective &= ~bit;
    return syscall(SYS_capset, &head, caps) < 0 ? -errno : 0;
}

/* Opens the file without CAP_SYS_ADMIN, so that the kernel hides page frame numbers in it. */
static int open_pagemap(const struct server *s, const struct target *t, const char *name,
                        int *ret_fd, struct error *err)
{
    int r = admin_counts(false), back;

    (void)s;
    (void)name;
    if (r < 0)
        return error_code(err, r, "cannot drop a capability for a moment");
    r = target_open_proc(t, "pagemap", ret_fd, err);
    back = admin_counts(true);
    return back < 0 ? error_code(err, back, "cannot take a capability back") : r;
}

/*
 * mem. Safe for the target: the file is open for reading only, and reads nothing after an exec. It
 * cannot be opened again for more, which takes the right to trace, and flamed has not that right.
 * Safe for others: a JVM only, never the host's init and never our own processes; kernel threads
 * map nothing and are refused with the rest. flamed can read all of a JVM's memory:
 * docs/privilege.md says so first.
 */
int request_mem(struct server *s, const struct target_fields *q, struct reply *rep)
{
    return reply_memory(s, q, open_mem, NULL, rep);
}

/*
 *
 * service_words. Safe: only for a JVM, as request mem is, and a JVM's memory contains its
 * environment anyway. The broker gives only the words that name the service (service_words.h), at
 * most 2 KiB each.
 *
 */
int request_service_words(struct server *s, const struct target_fields *q, struct reply *rep)
{
    return reply_memory(s, q, open_service_words, NULL, rep);
}

/*
 * tracer_info. Safe: only for a JVM, as mem is. One small file that it has open is copied, found by
 * its name. A JVM can have other files under that name, and without the right to read them
 * (O_PATH). So the file must have no name of its own, and its user could read it.
 */
int request_tracer_info(struct server *s, const struct target_fields *q, struct reply *rep)
{
    return reply_memory(s, q, open_tracer_info, NULL, rep);
}

/*
 * program_jar. Safe: only for a JVM, as mem is. A file that the JVM has open under a name that ends
 * as jars do, which its user could read, on a file system that answers, or a copy (trusted_fs.h).
 * The file cannot be written to. flamed has to distrust the contents.
 */
int request_program_jar(struct server *s, const struct shared_fields *q, struct reply *rep)
{
    return reply_memory(s, &q->target, jar_file_open, q->name, rep);
}

/*
 * pagemap. Safe: only for a JVM, as mem is, and flamed may read its memory anyhow. It shows which
 * pages are in memory, swapped or a file's, and not their place in the machine's memory. Those
 * numbers help an attack on the kernel, and are hidden if the file is opened without CAP_SYS_ADMIN.
 * The file cannot be written to.
 */
int request_pagemap(struct server *s, const struct target_fields *q, struct reply *rep)
{
    return reply_memory(s, q, open_pagemap, NULL, rep);
}

/*
 * zombie_status. Safe: the exit status of a process that has ended, which its parent may read.
 */
int request_zombie_status(struct server *s, const struct target_fields *q, struct reply *rep)
{
    struct proc_id id = { .host_pid = q->host_pid, .start_ticks = q->start_ticks };
    int status = 0;

    if (!exit_status_of_zombie(s->proc_fd, &id, &status))
        return BROKER_ABSENT;
    rep->body.zombie_status.status = (uint32_t)status;
    return 0;
}
