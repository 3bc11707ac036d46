/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/incoming.h"

#include "profile/category.h"
#include "profile/waits.h"
#include "unwind/unwind.h"

/* Names the sample. @named: as in struct incoming. */
static void name_incoming(struct incoming *in, int named, const struct code_later *later)
{
    struct naming *n = in->naming;
    char comm[SAMPLE_COMM_BYTES + 1] = "";
    enum category category;
    unsigned end;
    struct process *p = in->process;

    memcpy(comm, in->rec->comm, SAMPLE_COMM_BYTES);
    if (later)
        symbolizer_stack_later(n->symbolizer, p, in->rec, in->frames, later, n->stack);
    else
        symbolizer_stack(n->symbolizer, p, in->rec, in->frames, named == 1, n->stack);
    in->waits = in->may_wait && in->named < 0 && n->stack->reads;
    if (in->waits)
        return;
    if (in->named < 0)
        in->thread_name =
            symbolizer_thread_name(n->symbolizer, p, (int32_t)in->rec->host_tid, comm);
    category =
        category_of(n->frames, frame_table_get_string(n->frames, in->thread_name), n->stack->frames,
                    n->stack->count, in->rec->flags & SAMPLE_IN_KERNEL, p->jvm != JVM_NO);
    end = n->stack->frozen && !n->stack->truncated ? UNWIND_END_THREAD
                                                   : in->rec->user_end % PROFILE_ENDS;
    in->flags =
        (uint16_t)(category << PROFILE_SAMPLE_CATEGORY_SHIFT | end << PROFILE_SAMPLE_END_SHIFT);
    if (n->stack->unknown)
        in->flags |= PROFILE_SAMPLE_UNKNOWN;
    if (n->stack->truncated)
        in->flags |= PROFILE_SAMPLE_TRUNCATED;
    else if (n->stack->frozen)
        in->flags |= PROFILE_SAMPLE_FROZEN;
    if (named && !in->counted) {
        in->counted = true;
        n->unknown += n->stack->unknown > 0;
        n->truncated[PROFILE_SAMPLE_END(in->flags)] += (in->flags & PROFILE_SAMPLE_CUT) != 0;
    }
    in->named = named;
}

void incoming_sample(const struct incoming *in, struct profile_sample *ret)
{
    enum thread_state state = !in->rec->wait_ns             ? STATE_NONE
                              : sample_is_runnable(in->rec) ? STATE_RUNNABLE
                                                            : STATE_BLOCKED;

    *ret = (struct profile_sample){
        .time_ns = in->rec->time_ns,
        .count = in->rec->weight,
        .flags = in->flags | (uint16_t)(state << PROFILE_SAMPLE_STATE_SHIFT),
        .mode = in->rec->flags & SAMPLE_IN_KERNEL ? SAMPLE_MODE_KERNEL : SAMPLE_MODE_USER
    };
}

void incoming_name(struct incoming *in, bool java)
{
    if (in->named != java)
        name_incoming(in, java, NULL);
}

void incoming_name_later(struct incoming *in, const struct code_later *later)
{
    name_incoming(in, 2, later);
}
