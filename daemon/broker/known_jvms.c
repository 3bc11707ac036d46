/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a process is a JVM, before the broker acts on it. A file system that does not answer
 * can block a reader of a process's mappings. So an opener reads the mappings, once for each
 * program that a process runs.
 */
#include "base/cleanup.h"
#include "base/list.h"
#include "broker/file_openers.h"
#include "broker/target/target.h"

/* Describes the process @of and its program. Returns false if that is not possible. */
static bool describe(const struct server *s, const struct target_fields *of, struct known_jvm *ret)
{
    struct program program;
    struct proc_stat stat;

    if (proc_read_stat(s->proc_fd, of->host_pid, &stat) != 0 || !stat.stack_start ||
        !target_program(s, of->host_pid, &program))
        return false;
    *ret = (struct known_jvm){ .host_pid = of->host_pid,
                               .start_ticks = of->start_ticks,
                               .dev_major = program.dev_major,
                               .dev_minor = program.dev_minor,
                               .inode = program.inode,
                               .stack_start = stat.stack_start };
    return true;
}

static bool same(const struct known_jvm *a, const struct known_jvm *b)
{
    return a->host_pid == b->host_pid && a->start_ticks == b->start_ticks &&
           a->stack_start == b->stack_start && a->inode == b->inode &&
           a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Checks that @t maps a libjvm.so. *ret_stack_start identifies the program that was checked, or an
 * earlier program of the process; 0: unknown. 0, PROC_GONE, -errno. */
static int check(struct server *s, const struct target_fields *of, const struct target *t,
                 uint64_t *ret_stack_start, struct error *err)
{
    _cleanup_close_ int maps = -1;
    struct known_jvm now = { 0 };
    uint64_t start = 0;
    bool described = describe(s, of, &now);
    int r;

    *ret_stack_start = now.stack_start;
    if (!file_openers_take(s, BROKER_MEM))
        return target_open_proc(t, "maps", &maps, err) ?: target_check_jvm(t, maps, &start, err);
    if (!described)
        return file_openers_check_jvm(s, of, err);
    if (ANY_OF(i, KNOWN_JVMS_MAX, same(&s->known_jvms[i], &now)))
        return 0;
    r = file_openers_check_jvm(s, of, err);
    if (r == 0)
        s->known_jvms[s->known_jvm_count++ % KNOWN_JVMS_MAX] = now;
    return r;
}

int server_check_program(const struct server *s, const struct target *t, uint64_t stack_start,
                         struct error *err)
{
    struct proc_stat stat = { .stack_start = 0 };

    if (proc_read_stat(s->proc_fd, t->host_pid, &stat) != 0 || !stat.stack_start ||
        stat.stack_start != stack_start)
        return target_check(t)
                   ?: error_set(err, -ESRCH, "process %d runs another program now", t->host_pid);
    return target_check(t);
}

int server_pin_jvm(struct server *s, const struct target_fields *of, struct target *ret,
                   uint64_t *ret_stack_start, struct error *err)
{
    return target_pin(s, of, ret, err) ?: server_refuse_own(s, of->host_pid, err) ?:
        check(s, of, ret, ret_stack_start, err);
}
