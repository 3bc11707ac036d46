/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that put probes into processes, and take them out.
 */
#include "base/cleanup.h"
#include "broker/function_start.h"
#include "broker/mapped.h"
#include "broker/probed_file.h"
#include "broker/target/agent_files.h"
#include "sample/sampler.h"
#include "sample/sampler_alloc.h"
#include "sample/uprobe_hook.h"

_Static_assert((int)BROKER_PROBE_IN_NEW_TLAB == (int)ALLOC_IN_NEW_TLAB &&
                   (int)BROKER_PROBE_OUTSIDE_TLAB == (int)ALLOC_OUTSIDE_TLAB &&
                   (int)BROKER_PROBE_ALLOCATORS == (int)ALLOC_C2_INSTANCE &&
                   (int)BROKER_PROBE_KINDS == (int)ALLOC_KINDS &&
                   BROKER_PROBES_MAX == ALLOC_PROBES_MAX,
               "the probes of both sides");
_Static_assert((int)BROKER_MALLOC_FIRST == (int)ALLOC_MALLOC_FIRST &&
                   (int)BROKER_MALLOC_SECOND == (int)ALLOC_MALLOC_SECOND &&
                   (int)BROKER_MALLOC_SECOND_OF_OLD == (int)ALLOC_MALLOC_SECOND_OF_OLD &&
                   (int)BROKER_MALLOC_THIRD == (int)ALLOC_MALLOC_THIRD &&
                   (int)BROKER_MALLOC_THIRD_OF_LARGE == (int)ALLOC_MALLOC_THIRD_OF_LARGE &&
                   (int)BROKER_MALLOC_PRODUCT == (int)ALLOC_MALLOC_PRODUCT &&
                   (int)BROKER_MALLOC_FREE == (int)ALLOC_MALLOC_FREE &&
                   (int)BROKER_MALLOC_RESULT <= (int)ALLOC_MALLOC_RESULT,
               "the arguments of both sides");

/* Where probes of @t are put: in its file @fd, which is borrowed as @t is. */
static struct uprobe_target target_of(const struct target *t, int fd)
{
    return (struct uprobe_target){ .pid = t->host_pid, .pidfd = t->pidfd, .fd = fd };
}

/* Gets where the probes @asked may stand in the file @fd, into @ret. */
static int check_probes(int fd, const struct broker_probes *asked,
                        struct alloc_probe ret[BROKER_PROBES_MAX], struct error *err)
{
    for (uint32_t i = 0; i < asked->count; i++) {
        int r = function_start_check(fd, asked->probes[i].offset, &ret[i].offset, err);

        if (r < 0)
            return r;
        ret[i].kind = (enum alloc_kind)asked->probes[i].kind;
    }
    return 0;
}

/*
 * probe. Safe: only in the libjvm.so that the target has mapped to execute, opened as `mapped`
 * opens it, for this process alone, while a set of such events runs. flamed chooses no offset
 * freely: each is the first instruction of a function by the file's own table, one that the kernel
 * emulates. No probe at a return. The program is fixed; what it reads of the target it reads with
 * the target's own rights. An opener opens the file. Its end is a link's, which ends with this
 * process. flamed asks again until they are in: those that are there stay. (So it is with the
 * other probes.)
 */
int request_probe(struct server *s, const struct probe_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    const struct broker_probes *asked = &q->probes;
    struct alloc_probe probes[BROKER_PROBES_MAX];
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    struct alloc_vm vm;
    int r = probed_file_open(s, &q->at, PROBED_LIBJVM, &t, &fd, &rep->err);

    if (r)
        return r;
    r = check_probes(fd, asked, probes, &rep->err);
    for (uint32_t i = 0; r == 0 && i < asked->count; i++)
        r = mapped_check_code(&t, &q->at, fd, probes[i].offset, &rep->err);
    if (r)
        return r;
    vm = (struct alloc_vm){ .allocated_bytes = asked->allocated_bytes,
                            .tlab_start = asked->tlab_start,
                            .tlab_top = asked->tlab_top,
                            .tlab_end = asked->tlab_end,
                            .layout_helper = asked->layout_helper,
                            .element_klass = asked->element_klass,
                            .resolved_klasses = asked->resolved_klasses,
                            .pool_bytes = asked->pool_bytes,
                            .reference_bytes = asked->reference_bytes };
    at = target_of(&t, fd);
    return sampler_probe(s->sampler, &at, &vm, probes, asked->count, &rep->err);
}

/*
 * unprobe. Safe: ends what probe began.
 */
int request_unprobe(struct server *s, const struct unprobe_fields *q, struct reply *rep)
{
    (void)rep;
    if (!s->sampler)
        return -ENOENT;
    return q->where == BROKER_PROBED_AGENT ? sampler_unagent(s->sampler, q->host_pid)
                                           : sampler_unprobe(s->sampler, q->host_pid);
}

/*
 * agent_probe. Safe: at one place, which flamed does not choose: a function of the agent of this
 * build that does nothing. The file is the sealed one that the broker gave this process, or that
 * the process has mapped, compared byte by byte. For this process alone, while such a set runs. The
 * program reads two words by what that function was given, and one that flamed names, with the
 * target's own rights.
 */
int request_agent_probe(struct server *s, const struct agent_probe_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    uint64_t offset = agents_probe_offset();
    struct uprobe_target at;
    int agent = -1, r;

    if (!s->sampler)
        return error_set(&rep->err, -EAGAIN, "no sampling is under way");
    r = target_pin(s, &q->target, &t, &rep->err);
    if (r == 0)
        r = server_refuse_own(s, t.host_pid, &rep->err);
    if (r == 0)
        r = target_need_thread(&t, &rep->err);
    if (r == 0)
        r = probed_file_refuse_served(s, &q->target, &t, &rep->err);
    if (r == 0)
        r = agents_get(&s->agents, &t, q->target.start_ticks, &agent, &rep->err);
    if (r == 0)
        r = function_start_check(agent, offset, &offset, &rep->err);
    if (r)
        return r;
    at = target_of(&t, agent);
    return sampler_agent(s->sampler, &at, q->class_klass, q->collections, offset, &rep->err);
}

/*
 * sample_agents. Safe: from where a set that flamed began has its samples.
 */
int request_sample_agents(struct server *s, const struct set_fields *q, struct reply *rep)
{
    (void)rep;
    return s->sampler ? sampler_by_agents(s->sampler, q->set) : -ENOENT;
}

/* The places of a function that may have a probe. */
struct places {
    struct function_result all[FUNCTION_RESULTS_MAX];
    size_t count;
};

/* Opens the file mapped @at for probes at the function that begins at @offset of it, or within it,
 * where results are (@results). *ret_fd is the file; @ret: where the probes go. */
static int open_call(struct server *s, const struct mapping_fields *at, struct target *t,
                     uint64_t offset, bool results, struct places *ret, int *ret_fd,
                     struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = probed_file_open(s, at, PROBED_ANY, t, &fd, err);

    if (r)
        return r;
    ret->count = 0;
    if (results)
        r = function_results_find(fd, offset, ret->all, &ret->count, err);
    else
        r = function_start_check(fd, offset, &offset, err);
    if (r == 0 && !results)
        ret->all[ret->count++] = (struct function_result){ .offset = offset };
    for (size_t i = 0; r == 0 && i < ret->count; i++)
        r = mapped_check_code(t, at, fd, ret->all[i].offset, err);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}

/*
 * call. Safe: as probe, but at one function of any file that the target has mapped to execute, and
 * the program reads nothing of the target but its stack. In flamed's own processes and the host's
 * init never. One for a set and process, ALLOC_TARGET_MAX probes of a process.
 */
int request_call(struct server *s, const struct call_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    struct places places;
    int r = open_call(s, &q->at, &t, q->offset, /* results= */ false, &places, &fd, &rep->err);

    if (r)
        return r;
    at = target_of(&t, fd);
    return sampler_call(s->sampler, &at, q->set, places.all[0].offset, &rep->err);
}

/*
 * malloc. Safe: as call, and the program reads three arguments of the function besides. Several for
 * a set and process, ALLOC_TARGET_MAX probes of a process. For event nativelive there are probes
 * within the function, too, at places that the broker finds: function_results_find() says why they
 * are safe. The program then reads words of the target, with the target's own rights: what malloc
 * writes before a block, and the thread's list of blocks.
 */
int request_malloc(struct server *s, const struct malloc_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int fd = -1;
    struct uprobe_target at;
    const struct broker_malloc *m = &q->function;
    bool results = m->argument == BROKER_MALLOC_RESULT;
    struct places places;
    int r = open_call(s, &q->at, &t, m->offset, results, &places, &fd, &rep->err);

    if (r)
        return r;
    at = target_of(&t, fd);
    for (size_t i = 0; i < places.count && (r == 0 || r == -EINPROGRESS); i++) {
        int k = sampler_malloc(s->sampler, &at, q->set, places.all[i].offset,
                               results ? ALLOC_MALLOC_RESULT + places.all[i].reg : m->argument,
                               &rep->err);

        r = k < 0 ? k : r;
    }
    return r;
}

/*
 * probes_begun. Safe: whether what the others of these began is done.
 */
int request_probes_begun(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    return s->sampler ? sampler_probes_begun(s->sampler, q->host_pid, &rep->err) : -ENOENT;
}

/*
 * mallocs. Safe: a number that a program counted of what malloc began.
 */
int request_mallocs(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    return s->sampler ? sampler_mallocs(s->sampler, q->host_pid, &rep->body.mallocs.calls)
                      : -ENOENT;
}

/*
 * uncall. Safe: ends what call or malloc began.
 */
int request_uncall(struct server *s, const struct uncall_fields *q, struct reply *rep)
{
    (void)rep;
    return s->sampler ? sampler_uncall(s->sampler, q->host_pid, q->set) : -ENOENT;
}
