/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/code_map.h"

#include "base/cleanup.h"

#define ALIGNMENT 8u

/* Bytes of a record are kept as they came, and pieces and methods point into them: one copy,
 * checked once. */
struct chunk {
    struct chunk *next;
    size_t n;
    char bytes[];
};

struct method {
    struct stream_method head;
    const char *strings;
    const char *lines;
};

struct piece {
    uint64_t start, end, from_ns, to_ns;
    uint32_t method, name_n, pc_count;
    bool stub;
    const char *detail; /* of stubs the name, else pc_count records of pcs */
};

struct code_map {
    struct chunk *chunks;
    struct method *methods; /* [method_cap], by id - 1 */
    struct piece *pieces;   /* in the order in which they came */
    uint32_t *order;        /* indices of pieces, by start, then as they came */
    uint64_t *reach;        /* highest end among order[0..i] */
    uint32_t method_cap, piece_count, piece_cap, ordered;
    struct code_map_stats stats;
};

int code_map_new(struct code_map **ret)
{
    struct code_map *m = calloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    *ret = m;
    return 0;
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
    free(m->methods);
    free(m->pieces);
    free(m->order);
    free(m->reach);
    free(m);
    return NULL;
}

/* ---- records ---- */

/* The record's bytes behind its head struct of @head_n bytes. */
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
    if (h.id > CODE_MAP_METHODS_MAX) {
        m->stats.dropped++;
        return 0;
    }
    if (h.id > m->method_cap) {
        uint32_t cap = MIN(MAX(h.id, m->method_cap * 2 + 256), CODE_MAP_METHODS_MAX);
        struct method *more = realloc(m->methods, cap * sizeof(*more));

        if (!more)
            return -ENOMEM;
        memset(more + m->method_cap, 0, (cap - m->method_cap) * sizeof(*more));
        m->methods = more;
        m->method_cap = cap;
    }
    m->stats.methods += m->methods[h.id - 1].head.id == 0;
    m->methods[h.id - 1] = (struct method){ h, rest.p, rest.p + strings };
    return 0;
}

/* Ends what lies in [start, end): code is never where other code is. What came before the first
 * event has no time of its own. Only the newest of an address can live, and few overlap. */
static void end_overlapping(struct code_map *m, uint64_t start, uint64_t end, uint64_t time_ns);

static int add_piece(struct code_map *m, const struct piece *p)
{
    if (p->start >= p->end) /* nothing, or past the end of the address space */
        return 0;
    if (m->piece_count == CODE_MAP_PIECES_MAX) {
        m->stats.dropped++;
        return 0;
    }
    if (m->piece_count == m->piece_cap) {
        uint32_t cap = MIN(m->piece_cap * 2 + 1024, CODE_MAP_PIECES_MAX);
        struct piece *more = realloc(m->pieces, cap * sizeof(*more));

        if (!more)
            return -ENOMEM;
        m->pieces = more;
        m->piece_cap = cap;
    }
    m->pieces[m->piece_count++] = *p;
    m->stats.pieces++;
    return 0;
}

/* Walks the pcs of a load. Their number that is well formed must be all. */
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
    end_overlapping(m, p.start, p.end, h.r.time_ns);
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
    end_overlapping(m, h.address, h.address == UINT64_MAX ? h.address : h.address + 1, h.r.time_ns);
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

int code_map_feed(struct code_map *m, struct span records)
{
    struct chunk *c;
    struct span rest;

    if (records.n == 0)
        return 0;
    if (records.n > CODE_MAP_MAX_BYTES - MIN(m->stats.bytes, CODE_MAP_MAX_BYTES)) {
        m->stats.dropped++;
        return 0;
    }
    c = malloc(sizeof(*c) + records.n);
    if (!c)
        return -ENOMEM;
    c->n = records.n;
    c->next = m->chunks;
    memcpy(c->bytes, records.p, records.n);
    m->chunks = c;
    m->stats.bytes += records.n;
    rest = (struct span){ c->bytes, c->n };
    while (rest.n) {
        uint32_t bytes;
        uint16_t kind;
        int r;

        if (rest.n < ALIGNMENT)
            return -EBADMSG;
        memcpy(&bytes, rest.p, sizeof(bytes));
        memcpy(&kind, rest.p + offsetof(struct stream_record, kind), sizeof(kind));
        if (bytes < ALIGNMENT || bytes % ALIGNMENT || bytes > rest.n ||
            (kind != STREAM_PAD && bytes < sizeof(struct stream_record)))
            return -EBADMSG;
        r = take_record(m, (struct span){ rest.p, bytes }, kind);
        if (r < 0)
            return r;
        rest = span_from(rest, bytes);
    }
    return 0;
}

/* ---- the index ---- */

struct sort_key {
    uint64_t start;
    uint32_t index;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Sorts all pieces. False: no memory. */
static bool index_all(struct code_map *m)
{
    _cleanup_free_ struct sort_key *keys = NULL;
    uint32_t *order;
    uint64_t *reach, most = 0;

    if (m->ordered == m->piece_count)
        return true;
    keys = malloc(m->piece_count * sizeof(*keys));
    order = realloc(m->order, m->piece_count * sizeof(*order));
    if (order)
        m->order = order;
    reach = realloc(m->reach, m->piece_count * sizeof(*reach));
    if (reach)
        m->reach = reach;
    if (!keys || !order || !reach)
        return false;
    for (uint32_t i = 0; i < m->piece_count; i++)
        keys[i] = (struct sort_key){ m->pieces[i].start, i };
    qsort(keys, m->piece_count, sizeof(*keys), compare_keys);
    for (uint32_t i = 0; i < m->piece_count; i++) {
        order[i] = keys[i].index;
        most = MAX(most, m->pieces[keys[i].index].end);
        reach[i] = most;
    }
    m->ordered = m->piece_count;
    return true;
}

/* Number of the indexed pieces that start below @address. */
static uint32_t below(const struct code_map *m, uint64_t address)
{
    uint32_t lo = 0, hi = m->ordered;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (m->pieces[m->order[mid]].start < address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void end_piece(struct piece *p, uint64_t start, uint64_t end, uint64_t time_ns)
{
    if (p->to_ns == UINT64_MAX && p->start < end && start < p->end && !p->stub)
        p->to_ns = MAX(time_ns, p->from_ns);
}

static void end_overlapping(struct code_map *m, uint64_t start, uint64_t end, uint64_t time_ns)
{
    /* New ones are few: they are put in order once they are an eighth of all. */
    if (m->piece_count - m->ordered > 1024 + m->ordered / 8)
        index_all(m);
    for (uint32_t i = below(m, end); i > 0 && m->reach[i - 1] > start; i--)
        end_piece(&m->pieces[m->order[i - 1]], start, end, time_ns);
    for (uint32_t i = m->ordered; i < m->piece_count; i++)
        end_piece(&m->pieces[i], start, end, time_ns);
}

static const struct piece *find_piece(struct code_map *m, uint64_t pc, uint64_t time_ns)
{
    const struct piece *best = NULL;

    if (!index_all(m))
        return NULL;
    for (uint32_t i = below(m, pc == UINT64_MAX ? pc : pc + 1); i > 0 && m->reach[i - 1] > pc;
         i--) {
        const struct piece *p = &m->pieces[m->order[i - 1]];

        if (pc < p->start || pc >= p->end || time_ns < p->from_ns ||
            (time_ns >= p->to_ns && p->to_ns != UINT64_MAX))
            continue;
        /* The later one, and a method rather than the stub around it. */
        if (!best || (best->stub && !p->stub) ||
            (best->stub == p->stub && p->from_ns >= best->from_ns))
            best = p;
    }
    return best;
}

static struct code_piece describe(const struct piece *p)
{
    return (struct code_piece){
        .start = p->start,
        .end = p->end,
        .from_ns = p->from_ns,
        .to_ns = p->to_ns,
        .method = p->method,
        .stub = p->stub,
        .stub_name = { p->stub ? p->detail : NULL, p->stub ? p->name_n : 0 },
    };
}

int code_map_find(struct code_map *m, uint64_t pc, uint64_t time_ns, struct code_piece *ret)
{
    const struct piece *p = find_piece(m, pc, time_ns);

    if (!p)
        return 0;
    *ret = describe(p);
    return 1;
}

/* ---- what it means ---- */

/* Takes one pc with its frames; they were checked when they came. */
static const char *take_pc(const char *p, struct stream_pc *ret,
                           struct code_location frames[CODE_MAP_FRAMES_MAX])
{
    memcpy(ret, p, sizeof(*ret));
    p += sizeof(*ret);
    for (uint32_t i = 0; i < ret->frame_count; i++) {
        struct stream_frame f;

        memcpy(&f, p, sizeof(f));
        p += sizeof(f);
        frames[i] = (struct code_location){
            .method = f.method,
            .bci = MAX(f.bci, -1),
            .inlined = i + 1 < ret->frame_count,
        };
    }
    return p;
}

size_t code_map_locate(struct code_map *m, uint64_t pc, uint64_t time_ns, bool is_return_address,
                       struct code_location ret[CODE_MAP_FRAMES_MAX])
{
    struct code_location frames[CODE_MAP_FRAMES_MAX];
    const struct piece *p = find_piece(m, is_return_address ? pc - 1 : pc, time_ns);
    const char *at;
    uint64_t best = UINT64_MAX;
    size_t count = 0;

    if (!p || p->stub || !p->method)
        return 0;
    at = p->detail;
    /* Nothing says that a stranger's records are in order. */
    for (uint32_t i = 0; i < p->pc_count; i++) {
        struct stream_pc s;

        at = take_pc(at, &s, frames);
        if (s.frame_count == 0 || p->start + s.offset < pc || s.offset >= best ||
            (is_return_address && p->start + s.offset != pc))
            continue;
        best = s.offset;
        count = s.frame_count;
        memcpy(ret, frames, count * sizeof(*frames));
    }
    if (count == 0)
        ret[count++] = (struct code_location){ .method = p->method, .bci = -1 };
    return count;
}

int code_map_method(const struct code_map *m, uint32_t id, struct code_method *ret)
{
    const struct stream_method *h;
    const char *p;

    if (id == 0 || id > m->method_cap || m->methods[id - 1].head.id == 0)
        return 0;
    h = &m->methods[id - 1].head;
    p = m->methods[id - 1].strings;
    ret->class_name = (struct span){ p, h->class_n };
    ret->name = (struct span){ p += h->class_n, h->name_n };
    ret->signature = (struct span){ p += h->name_n, h->signature_n };
    ret->file = (struct span){ p + h->signature_n, h->file_n };
    if (ret->class_name.n >= 2 && ret->class_name.p[0] == 'L' &&
        ret->class_name.p[ret->class_name.n - 1] == ';')
        ret->class_name = (struct span){ ret->class_name.p + 1, ret->class_name.n - 2 };
    return 1;
}

uint32_t code_map_line(const struct code_map *m, uint32_t id, int32_t bci)
{
    uint32_t line = 0;
    int64_t best = -1;

    if (id == 0 || id > m->method_cap || bci < 0)
        return 0;
    for (uint32_t i = 0; i < m->methods[id - 1].head.line_count; i++) {
        struct stream_line l;

        memcpy(&l, m->methods[id - 1].lines + i * sizeof(l), sizeof(l));
        if (l.bci <= (uint32_t)bci && (int64_t)l.bci >= best) {
            best = l.bci;
            line = l.line;
        }
    }
    return line;
}

int code_map_each(struct code_map *m, uint64_t time_ns,
                  int (*fn)(void *cookie, const struct code_piece *p), void *cookie)
{
    if (!index_all(m))
        return -ENOMEM;
    for (uint32_t i = 0; i < m->ordered; i++) {
        const struct piece *p = &m->pieces[m->order[i]];
        struct code_piece out = describe(p);
        int r;

        if (time_ns < p->from_ns || (time_ns >= p->to_ns && p->to_ns != UINT64_MAX))
            continue;
        r = fn(cookie, &out);
        if (r)
            return r;
    }
    return 0;
}

static bool same_frames(const struct code_location *a, size_t a_n, const struct code_location *b,
                        size_t b_n)
{
    if (a_n != b_n)
        return false;
    for (size_t i = 0; i < a_n; i++) {
        if (a[i].method != b[i].method)
            return false;
    }
    return true;
}

int code_map_each_range(struct code_map *m, const struct code_piece *piece,
                        int (*fn)(void *cookie, uint64_t start, uint64_t end,
                                  const struct code_location *frames, size_t count),
                        void *cookie)
{
    struct code_location now[CODE_MAP_FRAMES_MAX], before[CODE_MAP_FRAMES_MAX];
    const struct piece *p = find_piece(m, piece->start, piece->from_ns);
    uint64_t start = piece->start, end = piece->start;
    size_t before_n = 0;
    const char *at;
    int r = 0;

    if (!p || p->start != piece->start || p->stub)
        return 0;
    at = p->detail;
    for (uint32_t i = 0; i < p->pc_count && r == 0; i++) {
        struct stream_pc s;
        uint64_t to;

        at = take_pc(at, &s, now);
        to = MIN(p->start + s.offset, p->end);
        if (s.frame_count == 0 || to <= end)
            continue;
        if (before_n && !same_frames(now, s.frame_count, before, before_n)) {
            r = fn(cookie, start, end, before, before_n);
            start = end;
        }
        memcpy(before, now, s.frame_count * sizeof(*now));
        before_n = s.frame_count;
        end = to;
    }
    if (r == 0 && before_n && start < end)
        r = fn(cookie, start, end, before, before_n);
    if (r == 0 && end < p->end) {
        before[0] = (struct code_location){ .method = p->method, .bci = -1 };
        r = fn(cookie, end, p->end, before, 1);
    }
    return r;
}

struct code_map_stats code_map_stats(const struct code_map *m)
{
    return m->stats;
}
