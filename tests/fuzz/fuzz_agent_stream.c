/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's records, as a JVM under an attacker's control may write them; then all queries of the
 * map made from them. */
#include "attach/code_map.h"

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ask_range(void *cookie, uint64_t start, uint64_t end, const struct code_location *frames,
                     size_t count)
{
    struct code_map *m = cookie;
    struct code_method names;

    if (start >= end || count == 0 || count > CODE_MAP_FRAMES_MAX)
        abort();
    for (size_t i = 0; i < count; i++) {
        code_map_line(m, frames[i].method, frames[i].bci);
        if (code_map_method(m, frames[i].method, &names) && names.name.n > 65535)
            abort();
    }
    return 0;
}

static int ask_piece(void *cookie, const struct code_piece *p)
{
    struct code_map *m = cookie;
    struct code_location at[CODE_MAP_FRAMES_MAX];
    struct code_piece found;

    if (p->start >= p->end || p->from_ns > p->to_ns)
        abort();
    code_map_each_range(p, ask_range, m);
    if (code_map_find(m, p->end - 1, p->from_ns, &found) && found.end < p->end)
        abort();
    if (code_map_locate(m, p->start, p->from_ns, /* is_return_address= */ false, at) >
            CODE_MAP_FRAMES_MAX ||
        code_map_locate(m, p->end, p->from_ns, /* is_return_address= */ true, at) >
            CODE_MAP_FRAMES_MAX)
        abort();
    return 0;
}

/* Returns the bytes of the whole records in the first half. */
static size_t half(struct span records)
{
    size_t at = 0;

    while (at + sizeof(struct stream_record) <= records.n / 2) {
        struct stream_record r;

        memcpy(&r, records.p + at, sizeof(r));
        if (r.bytes < sizeof(r) || r.bytes % 8 || r.bytes > records.n / 2 - at)
            break;
        at += r.bytes;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(code_map_freep) struct code_map *m = NULL;
    struct span rest = { (const char *)data, size };

    if (code_map_new(NULL, 0, &m) < 0)
        return 0;
    /* In two parts, as a ring gives them. */
    if (code_map_feed(m, (struct span){ rest.p, half(rest) }) == 0)
        code_map_feed(m, span_from(rest, half(rest)));
    code_map_each(m, UINT64_MAX, ask_piece, m);
    code_map_each(m, 1000, ask_piece, m);
    return 0;
}
