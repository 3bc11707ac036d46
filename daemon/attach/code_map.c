/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and keeps the agent's records. */
#include "attach/code_map_impl.h"

#include "base/memory_guard.h"

#include <search.h>

#define ALIGNMENT 8u
/* Memory of a piece: itself, its place in the order, and its node of the tree. */
#define PIECE_BYTES (sizeof(struct piece) + sizeof(uint32_t) + sizeof(uint64_t) + 32)

int code_map_new(struct shares *memory, uint64_t owner, struct code_map **ret)
{
    struct code_map *m = calloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    m->memory = memory;
    m->owner = owner;
    *ret = m;
    return 0;
}

static void keep_node(void *unused)
{
    (void)unused;
}

struct code_map *code_map_free(struct code_map *m)
{
    if (!m)
        return NULL;
    while (m->chunks) {
        struct chunk *c = m->chunks;

        m->chunks = c->next;
        free(c);
    }
    tdestroy(m->alive, keep_node);
    for (size_t i = 0; i < ARRAY_SIZE(m->blocks); i++)
        free(m->blocks[i]);
    free(m->methods);
    free(m->order);
    free(m->reach);
    if (m->memory)
        shares_give(m->memory, m->owner, m->stats.bytes);
    free(m);
    return NULL;
}

/* Charges @n more bytes. False: there is no room for them. */
static bool afford(struct code_map *m, size_t n)
{
    if (n > CODE_MAP_MAX_BYTES - m->stats.bytes ||
        (m->memory ? n > shares_room_lasting(m->memory, m->owner) : !memory_guard_admits(n)))
        return false;
    if (m->memory)
        shares_force(m->memory, m->owner, n);
    m->stats.bytes += n;
    return true;
}

static int drop(struct code_map *m, uint64_t records)
{
    m->stats.dropped += records;
    return 0;
}

/* ---- records ---- */

/* Returns the record's bytes after its head struct of @head_n bytes. */
static struct span behind(struct span record, size_t head_n)
{
    return span_from(record, head_n);
}

static int take_method(struct code_map *m, struct span record)
{
    struct stream_method h;
    struct span rest = behind(record, sizeof(h));
    size_t strings, lines;

    if (record.n < sizeof(h))
        return -EBADMSG;
    memcpy(&h, record.p, sizeof(h));
    strings = ((size_t)h.class_n + h.name_n + h.signature_n + h.file_n + 3) / 4 * 4;
    if (strings > rest.n)
        return -EBADMSG;
    lines = (size_t)h.line_count * sizeof(struct stream_line);
    if (h.id == 0 || lines > rest.n - strings)
        return -EBADMSG;
    if (h.id > CODE_MAP_METHODS_MAX)
        return drop(m, 1);
    if (h.id > m->method_cap) {
        uint32_t cap = MIN(MAX(h.id, m->method_cap * 2 + 256), CODE_MAP_METHODS_MAX);
        struct method *more;

        if (!afford(m, (cap - m->method_cap) * sizeof(*more)))
            return drop(m, 1);
        more = realloc(m->methods, cap * sizeof(*more));
        if (!more)
            return -ENOMEM;
        memset(more + m->method_cap, 0, (cap - m->method_cap) * sizeof(*more));
        m->methods = more;
        m->method_cap = cap;
    }
    m->stats.methods += m->methods[h.id - 1].head.id == 0;
    m->methods[h.id - 1] = (struct method){ h, rest.p, strings ? rest.p + strings : rest.p };
    return 0;
}

static int add_piece(struct code_map *m, const struct piece *p)
{
    struct piece **block;

    if (p->start >= p->end) /* the piece is empty, or goes beyond the address space */
        return 0;
    if (m->piece_count == CODE_MAP_PIECES_MAX)
        return drop(m, 1);
    block = &m->blocks[m->piece_count / PIECE_BLOCK];
    if (!*block) {
        if (!afford(m, PIECE_BLOCK * PIECE_BYTES))
            return drop(m, 1);
        *block = malloc(PIECE_BLOCK * sizeof(**block));
        if (!*block)
            return -ENOMEM;
    }
    *piece_at(m, m->piece_count) = *p;
    if (!p->stub && !code_map_live(m, piece_at(m, m->piece_count)))
        return -ENOMEM;
    m->piece_count++;
    m->stats.pieces++;
    return 0;
}

/* Returns whether @pcs is exactly @count well-formed pcs of a load. */
static bool pcs_valid(struct span pcs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct stream_pc pc;

        if (pcs.n < sizeof(pc))
            return false;
        memcpy(&pc, pcs.p, sizeof(pc));
        if (pc.frame_count > CODE_MAP_FRAMES_MAX ||
            (size_t)pc.frame_count * sizeof(struct stream_frame) > pcs.n - sizeof(pc))
            return false;
        pcs = span_from(pcs, sizeof(pc) + pc.frame_count * sizeof(struct stream_frame));
    }
    return true;
}

static int take_load(struct code_map *m, struct span record)
{
    struct stream_load h;
    struct piece p;

    if (record.n < sizeof(h))
        return -EBADMSG;
    memcpy(&h, record.p, sizeof(h));
    if (!pcs_valid(behind(record, sizeof(h)), h.pc_count))
        return -EBADMSG;
    p = (struct piece){
        .start = h.address,
        .end = h.address + h.code_bytes,
        .from_ns = h.r.flags & STREAM_FLAG_REPLAYED ? 0 : h.r.time_ns,
        .to_ns = UINT64_MAX,
        .method = h.method,
        .pc_count = h.pc_count,
        .detail = record.p + sizeof(h),
    };
    code_map_end(m, p.start, p.end, h.r.time_ns);
    return add_piece(m, &p);
}

static int take_stub(struct code_map *m, struct span record)
{
    struct stream_stub h;
    struct piece p;

    if (record.n < sizeof(h))
        return -EBADMSG;
    memcpy(&h, record.p, sizeof(h));
    if (h.name_n > record.n - sizeof(h))
        return -EBADMSG;
    p = (struct piece){
        .start = h.address,
        .end = h.address + h.code_bytes,
        .to_ns = UINT64_MAX,
        .stub = true,
        .name_n = h.name_n,
        .detail = record.p + sizeof(h),
    };
    return add_piece(m, &p);
}

static int take_unload(struct code_map *m, struct span record)
{
    struct stream_unload h;

    if (record.n < sizeof(h))
        return -EBADMSG;
    memcpy(&h, record.p, sizeof(h));
    m->stats.unloads++;
    code_map_end(m, h.address, h.address == UINT64_MAX ? h.address : h.address + 1, h.r.time_ns);
    return 0;
}

static int take_record(struct code_map *m, struct span record, uint16_t kind)
{
    m->stats.records++;
    switch (kind) {
    case STREAM_METHOD:
        return take_method(m, record);
    case STREAM_LOAD:
        return take_load(m, record);
    case STREAM_UNLOAD:
        return take_unload(m, record);
    case STREAM_STUB:
        return take_stub(m, record);
    default:
        return kind == STREAM_PAD ? 0 : -EBADMSG;
    }
}

/* Takes the next record from @rest. */
static int next_record(struct span *rest, struct span *ret, uint16_t *ret_kind)
{
    uint32_t bytes;

    if (rest->n < ALIGNMENT)
        return -EBADMSG;
    memcpy(&bytes, rest->p, sizeof(bytes));
    memcpy(ret_kind, rest->p + offsetof(struct stream_record, kind), sizeof(*ret_kind));
    if (bytes < ALIGNMENT || bytes % ALIGNMENT || bytes > MIN(rest->n, (size_t)STREAM_RECORD_MAX) ||
        (*ret_kind != STREAM_PAD && bytes < sizeof(struct stream_record)))
        return -EBADMSG;
    *ret = (struct span){ rest->p, bytes };
    *rest = span_from(*rest, bytes);
    return 0;
}

static uint64_t count_records(struct span rest)
{
    struct span record;
    uint64_t n = 0;
    uint16_t kind;

    while (rest.n && next_record(&rest, &record, &kind) == 0)
        n += kind != STREAM_PAD;
    return n;
}

int code_map_feed(struct code_map *m, struct span records)
{
    struct chunk *c;
    struct span rest;
    int r = 0;

    if (records.n == 0)
        return 0;
    if (!afford(m, sizeof(*c) + records.n))
        return drop(m, count_records(records));
    c = malloc(sizeof(*c) + records.n);
    if (!c)
        return -ENOMEM;
    c->n = records.n;
    c->next = m->chunks;
    memcpy(c->bytes, records.p, records.n);
    m->chunks = c;
    rest = (struct span){ c->bytes, c->n };
    while (rest.n && r == 0) {
        struct span record;
        uint16_t kind;

        r = next_record(&rest, &record, &kind) ?: take_record(m, record, kind);
    }
    return r;
}

struct code_map_stats code_map_stats(const struct code_map *m)
{
    return m->stats;
}
