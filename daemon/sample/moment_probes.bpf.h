/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of a JVM as a whole: safepoints, operations of the VM, collections, compilations, classes.
 * libjvm.so marks their places (USDT). moment_probe reports events, and name_probe those with
 * names.
 */
#pragma once

#include "sample/stack.bpf.h"

#include "sample/moment_abi.h"

#include "sample/counters.bpf.h"
#include "sample/probe_stack.bpf.h"

/* Written by the loader. */
__u64 periods[STACK_SETS_MAX]; /* ns between ticks; 0: no set of this program */

/* By process id. */
MAP(vms, HASH, MOMENT_PROCESSES_MAX, __u32, struct moment_process);

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, MOMENT_RING_BYTES);
} moments SEC(".maps");

/* Returns the sets of this program that want process @host_pid, as bits. */
static __always_inline __u32 moment_sets(__u32 host_pid)
{
    __u32 sets = wanted_sets(host_pid);

    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (!periods[i])
            sets &= ~(1U << i);
    }
    return sets;
}

/* ---- operands ---- */

/* Returns the operand's value; 0: there is none, or it is unreadable. */
static __always_inline __u64 operand_value(const __u64 *regs, const struct moment_operand *o)
{
    __u64 value = regs[o->reg & (PROBE_REGISTERS - 1)];

    if (o->where == MOMENT_NOWHERE)
        return 0;
    if (o->where == MOMENT_IN_MEMORY &&
        bpf_probe_read_user(&value, sizeof(value), (void *)(value + o->disp)))
        return 0;
    return o->bytes == sizeof(__u32) ? (__u32)value : value;
}

/* Returns the place of a probe. NULL: @cookie is invalid. */
static __always_inline struct moment_place *place_of(struct moment_process *p, __u64 cookie)
{
    __u64 place = MOMENT_COOKIE_PLACE(cookie);

    asm volatile("" : "+r"(place)); /* older verifiers forget the bound of a copy */
    return place < MOMENT_PLACES_MAX ? &p->places[place] : NULL;
}

/* ---- probes ---- */

/* Fills in the members that all records have. */
static __always_inline void begin_moment(struct moment_record *rec, __u64 cookie)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();

    rec->time_ns = bpf_ktime_get_ns();
    rec->kind = MOMENT_COOKIE_KIND(cookie);
    rec->exec_id = (__u32)task->self_exec_id;
    rec->start_boottime_ns = task->group_leader->start_boottime;
    rec->host_pid = process_number(task);
    rec->host_tid = thread_number(task);
}

/* Returns the process of @rec; NULL: the probe is being removed. */
static __always_inline struct moment_process *process_of(const struct moment_record *rec,
                                                         __u64 cookie)
{
    __u32 host_pid = rec->host_pid;
    struct moment_process *p = bpf_map_lookup_elem(&vms, &host_pid);

    return p && p->epoch == MOMENT_COOKIE_EPOCH(cookie) ? p : NULL;
}

/* Counts @rec as lost for lack of room, for each set that wants its process. */
static __always_inline void lose_moment(const struct moment_record *rec)
{
    count(STACK_LOST_RING, 1);
    lose(rec->start_boottime_ns, rec->host_pid, moment_sets(rec->host_pid), /* costly= */ false);
}

/* Writes @rec to the ring. Returns false if there was no room. */
static __always_inline bool write_moment(const struct moment_record *rec)
{
    if (!bpf_ringbuf_output(&moments, (void *)rec, sizeof(*rec), BPF_RB_NO_WAKEUP))
        return true;
    lose_moment(rec);
    return false;
}

/* Runs at probes of MOMENT_GROUP_STOPS. */
SEC("uprobe")
int moment_probe(probe_registers *ctx)
{
    __u64 cookie = bpf_get_attach_cookie(ctx), regs[PROBE_REGISTERS], name;
    struct moment_record rec = {};
    struct moment_process *p;
    struct moment_place *place;

    use_thread_stack(ctx);
    begin_moment(&rec, cookie);
    p = process_of(&rec, cookie);
    place = p ? place_of(p, cookie) : NULL;
    if (!place)
        return 0;
    /* From the begin of a safepoint to its first operation or its end, the VM waits for its
     * threads. */
    if (rec.kind <= MOMENT_OPERATION_BEGIN)
        p->since_ns = rec.kind == MOMENT_SAFEPOINT_BEGIN ? rec.time_ns : 0;
    take_registers(ctx, regs);
    name = operand_value(regs, &place->operands[MOMENT_OPERAND_NAME]);
    if (name && bpf_probe_read_user_str(rec.name, sizeof(rec.name), (void *)name) < 0)
        rec.name[0] = '\0';
    write_moment(&rec);
    return 0;
}

/* ---- probes with names ---- */

/* Counts a hit. Returns true if this second has too many. */
static __always_inline bool is_too_often(struct moment_pace *pace, __u64 now_ns)
{
    if (now_ns - pace->since_ns >= 1000000000) {
        pace->since_ns = now_ns;
        pace->hits = 0;
    }
    return ++pace->hits >
           MOMENT_OFTEN; /* not atomic: of two hits at the same time, one may not be counted */
}

/* Reads the beginning of a text of @n bytes. Returns its full length; 0: none, or unreadable. */
static __always_inline __u32 take_text(char *to, __u32 max, __u64 from, __u64 n)
{
    __u64 all = (__u32)n, got = all;

    if (!from)
        return 0;
    asm volatile("" : "+r"(got)); /* older verifiers forget a bound that is found earlier */
    if (got > max)
        got = max;
    return bpf_probe_read_user(to, got, (void *)from) ? 0 : (__u32)all;
}

/* Writes @rec to the ring, with the names behind it. */
static __always_inline void write_named(const struct moment_record *rec, probe_registers *ctx,
                                        const struct moment_place *place)
{
    struct moment_named *n = bpf_ringbuf_reserve(&moments, sizeof(*n), 0);
    __u64 regs[PROBE_REGISTERS], compiler;

    if (!n) {
        lose_moment(rec);
        return;
    }
    take_registers(ctx, regs);
    n->rec = *rec;
    n->names.class_n = take_text(n->names.class_name, MOMENT_CLASS_BYTES,
                                 operand_value(regs, &place->operands[MOMENT_OPERAND_CLASS]),
                                 operand_value(regs, &place->operands[MOMENT_OPERAND_CLASS_BYTES]));
    n->names.method_n =
        take_text(n->names.method, MOMENT_METHOD_BYTES,
                  operand_value(regs, &place->operands[MOMENT_OPERAND_METHOD]),
                  operand_value(regs, &place->operands[MOMENT_OPERAND_METHOD_BYTES]));
    compiler = operand_value(regs, &place->operands[MOMENT_OPERAND_COMPILER]);
    if (compiler && bpf_probe_read_user_str(n->rec.name, sizeof(n->rec.name), (void *)compiler) < 0)
        n->rec.name[0] = '\0';
    bpf_ringbuf_submit(n, BPF_RB_NO_WAKEUP);
}

/* Runs at probes of the other groups. */
SEC("uprobe")
int name_probe(probe_registers *ctx)
{
    __u64 cookie = bpf_get_attach_cookie(ctx);
    struct moment_record rec = {};
    struct moment_process *p;
    struct moment_place *place;
    struct moment_pace *pace;
    bool often;
    __u32 group;

    use_thread_stack(ctx);
    begin_moment(&rec, cookie);
    p = process_of(&rec, cookie);
    place = p ? place_of(p, cookie) : NULL;
    if (!place)
        return 0;
    group = moment_group_of(rec.kind);
    pace = &p->paces[group];
    if (pace->off)
        return 0;
    often = rec.kind != MOMENT_COMPILE_END && is_too_often(pace, rec.time_ns);
    if (often)
        rec.kind = group == MOMENT_GROUP_COMPILED ? MOMENT_OFTEN_COMPILED : MOMENT_OFTEN_CLASSES;
    if (moment_has_names(rec.kind))
        write_named(&rec, ctx, place);
    else if (write_moment(&rec) && often) /* if the report is lost, the next hit repeats it */
        pace->off = 1;
    return 0;
}
