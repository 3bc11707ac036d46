/* SPDX-License-Identifier: Apache-2.0 */
/* Names pieces of code: frames, names, lines, ranges. */
#include "attach/code_map_impl.h"
#include "base/list.h"

static struct code_piece describe(const struct piece *p)
{
    return (struct code_piece){
        .inside = p,
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
    const struct piece *p = code_map_piece(m, pc, time_ns);

    if (!p)
        return 0;
    *ret = describe(p);
    return 1;
}

/* Takes one pc with its frames; code_map_feed() has checked them. */
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
    const struct piece *p = code_map_piece(m, is_return_address ? pc - 1 : pc, time_ns);
    const char *at;
    uint64_t best = UINT64_MAX;
    size_t count = 0;

    if (!p || p->stub || !p->method)
        return 0;
    at = p->detail;
    /* The JVM may have written the records in any order. */
    for (uint32_t i = 0; i < p->pc_count; i++) {
        struct stream_pc s;

        at = take_pc(at, &s, frames);
        m->stats.steps += 1 + s.frame_count;
        if (s.frame_count == 0 || s.offset >= best ||
            (is_return_address ? p->start + s.offset != pc : p->start + s.offset <= pc))
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
    p = m->methods[id - 1].strings ?: "";
    ret->class_name = (struct span){ p, h->class_n };
    ret->name = (struct span){ p += h->class_n, h->name_n };
    ret->signature = (struct span){ p += h->name_n, h->signature_n };
    ret->file = (struct span){ p + h->signature_n, h->file_n };
    if (ret->class_name.n >= 2 && ret->class_name.p[0] == 'L' &&
        ret->class_name.p[ret->class_name.n - 1] == ';')
        ret->class_name = (struct span){ ret->class_name.p + 1, ret->class_name.n - 2 };
    return 1;
}

uint32_t code_map_line(struct code_map *m, uint32_t id, int32_t bci)
{
    uint32_t line = 0;
    int64_t best = -1;

    if (id == 0 || id > m->method_cap || bci < 0)
        return 0;
    m->stats.steps += m->methods[id - 1].head.line_count;
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
    if (!code_map_index(m))
        return -ENOMEM;
    for (uint32_t i = 0; i < m->ordered; i++) {
        const struct piece *p = piece_at(m, m->order[i]);
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
    return a_n == b_n && ALL_OF(i, a_n, a[i].method == b[i].method);
}

int code_map_each_range(const struct code_piece *piece,
                        int (*fn)(void *cookie, uint64_t start, uint64_t end,
                                  const struct code_location *frames, size_t count),
                        void *cookie)
{
    struct code_location now[CODE_MAP_FRAMES_MAX], before[CODE_MAP_FRAMES_MAX];
    const struct piece *p = piece->inside;
    uint64_t start = piece->start, end = piece->start;
    size_t before_n = 0;
    const char *at;
    int r = 0;

    if (p->stub)
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
