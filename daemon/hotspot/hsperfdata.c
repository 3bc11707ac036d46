/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the counters file. Offsets in an entry count from its start. */
#include "hotspot/hsperfdata.h"

#define HSPERFDATA_MAGIC "\xca\xfe\xc0\xc0"
#define HSPERFDATA_HEAD 32
#define HSPERFDATA_ENTRY_HEAD 20
#define HSPERFDATA_ENTRIES_MAX 4096

struct hsperf_head {
    struct span magic;
    uint8_t little_endian, major, minor, accessible;
    uint32_t used, overflow;
    uint64_t modified;
    uint32_t first, count;
};

struct hsperf_entry {
    uint32_t length, name, vector, data;
    uint8_t type, flags, units, variability;
};

/* Finds @key. True and the entry, with *ret_bytes its whole run of bytes. */
static bool hsperf_find(struct span file, const char *key, struct hsperf_entry *ret,
                        struct span *ret_bytes)
{
    struct span s = { file.p, MIN(file.n, HSPERFDATA_MAX_BYTES) }, all = s;
    struct hsperf_head h;

    if (!span_take_bytes(&s, 4, &h.magic) || !span_eq(h.magic, SPAN(HSPERFDATA_MAGIC)) ||
        !span_take_u8(&s, &h.little_endian) || !span_take_u8(&s, &h.major) ||
        !span_take_u8(&s, &h.minor) || !span_take_u8(&s, &h.accessible) ||
        !span_take_u32(&s, &h.used) || !span_take_u32(&s, &h.overflow) ||
        !span_take_u64(&s, &h.modified) || !span_take_u32(&s, &h.first) ||
        !span_take_u32(&s, &h.count))
        return false;
    if (h.little_endian != 1 || h.major != 2 || h.first < HSPERFDATA_HEAD)
        return false;
    s = span_from(all, h.first);
    for (uint32_t i = 0; i < MIN(h.count, HSPERFDATA_ENTRIES_MAX); i++) {
        struct span entry = s, name;
        struct hsperf_entry e;

        if (!span_take_u32(&s, &e.length) || !span_take_u32(&s, &e.name) ||
            !span_take_u32(&s, &e.vector) || !span_take_u8(&s, &e.type) ||
            !span_take_u8(&s, &e.flags) || !span_take_u8(&s, &e.units) ||
            !span_take_u8(&s, &e.variability) || !span_take_u32(&s, &e.data) ||
            e.length < HSPERFDATA_ENTRY_HEAD || e.length > entry.n || e.name >= e.length)
            return false;
        s = span_from(entry, e.length);
        entry.n = e.length;
        name = span_from(entry, e.name);
        name.n = span_find(name, '\0');
        if (span_eq_str(name, key)) {
            *ret = e;
            *ret_bytes = entry;
            return true;
        }
    }
    return false;
}

bool hsperfdata_string(struct span file, const char *key, struct span *ret)
{
    struct hsperf_entry e;
    struct span bytes;

    if (!hsperf_find(file, key, &e, &bytes) || e.type != 'B' || e.data >= e.length)
        return false;
    bytes = span_from(bytes, e.data);
    bytes.n = MIN(bytes.n, e.vector);
    bytes.n = span_find(bytes, '\0');
    *ret = bytes;
    return true;
}

bool hsperfdata_long(struct span file, const char *key, int64_t *ret)
{
    struct hsperf_entry e;
    struct span bytes;
    uint64_t v;

    if (!hsperf_find(file, key, &e, &bytes) || e.type != 'J' || e.vector != 0)
        return false;
    bytes = span_from(bytes, e.data);
    if (!span_take_u64(&bytes, &v))
        return false;
    *ret = (int64_t)v;
    return true;
}
