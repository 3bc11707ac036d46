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

/* Gets the value of the entry, with all its bytes in @bytes. Returns false if its kind is
 * unknown. */
static bool hsperf_value(const struct hsperf_entry *e, struct span bytes,
                         struct hsperfdata_entry *ret)
{
    uint64_t v;

    if (e->data >= e->length)
        return false;
    bytes = span_from(bytes, e->data);
    *ret = (struct hsperfdata_entry){ .text = SPAN_NULL };
    if (e->type == 'J' && e->vector == 0 && span_take_u64(&bytes, &v)) {
        ret->value = (int64_t)v;
        return true;
    }
    bytes.n = MIN(bytes.n, e->vector);
    bytes.n = span_find(bytes, '\0');
    ret->text = bytes;
    return e->type == 'B';
}

static bool take_head(struct span s, struct hsperf_head *h)
{
    return span_take_bytes(&s, 4, &h->magic) && span_eq(h->magic, SPAN(HSPERFDATA_MAGIC)) &&
           span_take_u8(&s, &h->little_endian) && span_take_u8(&s, &h->major) &&
           span_take_u8(&s, &h->minor) && span_take_u8(&s, &h->accessible) &&
           span_take_u32(&s, &h->used) && span_take_u32(&s, &h->overflow) &&
           span_take_u64(&s, &h->modified) && span_take_u32(&s, &h->first) &&
           span_take_u32(&s, &h->count) && h->little_endian == 1 && h->major == 2 &&
           h->first >= HSPERFDATA_HEAD;
}

/* Takes the entry at the start of @s. Returns false if the entry is broken. If its kind is unknown,
 * sets *ret_known to false and leaves *ret unset. */
static bool take_entry(struct span *s, struct hsperfdata_entry *ret, bool *ret_known)
{
    struct span entry = *s;
    struct hsperf_entry e;

    if (!span_take_u32(s, &e.length) || !span_take_u32(s, &e.name) ||
        !span_take_u32(s, &e.vector) || !span_take_u8(s, &e.type) || !span_take_u8(s, &e.flags) ||
        !span_take_u8(s, &e.units) || !span_take_u8(s, &e.variability) ||
        !span_take_u32(s, &e.data) || e.length < HSPERFDATA_ENTRY_HEAD || e.length > entry.n ||
        e.name >= e.length)
        return false;
    *s = span_from(entry, e.length);
    entry.n = e.length;
    *ret_known = hsperf_value(&e, entry, ret);
    if (*ret_known) {
        ret->name = span_from(entry, e.name);
        ret->name.n = span_find(ret->name, '\0');
        ret->value_at = e.data;
    }
    return true;
}

bool hsperfdata_each(struct span file, hsperfdata_fn fn, void *cookie)
{
    struct span all = { file.p, MIN(file.n, HSPERFDATA_MAX_BYTES) }, s;
    struct hsperf_head h;

    if (!take_head(all, &h))
        return false;
    s = span_from(all, h.first);
    for (uint32_t i = 0; i < MIN(h.count, (uint32_t)HSPERFDATA_ENTRIES_MAX); i++) {
        uint32_t at = (uint32_t)(s.p - all.p);
        struct hsperfdata_entry found;
        bool known;

        if (!take_entry(&s, &found, &known))
            return false;
        found.at = at;
        found.value_at += at;
        if (known && !fn(cookie, &found))
            break;
    }
    return true;
}

uint32_t hsperfdata_used(struct span file)
{
    struct hsperf_head h;

    return take_head(file, &h) ? h.used : 0;
}

uint32_t hsperfdata_count(struct span file)
{
    struct hsperf_head h;

    return take_head(file, &h) ? h.count : 0;
}

bool hsperfdata_entry_at(struct span file, uint32_t at, struct hsperfdata_entry *ret)
{
    struct span s = span_from((struct span){ file.p, MIN(file.n, HSPERFDATA_MAX_BYTES) }, at);
    bool known;

    if (!take_entry(&s, ret, &known))
        return false;
    ret->at = at;
    ret->value_at += at;
    return known;
}

struct hsperf_wanted {
    const char *key;
    struct span text; /* .p NULL: the entry was not found, or is a number */
};

static bool hsperf_is_wanted(void *cookie, const struct hsperfdata_entry *e)
{
    struct hsperf_wanted *w = cookie;

    if (!span_eq_str(e->name, w->key))
        return true;
    w->text = e->text;
    return false;
}

bool hsperfdata_string(struct span file, const char *key, struct span *ret)
{
    struct hsperf_wanted w = { .key = key };

    hsperfdata_each(file, hsperf_is_wanted, &w);
    if (w.text.p)
        *ret = w.text;
    return w.text.p != NULL;
}
