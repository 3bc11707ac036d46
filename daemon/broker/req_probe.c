/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that put probes into processes, and remove them.
 */
#include "base/cleanup.h"
#include "broker/function_start.h"
#include "broker/moment_places.h"
#include "broker/opener_looks.h"
#include "broker/probed_file.h"
#include "broker/target/agent_files.h"
#include "sample/sampler.h"
#include "sample/sampler_alloc.h"
#include "sample/sampler_moments.h"
#include "sample/sampler_yields.h"
#include "sample/uprobe_hook.h"

#include <fcntl.h>

_Static_assert((int)BROKER_MALLOC_FIRST == (int)ALLOC_MALLOC_FIRST &&
                   (int)BROKER_MALLOC_SECOND == (int)ALLOC_MALLOC_SECOND &&
                   (int)BROKER_MALLOC_SECOND_OF_OLD == (int)ALLOC_MALLOC_SECOND_OF_OLD &&
                   (int)BROKER_MALLOC_THIRD == (int)ALLOC_MALLOC_THIRD &&
                   (int)BROKER_MALLOC_THIRD_OF_LARGE == (int)ALLOC_MALLOC_THIRD_OF_LARGE &&
                   (int)BROKER_MALLOC_PRODUCT == (int)ALLOC_MALLOC_PRODUCT &&
                   (int)BROKER_MALLOC_FREE == (int)ALLOC_MALLOC_FREE &&
                   (int)BROKER_MALLOC_RESULT <= (int)ALLOC_MALLOC_RESULT,
               "the arguments of both sides");
_Static_assert(BROKER_PLACES_MAX == ALLOC_PROBES_MAX, "the probes of both sides");

/* Returns the target of probes of @t in its file @fd; both are borrowed. */
static struct uprobe_target target_of(const struct target *t, int fd)
{
    return (struct uprobe_target){ .pid = t->host_pid, .pidfd = t->pidfd, .fd = fd };
}

/* Checks that @fd is the process's libjvm.so, which has not been patched at @count places. */
static int check_libjvm(struct server *s, const struct probe_put_fields *q, int fd,
                        const uint64_t *places, size_t count, struct error *err)
{
    return opener_look_at_code(s, &q->at, /* libjvm= */ true, fd, places, count, err);
}

/* ---- events alloc and live ---- */

/* Checks the places of the probes @asked in the file @fd, and writes the probes to @ret. */
static int check_places(int fd, const struct broker_probes *asked,
                        struct alloc_probe ret[BROKER_PLACES_MAX], struct error *err)
{
    for (uint32_t i = 0; i < asked->count; i++) {
        int r =
            function_start_check(fd, broker_place_offset(asked->places[i]), &ret[i].offset, err);

        if (r < 0)
            return r;
        ret[i].kind = (enum alloc_kind)broker_place_kind(asked->places[i]);
    }
    return 0;
}

/* Puts probes at functions of libjvm.so that allocate. */
static int put_heap(struct server *s, void *alloc, const struct probe_put_fields *q,
                    struct target *t, struct error *err)
{
    struct alloc_probe probes[BROKER_PLACES_MAX];
    uint64_t places[BROKER_PLACES_MAX];
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    int r = probed_file_open(s, &q->at, t, &fd, err);

    if (r)
        return r;
    r = check_places(fd, &q->probes, probes, err);
    for (uint32_t i = 0; r == 0 && i < q->probes.count; i++)
        places[i] = probes[i].offset;
    if (r == 0)
        r = check_libjvm(s, q, fd, places, q->probes.count, err);
    if (r)
        return r;
    at = target_of(t, fd);
    return sampler_alloc_probe(alloc, &at, &q->probes.about.heap, probes, q->probes.count, err);
}

/* Puts a probe at the empty function that the agent of this build has for this purpose. */
static int put_agent(struct server *s, void *alloc, const struct probe_put_fields *q,
                     struct target *t, struct error *err)
{
    const struct broker_agent *about = &q->probes.about.agent;
    uint64_t offset = agents_probe_offset();
    struct uprobe_target at;
    int agent = -1;
    int r = target_pin(s, &q->at.target, t, err) ?: server_refuse_own(s, t->host_pid, err) ?:
            target_need_thread(t, err) ?: probed_file_refuse_served(s, &q->at.target, t, err) ?:
            agents_get(s, t, &q->at.target, opener_look_for_agent, &agent, err) ?:
            function_start_check(agent, offset, &offset, err);

    if (r)
        return r;
    at = target_of(t, agent);
    return sampler_alloc_agent(alloc, &at, about->class_klass, about->collections, offset, err);
}

/*
 * sample_agents. Safe: selects the source of samples for a set that flamed began.
 */
int request_sample_agents(struct server *s, const struct set_fields *q, struct reply *rep)
{
    struct sampler_alloc *a = sampler_loaded(s->sampling.sampler, PROGRAM_ALLOC);

    (void)rep;
    return a ? sampler_alloc_by_agents(a, q->set) : -ENOENT;
}

/*
 * heap_hits. Safe: a number that a program counted at probes of libjvm.so.
 */
int request_heap_hits(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    const struct sampler_alloc *a = sampler_loaded(s->sampling.sampler, PROGRAM_ALLOC);

    return a ? sampler_alloc_hits(a, q->host_pid, &rep->body.heap_hits.calls) : -ENOENT;
}

/* ---- event safepoint ---- */

/* Puts probes at the marks of libjvm.so. */
static int put_moments(struct server *s, void *moments, const struct probe_put_fields *q,
                       struct target *t, struct error *err)
{
    struct moment_probe probes[MOMENT_PLACES_MAX];
    uint64_t places[MOMENT_PLACES_MAX];
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    uint32_t count = 0;
    int r = probed_file_open(s, &q->at, t, &fd, err);

    if (r)
        return r;
    r = moment_places_find(fd, probes, &count, err);
    for (uint32_t i = 0; r == 0 && i < count; i++)
        places[i] = probes[i].offset;
    if (r == 0)
        r = check_libjvm(s, q, fd, places, count, err);
    if (r)
        return r;
    at = target_of(t, fd);
    return sampler_moments_probe(moments, &at, &q->probes.about.thread, probes, count, err);
}

/*
 * moments_ring. Safe: as ring; its records hold events of a JVM with their times, and no memory
 * except names.
 */
int request_moments_ring(struct server *s, const struct no_fields *q, struct reply *rep)
{
    const struct sampler_moments *m = sampler_loaded(s->sampling.sampler, PROGRAM_MOMENTS);
    int fd;

    (void)q;
    if (!m)
        return error_set(&rep->err, -EAGAIN, "no set of event safepoint runs");
    fd = fcntl(sampler_moments_ring_fd(m), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(&rep->err, "cannot copy the ring's fd");
    rep->body.moments_ring.bytes = MOMENT_RING_BYTES;
    return reply_fd(rep, fd);
}

/* ---- yields of virtual threads ---- */

/* Puts probes at functions of libjvm.so that freeze and thaw virtual threads. */
static int put_yields(struct server *s, void *yields, const struct probe_put_fields *q,
                      struct target *t, struct error *err)
{
    struct yields_places places = { .at = { 0 } };
    uint64_t starts[BROKER_PLACES_MAX];
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    uint64_t owner;
    int r = probed_file_open(s, &q->at, t, &fd, err);

    for (uint32_t i = 0; r == 0 && i < q->probes.count; i++) {
        uint64_t *place = &places.at[broker_place_kind(q->probes.places[i])];

        r = function_start_check(fd, broker_place_offset(q->probes.places[i]), place, err);
        starts[i] = *place;
    }
    if (r == 0)
        r = check_libjvm(s, q, fd, starts, q->probes.count, err);
    if (r)
        return r;
    owner = server_owner(
        s, &(struct proc_id){ .host_pid = t->host_pid, .start_ticks = q->at.target.start_ticks });
    at = target_of(t, fd);
    return sampler_yields_probe(yields, &at, owner, &q->probes.about.yields, &places, err);
}

/*
 * yields. Safe: numbers that a program counted at probes of yields, and a bit, which it clears.
 */
int request_yields(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    struct sampler_yields *y = sampler_loaded(s->sampling.sampler, PROGRAM_YIELDS);

    return y ? sampler_yields_counts(y, q->host_pid, &rep->body.yields.counts) : -ENOENT;
}

/*
 * yields_waits. Safe: ids of virtual threads and times, as the program has stored them, in a sealed
 * memfd.
 */
int request_yields_waits(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    _cleanup_free_ struct yields_start *waits = calloc(YIELDS_WAITS_MAX, sizeof(*waits));
    struct sampler_yields *y = sampler_loaded(s->sampling.sampler, PROGRAM_YIELDS);
    size_t count = 0;
    int fd = -1, r = waits ? -ENOENT : -ENOMEM;

    if (waits && y)
        r = sampler_yields_waits(y, q->host_pid, waits, YIELDS_WAITS_MAX, &count);
    if (r == 0)
        r = memfd_of("yields", waits, count * sizeof(*waits), &fd, &rep->err);
    return r < 0 ? r : reply_fd(rep, fd);
}

/* ---- calls of functions ---- */

/* Finds the places of probes for the function at @offset of the file @fd: its start or, with
 * @results, where it tests results of other functions. */
static int find_places(int fd, uint64_t offset, bool results,
                       struct function_result ret[FUNCTION_RESULTS_MAX], size_t *ret_count,
                       struct error *err)
{
    int r;

    if (results)
        return function_results_find(fd, offset, ret, ret_count, err);
    r = function_start_check(fd, offset, &offset, err);
    ret[0] = (struct function_result){ .offset = offset };
    *ret_count = 1;
    return r;
}

/* Puts the probe that counts a function's calls, or those of a function that allocates or frees
 * memory. With @results, several probes are needed: either all are put, or none. */
static int put_call(struct server *s, void *alloc, const struct probe_put_fields *q,
                    struct target *t, struct error *err)
{
    uint64_t offset = broker_place_offset(q->probes.places[0]);
    uint32_t argument = broker_place_kind(q->probes.places[0]), set = q->probes.set;
    bool malloc = q->probes.program == BROKER_PROBED_MALLOC,
         results = malloc && argument == BROKER_MALLOC_RESULT;
    struct function_result places[FUNCTION_RESULTS_MAX];
    uint64_t offsets[FUNCTION_RESULTS_MAX];
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    size_t count = 0, put = 0;
    int r = probed_file_open(s, &q->at, t, &fd, err)
                ?: find_places(fd, offset, results, places, &count, err);

    for (size_t i = 0; r == 0 && i < count; i++)
        offsets[i] = places[i].offset;
    if (r == 0)
        r = opener_look_at_code(s, &q->at, /* libjvm= */ false, fd, offsets, count, err);
    at = target_of(t, fd);
    if (r == 0 && !malloc)
        return sampler_alloc_call(alloc, &at, set, places[0].offset, err);
    for (; put < count && (r == 0 || r == -EINPROGRESS); put++) {
        int k =
            sampler_alloc_malloc(alloc, &at, set, places[put].offset,
                                 results ? ALLOC_MALLOC_RESULT + places[put].reg : argument, err);

        r = k < 0 ? k : r;
    }
    for (size_t i = 0; put && i < count && r < 0 && r != -EINPROGRESS; i++) /* all or none */
        sampler_alloc_unmalloc(alloc, &at, set, places[i].offset);
    return r;
}

/*
 * mallocs. Safe: a number that a program counted at probes of malloc.
 */
int request_mallocs(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    const struct sampler_alloc *a = sampler_loaded(s->sampling.sampler, PROGRAM_ALLOC);

    return a ? sampler_alloc_mallocs(a, q->host_pid, &rep->body.mallocs.calls) : -ENOENT;
}

/* ---- all probes ---- */

/* How the probes of a program (enum broker_probed) are put. */
struct probed {
    int (*put)(struct server *s, void *program, const struct probe_put_fields *q, struct target *t,
               struct error *err);
    enum event_program program;
};

static const struct probed PROBED[] = {
    [BROKER_PROBED_HEAP] = { put_heap, PROGRAM_ALLOC },
    [BROKER_PROBED_AGENT] = { put_agent, PROGRAM_ALLOC },
    [BROKER_PROBED_MOMENTS] = { put_moments, PROGRAM_MOMENTS },
    [BROKER_PROBED_CALL] = { put_call, PROGRAM_ALLOC },
    [BROKER_PROBED_MALLOC] = { put_call, PROGRAM_ALLOC },
    [BROKER_PROBED_YIELDS] = { put_yields, PROGRAM_YIELDS },
};
_Static_assert(ARRAY_SIZE(PROBED) == BROKER_PROBED_PROGRAMS, "each program has its function");

/*
 * probe_put. Safe: in a file that the target has mapped to execute, opened as `mapped` opens it,
 * for this process alone, while a set of such events runs. Never in flamed's own processes or the
 * host's init. flamed chooses no offset freely. No probe is at a return. The programs are fixed,
 * and read memory of the target with the target's own rights. An opener opens the file. A probe
 * ends with its link, which ends with this process. flamed repeats the request until all probes are
 * in; those already in stay. By program:
 *
 * - heap: only in libjvm.so. Each place is the first instruction of a function by the file's own
 *   table, one that the kernel emulates.
 * - agent: at one place, which flamed does not choose: an empty function of the agent of this
 *   build. The file is the sealed one that the broker gave this process, or one that the process
 *   has mapped, compared byte by byte. The program reads two words through the function's
 *   arguments, and one that flamed names.
 * - moments: only in libjvm.so. flamed chooses no place: each is one of eleven marks by name in the
 *   file's own notes, at a short no-op, which the kernel emulates or steps over. The programs read
 *   strings at addresses that the mark has, of 384 bytes at most. The first program reads four and
 * eight bytes at offsets below 64 KiB from the thread's description that flamed names, and eight
 * bytes where the latter point to. These only decide whether a stack is taken.
 * - yields: as heap, at three functions at most. The program reads the thread's description, its
 *   virtual thread, and the frames of that thread in the heap, by the tables of put_process.
 * - call: as heap, but at one function of any file, and the program reads nothing but the stack.
 *   One probe per set and process, ALLOC_TARGET_MAX per process.
 * - malloc: as call, and the program also reads three arguments of the function. Several probes per
 *   set and process. Event nativelive also has probes within the function, at places that the
 *   broker finds; function_results_find() says why they are safe. The program then reads words of
 *   the target: what malloc writes before a block, and the thread's list of blocks.
 */
int request_probe_put(struct server *s, const struct probe_put_fields *q, struct reply *rep)
{
    const struct probed *p = &PROBED[q->probes.program];
    void *program = sampler_loaded(s->sampling.sampler, p->program);
    _cleanup_target_ struct target t = TARGET_NULL;

    if (!program)
        return error_set(&rep->err, -EAGAIN, "no such set samples");
    return p->put(s, program, q, &t, &rep->err);
}

/*
 * probe_drop. Safe: ends all or some probes of probe_put.
 */
int request_probe_drop(struct server *s, const struct probe_drop_fields *q, struct reply *rep)
{
    void *program = sampler_loaded(s->sampling.sampler, PROBED[q->program].program);

    (void)rep;
    if (!program)
        return -ENOENT;
    switch (q->program) {
    case BROKER_PROBED_HEAP:
        return sampler_alloc_unprobe(program, q->host_pid);
    case BROKER_PROBED_AGENT:
        return sampler_alloc_unagent(program, q->host_pid);
    case BROKER_PROBED_MOMENTS:
        return sampler_moments_unprobe(program, q->host_pid, q->which);
    case BROKER_PROBED_YIELDS:
        return sampler_yields_unprobe(program, q->host_pid);
    default:
        return sampler_alloc_uncall(program, q->host_pid, q->which);
    }
}

/*
 * probes_begun. Safe: whether all probes of probe_put are in.
 */
int request_probes_begun(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    const struct sampler_alloc *a = sampler_loaded(s->sampling.sampler, PROGRAM_ALLOC);
    const struct sampler_moments *m = sampler_loaded(s->sampling.sampler, PROGRAM_MOMENTS);
    struct sampler_yields *y = sampler_loaded(s->sampling.sampler, PROGRAM_YIELDS);
    struct error why = ERROR_NULL;
    int r = a ? sampler_alloc_begun(a, q->host_pid, &rep->err) : -ENOENT;

    if (m)
        r = hook_and(r, sampler_moments_begun(m, q->host_pid, &why), &why, &rep->err);
    if (y)
        r = hook_and(r, sampler_yields_begun(y, q->host_pid, &why), &why, &rep->err);
    return r;
}
