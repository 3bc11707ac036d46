/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the instructions of an nmethod, and the edges that the instructions do not show. */
#include "base/list.h"
#include "base/u64_cache.h"
#include "hotspot/code/leaf_calls.h"
#include "hotspot/code/leaf_map.h"

#define HANDLER_BYTES 12 /* HandlerTableEntry: bci or count, code offset, depth */
#define IMPLICIT_BYTES 4 /* ImplicitExceptionTable: a count, then pairs */

void leaf_material_deinit(struct leaf_material *m)
{
    free(TAKE_PTR(m->instructions));
    free(TAKE_PTR(m->traps));
    free(TAKE_PTR(m->handlers));
    free(TAKE_PTR(m->tables));
    free(TAKE_PTR(m->records));
    free(TAKE_PTR(m->chains));
    free(TAKE_PTR(m->scopes));
    free(TAKE_PTR(m->frames));
    free(TAKE_PTR(m->methods));
    free(TAKE_PTR(m->addresses));
    free(TAKE_PTR(m->wanted));
    free(TAKE_PTR(m->spans));
    free(TAKE_PTR(m->invokes));
    free(TAKE_PTR(m->signs));
    free(TAKE_PTR(m->code));
}

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* Reads all of [@begin, @end) of the target. 0 and *ret, owned by the caller; -E2BIG; -errno. */
static int read_all(struct hotspot_vm *vm, uint64_t begin, uint64_t end, size_t max, uint8_t **ret)
{
    uint8_t *p;
    int r;

    if (end - begin > max)
        return -E2BIG;
    p = malloc((size_t)(end - begin) + 1);
    if (!p)
        return -ENOMEM;
    r = memory_read(&vm->memory, begin, p, (size_t)(end - begin));
    if (r < 0)
        free(p);
    else
        *ret = p;
    return r;
}

/* Reads the table of implicit exceptions: pairs of the offset that faults and the offset where the
 * code goes on. */
static int read_traps(struct hotspot_vm *vm, const struct blob *b, struct leaf_material *m)
{
    _cleanup_free_ uint8_t *p = NULL;
    uint32_t count;
    int r;

    if (b->implicit_end - b->implicit < 3 * IMPLICIT_BYTES)
        return 0;
    r = memory_u32(&vm->memory, b->implicit, &count);
    if (r < 0 || count > (b->implicit_end - b->implicit - IMPLICIT_BYTES) / (2 * IMPLICIT_BYTES))
        return r; /* an empty table has no count */
    r = read_all(vm, b->implicit + IMPLICIT_BYTES,
                 b->implicit + IMPLICIT_BYTES + (uint64_t)count * 2 * IMPLICIT_BYTES,
                 LEAF_WAYS_MAX * 2 * IMPLICIT_BYTES, &p);
    if (r < 0)
        return r;
    m->traps = calloc((size_t)count + 1, sizeof(*m->traps));
    if (!m->traps)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        m->traps[i] =
            (struct leaf_way){ get_u32(p + 8 * (size_t)i), get_u32(p + 8 * (size_t)i + 4) };
    m->in.ways.traps = m->traps;
    m->in.ways.trap_count = count;
    return 0;
}

/* Reads the table of exception handlers. For each call it has the offset behind the call and the
 * number of rows that follow. */
static int read_handlers(struct hotspot_vm *vm, const struct blob *b, struct leaf_material *m)
{
    size_t rows = (size_t)(b->handlers_end - b->handlers) / HANDLER_BYTES, n = 0;
    _cleanup_free_ uint8_t *p = NULL;
    int r;

    if (rows == 0)
        return 0;
    r = read_all(vm, b->handlers, b->handlers + rows * HANDLER_BYTES, LEAF_WAYS_MAX * HANDLER_BYTES,
                 &p);
    if (r < 0)
        return r;
    m->handlers = calloc(rows, sizeof(*m->handlers));
    if (!m->handlers)
        return -ENOMEM;
    for (size_t i = 0; i < rows;) {
        size_t left = MIN(get_u32(p + i * HANDLER_BYTES), rows - i - 1);
        uint32_t from = get_u32(p + i * HANDLER_BYTES + 4);

        for (i++; left > 0; left--, i++)
            m->handlers[n++] = (struct leaf_way){ from, get_u32(p + i * HANDLER_BYTES + 4) };
    }
    m->in.ways.handlers = m->handlers;
    m->in.ways.handler_count = n;
    return 0;
}

/* Reads the constants before the code. A word that is an address in the code is a target of table
 * jumps. */
static int read_tables(struct hotspot_vm *vm, const struct blob *b, struct leaf_material *m)
{
    uint64_t end = b->code_begin & ~UINT64_C(7),
             begin = MIN((b->constants + 7) & ~UINT64_C(7), end);
    uint64_t from = MAX(begin, end - MIN(end, LEAF_WAYS_MAX * 8));
    _cleanup_free_ uint8_t *p = NULL;
    size_t words = (size_t)(end - from) / 8, n = 0;
    int r = read_all(vm, from, end, LEAF_WAYS_MAX * 8, &p);

    if (r < 0)
        return r;
    m->tables = calloc(words + 1, sizeof(*m->tables));
    if (!m->tables)
        return -ENOMEM;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;

        memcpy(&word, p + 8 * i, sizeof(word));
        if (word > b->code_begin && word < b->code_end)
            m->tables[n++] = (uint32_t)(word - b->code_begin);
    }
    m->in.ways.tables = m->tables;
    m->in.ways.table_count = n;
    return 0;
}

static bool has_table_jump(const struct leaf_material *m)
{
    return ANY_OF(i, m->in.instruction_count,
                  m->instructions[i].flow == LEAF_JUMP &&
                      m->instructions[i].target == LEAF_NO_TARGET);
}

/* Classifies the calls out of the @bytes of code of @b. Returns 0 or -E2BIG. */
static int mark_calls(struct hotspot_vm *vm, struct u64_cache *stubs, const struct blob *b,
                      size_t bytes, struct leaf_material *m)
{
    _cleanup_(u64_cache_deinit) struct u64_cache known;
    uint32_t flow, left = LEAF_TARGETS_MAX;

    u64_cache_init(&known, 2 * LEAF_TARGETS_MAX);
    for (size_t i = 0; i < m->in.instruction_count; i++) {
        struct leaf_instruction *in = &m->instructions[i];
        uint64_t target = b->code_begin + (uint64_t)in->target;

        if (in->flow != LEAF_CALL || in->target == LEAF_NO_TARGET)
            continue;
        if (in->target >= 0 && (uint64_t)in->target < bytes &&
            !(m->in.aarch64 && leaf_trampoline(m->in.code, (size_t)in->target, &target)))
            continue;
        if (!u64_cache_get(&known, target, &flow)) {
            if (left-- == 0)
                return -E2BIG;
            flow = leaf_call_flow(vm, stubs, target);
            u64_cache_put(&known, target, flow);
        }
        in->flow = (uint8_t)flow;
    }
    return 0;
}

static int read_instructions(struct hotspot_vm *vm, struct u64_cache *stubs, const struct blob *b,
                             struct leaf_material *m)
{
    size_t bytes = (size_t)(b->code_end - b->code_begin), max = MIN(bytes, LEAF_INSTRUCTIONS_MAX);
    size_t constants = (size_t)MIN(b->code_begin - b->constants, LEAF_CONSTANTS_BYTES_MAX);
    int r = read_all(vm, b->code_begin - constants, b->code_end,
                     LEAF_CODE_BYTES_MAX + LEAF_CONSTANTS_BYTES_MAX, &m->code);

    if (r < 0)
        return r;
    m->in.constants = (struct span){ (const char *)m->code, constants };
    m->in.code = (struct span){ (const char *)m->code + constants, bytes };
    m->instructions = malloc((max + 1) * sizeof(*m->instructions));
    if (!m->instructions)
        return -ENOMEM;
    m->in.instructions = m->instructions;
    m->in.aarch64 = vm->layout.aarch64;
    m->in.instruction_count = m->in.aarch64 ? leaf_decode_aarch64(m->in.code, m->instructions, max)
                                            : leaf_decode(m->in.code, m->instructions, max);
    return m->in.instruction_count > max ? -E2BIG : mark_calls(vm, stubs, b, bytes, m);
}

int leaf_read_code(struct hotspot_vm *vm, struct u64_cache *stubs, const struct blob *b,
                   struct leaf_material *ret)
{
    int r = read_instructions(vm, stubs, b, ret) ?: read_traps(vm, b, ret) ?:
            read_handlers(vm, b, ret);

    if (r == 0 && has_table_jump(ret))
        r = read_tables(vm, b, ret);
    return r;
}
