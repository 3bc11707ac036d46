/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that have moments of a JVM told: safepoints, operations of the VM, collections,
 * compilations, classes.
 */
#include "base/cleanup.h"
#include "broker/mapped.h"
#include "broker/probed_file.h"
#include "broker/usdt.h"
#include "sample/sampler.h"
#include "sample/sampler_moments.h"
#include "sample/uprobe_hook.h"

#include <fcntl.h>

_Static_assert((int)USDT_NOWHERE == (int)MOMENT_NOWHERE &&
                   (int)USDT_REGISTER == (int)MOMENT_IN_REGISTER &&
                   (int)USDT_MEMORY == (int)MOMENT_IN_MEMORY &&
                   (int)USDT_OPERANDS_MAX == (int)MOMENT_OPERANDS,
               "operands of both sides");

/* By enum moment_kind. Operands: enum moment_operand_no. */
static const struct usdt_wanted WANTED[MOMENT_PROBED] = {
    [MOMENT_SAFEPOINT_BEGIN] = { "hs_private", "safepoint__begin", { 0 } },
    [MOMENT_SAFEPOINT_END] = { "hs_private", "safepoint__end", { 0 } },
    [MOMENT_OPERATION_BEGIN] = { "hotspot", "vmops__begin", { 1 } },
    [MOMENT_OPERATION_END] = { "hotspot", "vmops__end", { 0 } },
    [MOMENT_GC_BEGIN] = { "hotspot", "gc__begin", { 0 } },
    [MOMENT_GC_END] = { "hotspot", "gc__end", { 0 } },
    [MOMENT_COLLECTOR] = { "hotspot", "mem__pool__gc__begin", { 1 } },
    [MOMENT_COMPILE_BEGIN] = { "hotspot", "method__compile__begin", { 0 } },
    [MOMENT_COMPILE_END] = { "hotspot", "method__compile__end", { 3, 4, 5, 6, 1 } },
    [MOMENT_CLASS_LOADED] = { "hotspot", "class__loaded", { 1, 2 } },
    [MOMENT_CLASS_UNLOADED] = { "hotspot", "class__unloaded", { 1, 2 } },
};
#define NEEDED_KINDS (MOMENT_OPERATION_END + 1) /* without one of these, nothing can be told */

static struct moment_place place_of(const struct usdt_place *p)
{
    struct moment_place ret = { 0 };

    for (size_t i = 0; i < MOMENT_OPERANDS; i++)
        ret.operands[i] = (struct moment_operand){
            .where = (uint8_t)p->operands[i].where,
            .bytes = (uint8_t)p->operands[i].bytes,
            .reg = (uint16_t)p->operands[i].reg,
            .disp = p->operands[i].disp,
        };
    return ret;
}

/* The probes of libjvm.so @fd. Their number; BROKER_ABSENT: it has not what is needed; -errno with
 * @err. */
static int find_probes(int fd, struct moment_probe ret[MOMENT_PLACES_MAX], uint32_t *ret_count,
                       struct error *err)
{
    struct usdt_place places[MOMENT_PLACES_MAX];
    uint32_t seen = 0;
    int n = usdt_find(fd, WANTED, ARRAY_SIZE(WANTED), places, ARRAY_SIZE(places), err);

    for (int i = 0; i < n; i++) {
        const struct usdt_place *p = &places[i];

        seen |= 1U << p->wanted;
        ret[i] =
            (struct moment_probe){ .offset = p->offset, .kind = p->wanted, .place = place_of(p) };
    }
    if (n < 0)
        return n;
    if ((seen & ((1U << NEEDED_KINDS) - 1)) != (1U << NEEDED_KINDS) - 1)
        return BROKER_ABSENT;
    *ret_count = (uint32_t)n;
    return 0;
}

/*
 * moments. Safe: only in the libjvm.so that the target has mapped to execute, opened as `mapped`
 * opens it, for this process alone, while a set of event safepoint runs. flamed chooses no place:
 * each is one of eleven marks by name in the file's own notes, and a no-op of one byte stands
 * there, which the kernel emulates. No probe at a return. The programs are fixed. They read strings
 * by addresses that the mark tells, of 384 bytes at most. The first reads four and eight bytes at
 * offsets below 64 KiB of where flamed says that a thread is described, and eight bytes where the
 * latter point to, with the target's own rights. They only say whether a stack is taken. Its end is
 * a link's, which ends with this process.
 */
int request_moments(struct server *s, const struct moments_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    struct moment_probe probes[MOMENT_PLACES_MAX];
    _cleanup_close_ int fd = -1;
    const struct broker_java_thread *thread = &q->thread;
    uint32_t count = 0;
    int r = probed_file_open(s, &q->at, PROBED_LIBJVM, &t, &fd, &rep->err);

    if (r)
        return r;
    r = find_probes(fd, probes, &count, &rep->err);
    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = mapped_check_code(&t, &q->at, fd, probes[i].offset, &rep->err);
    if (r == 0)
        r = sampler_probe_moments(s->sampler, &(struct uprobe_target){ t.host_pid, t.pidfd, fd },
                                  &(struct moment_thread){ .state = thread->state,
                                                           .safepoint = thread->safepoint,
                                                           .begun = thread->begun,
                                                           .native = thread->native,
                                                           .blocked = thread->blocked,
                                                           .end = thread->end },
                                  probes, count, &rep->err);
    return r;
}

/*
 * unmoments. Safe: ends what moments began, or part of it.
 */
int request_unmoments(struct server *s, const struct unmoments_fields *q, struct reply *rep)
{
    (void)rep;
    return s->sampler ? sampler_unprobe_moments(s->sampler, q->host_pid, q->groups) : -ENOENT;
}

/*
 * moments_ring. Safe: as ring; its records tell when which JVM did what, and no memory but names.
 */
int request_moments_ring(struct server *s, const struct no_fields *q, struct reply *rep)
{
    int fd = s->sampler ? sampler_moments_fd(s->sampler) : -1;

    (void)q;
    if (fd < 0)
        return error_set(&rep->err, -EAGAIN, "no set of event safepoint runs");
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(&rep->err, "cannot copy the ring's fd");
    rep->body.moments_ring.bytes = MOMENT_RING_BYTES;
    return reply_fd(rep, fd);
}
