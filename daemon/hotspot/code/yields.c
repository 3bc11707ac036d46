/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions of libjvm that take a virtual thread off its carrier and bring it back; needs
 * no symbols. The compiled code of Continuation.doYield calls only `freeze`. libjvm's data holds
 * the address of `freeze` in a row of three: freeze_preempt (JDK 24 up), freeze, thaw. On aarch64
 * the row has the other order. The row counts if the stub that thaws calls its `thaw`. (21, 25, 26,
 * 27: seen.)
 */
#include "base/list.h"
#include "hotspot/areas.h"
#include "hotspot/code/code.h"

#define BLOCKS_MAX 131072 /* blocks to read of a code heap */
#define CODE_MAX 4096     /* bytes of each piece of code; 700 were seen */
#define TARGETS_MAX 16
#define PREEMPT_JDK 24 /* first JDK in which a wait for a monitor releases the carrier */
#define PAGE_WORDS (MEMORY_PAGE / 8)

/* ---- the row of addresses ---- */

struct targets {
    uint64_t at[TARGETS_MAX];
    size_t count;
};

static bool has_target(const struct targets *t, uint64_t at)
{
    return ANY_OF(i, t->count, t->at[i] == at);
}

/* Gets the target of a call through rax. Code farther than 2 GB from libjvm has such calls, too:
 *   48 b8 imm64, ff d0          mov rax, call rax */
static bool far_target(const uint8_t *p, size_t n, uint64_t *ret)
{
    if (n < 12 || p[0] != 0x48 || p[1] != 0xb8 || p[10] != 0xff || p[11] != 0xd0)
        return false;
    memcpy(ret, p + 2, sizeof(*ret));
    return true;
}

/* Finds the functions of libjvm that the code @r calls. Return: 0; -ENOENT: too many functions;
 * -errno. */
static int find_targets(struct hotspot_vm *vm, struct vm_range r, struct targets *ret)
{
    uint8_t code[CODE_MAX];
    size_t n = (size_t)MIN(r.end - r.start, (uint64_t)sizeof(code));
    int k = memory_read(&vm->memory, r.start, code, n);
    uint64_t target;

    ret->count = 0;
    for (size_t i = 0; k == 0 && i < n; i++) {
        bool calls = code_call_target(vm, code + i, n - i, r.start + i, &target) ||
                     far_target(code + i, n - i, &target);

        if (!calls || has_target(ret, target) || !code_is_function(vm, target))
            continue;
        if (ret->count == TARGETS_MAX)
            return -ENOENT;
        ret->at[ret->count++] = target;
    }
    return k;
}

/* The search for the row. */
struct search {
    uint64_t freeze;
    struct targets thaws;
    uint64_t before, word; /* the last two words */
    struct hotspot_yields *ret;
    unsigned found;
};

static void see_row(struct search *s, uint64_t thaw, uint64_t preempt)
{
    if (thaw == s->freeze || !has_target(&s->thaws, thaw))
        return;
    s->found += s->ret->thaw != thaw || s->ret->preempt != preempt;
    s->ret->thaw = thaw;
    s->ret->preempt = preempt;
}

/* Handles s->word. @next is the word behind it. */
static void see_word(struct search *s, uint64_t next)
{
    if (s->word == s->freeze) {
        see_row(s, next, s->before);
        see_row(s, s->before, next);
    }
    s->before = s->word;
    s->word = next;
}

static int search_data(struct hotspot_vm *vm, struct search *s)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t words[PAGE_WORDS], at = l->data_start & ~(uint64_t)(MEMORY_PAGE - 1);

    for (uint32_t i = 0; i < STUBS_PAGES_MAX && at < l->data_end; i++, at += MEMORY_PAGE) {
        int r = memory_read_direct(&vm->memory, at, words, sizeof(words));

        if (r == -ESRCH)
            return r;
        for (size_t k = 0; k < PAGE_WORDS; k++)
            see_word(s, r == 0 ? words[k] : 0);
    }
    return 0;
}

int yields_search(struct hotspot_vm *vm, struct vm_range yield, struct vm_range thaw,
                  struct hotspot_yields *ret)
{
    struct search s = { .ret = ret };
    struct targets freezes;
    int r = find_targets(vm, yield, &freezes) ?: find_targets(vm, thaw, &s.thaws);

    if (r == 0 && freezes.count != 1)
        r = -ENOENT;
    if (r < 0)
        return r;
    ret->freeze = s.freeze = freezes.at[0];
    r = search_data(vm, &s);
    if (r < 0)
        return r;
    if (vm->layout.jdk < PREEMPT_JDK)
        ret->preempt = 0;
    else if (!code_is_function(vm, ret->preempt) || ret->preempt == ret->freeze ||
             ret->preempt == ret->thaw)
        return -ENOENT;
    return s.found == 1 ? 0 : -ENOENT;
}

/* ---- the code that leads there ---- */

struct code_found {
    struct vm_range yield;
};

static int see_block(void *cookie, struct hotspot_vm *vm, uint64_t blob, uint64_t end)
{
    struct code_found *found = cookie;
    struct hotspot_method m;
    struct hotspot_code code;
    int r = code_read(vm, blob, end, /* live= */ true, &code);

    if (r < 0 || code.kind != HOTSPOT_CODE_NATIVE)
        return r == -ESRCH ? r : 0;
    r = method_names(vm, code.method, &m);
    if (r < 0 ||
        !span_eq_str((struct span){ m.class_name, m.class_name_n },
                     "jdk/internal/vm/Continuation") ||
        !span_eq_str((struct span){ m.name, m.name_n }, "doYield"))
        return r == -ESRCH ? r : 0;
    found->yield = (struct vm_range){ code.start, code.end };
    return 1;
}

/* Finds the offsets of fields in objects. Return: 0; -ENOENT; -EAGAIN: no virtual thread was made
 * yet; -errno. */
static int find_offsets(struct hotspot_vm *vm, struct yields_vm *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    int r = thread_layout_ready(vm) ?: virtual_layout_ready(vm, UINT64_MAX);

    if (r != 0)
        return r > 0 ? -EAGAIN : r;
    if (!layout_has(l->thread_vthread) || !vm->virtual_layout.yielding || !vm->virtual_layout.ended)
        return -ENOENT;
    ret->owner_id = layout_has(l->thread_owner_id) ? (uint32_t)l->thread_owner_id.offset : 0;
    ret->own = (uint32_t)l->thread_object.offset;
    ret->tid = vm->thread_layout.tid;
    ret->state = vm->virtual_layout.state;
    ret->yielding = vm->virtual_layout.yielding;
    ret->ended = vm->virtual_layout.ended;
    return 0;
}

static int run_yields(struct hotspot_vm *vm, void *arg)
{
    static const char *const THAWS[] = { "cont_thaw", "Cont thaw" };
    struct code_found found = { .yield = { 0 } };
    struct hotspot_yields *ret = arg;
    const struct stub *thaw;
    int r;

    memory_begin(&vm->memory);
    r = find_offsets(vm, &ret->vm);
    if (r < 0)
        return r;
    stubs_update(vm);
    thaw = stubs_find_named(vm, THAWS, ARRAY_SIZE(THAWS));
    if (!thaw)
        return -ENOENT;
    r = codecache_blocks(vm, BLOCKS_MAX, see_block, &found);
    if (r <= 0)
        return r < 0 ? r : -EAGAIN; /* no virtual thread has yielded yet */
    return yields_search(vm, found.yield, (struct vm_range){ thaw->start, thaw->end }, ret);
}

int hotspot_vm_yields(struct hotspot_vm *vm, struct hotspot_yields *ret)
{
    struct hotspot_yields y = { 0 };
    int r;

    if (vm->layout.jdk < 21 || vm->proof.objects_off)
        return -ENOENT;
    r = vm_call(vm, run_yields, &y, sizeof(y));
    if (r == 0)
        *ret = y;
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
