/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vtable and itable stubs. A blob "vtable chunks" holds many of them. The layout of a VtableStub is
 *   next 0, short index 8, short 10 and 12 (where its code may fault), u8 is_vtable 14, code 16
 * (JDK 8, 11, 17, 21, 25 to 28: seen). VtableStubs::_table, an array of 256 in libjvm's writable
 * data, has the heads of their lists. VMStructs lacks that array, so flamed searches the data: a
 * pointer to such a stub is a head.
 */
#include "hotspot/code/stubs.h"

#include "hotspot/code/code.h"

#define VTABLE_CODE 16
#define VTABLE_HEADS 256
#define VTABLE_CODE_MAX 1024      /* bytes of one stub's code; 40 to 200 were seen */
#define VTABLE_MISSES_MAX 8       /* readings that found no stub for the pc */
#define VTABLE_FOLLOWED_MAX 16384 /* pointers followed in one reading */

/* Gets the end of the code in the blob of vtable stubs that holds @address. Returns false if no
 * such blob holds it. */
static bool in_chunk(struct hotspot_vm *vm, uint64_t address, uint64_t *ret_end)
{
    char name[sizeof(VTABLE_BLOB)];
    uint64_t blob, end;
    struct blob b;

    if (codecache_block(vm, address, &blob, &end) != 0 || blob_read(vm, blob, end, &b) != 0 ||
        address < b.code_begin || address >= b.code_end ||
        memory_string(&vm->memory, b.name, name, sizeof(name)) < 0 ||
        strcmp(name, VTABLE_BLOB) != 0)
        return false;
    *ret_end = b.code_end;
    return true;
}

/* Reads the stub at @at if it looks like one. Then sets *@at to the next stub of its chain. */
static bool vtable_read(struct hotspot_vm *vm, uint64_t *at, struct stub *ret)
{
    int16_t index, abstract, null;
    uint8_t p[VTABLE_CODE];
    struct stub s = { .start = *at + VTABLE_CODE };
    uint64_t end;

    if (*at % 8 != 0 || memory_read(&vm->memory, *at, p, sizeof(p)) < 0)
        return false;
    memcpy(&index, p + 8, sizeof(index));
    memcpy(&abstract, p + 10, sizeof(abstract));
    memcpy(&null, p + 12, sizeof(null));
    if (index < 0 || abstract <= 0 || null < 0 || abstract == null || p[14] > 1 ||
        abstract >= VTABLE_CODE_MAX || null >= VTABLE_CODE_MAX || !in_chunk(vm, *at, &end) ||
        end <= s.start)
        return false;
    s.end = MIN(end, s.start + VTABLE_CODE_MAX);
    span_copy(p[14] ? SPAN("vtable stub") : SPAN("itable stub"), s.name, sizeof(s.name));
    memcpy(at, p, sizeof(*at));
    *ret = s;
    return true;
}

/* Takes the stubs of the chain at @at, and subtracts their number from *@left. Returns whether
 * there was a stub. */
static bool vtable_take_chain(struct hotspot_vm *vm, uint64_t at, unsigned *left)
{
    struct stub_table *t = &vm->stubs.vtables;
    size_t before = t->count;
    struct stub s;

    while (*left > 0 && hotspot_vm_in_code_cache(vm, at)) {
        --*left;
        if (!vtable_read(vm, &at, &s) || stub_table_add(t, &s) < 0)
            break;
    }
    return t->count > before;
}

static bool is_itable(const struct stub *s)
{
    return s->name[0] == 'i';
}

/* Sets the ends of the stubs: each ends where the next begins. The last stub of a chunk gets the
 * smallest size of its kind: all stubs of a kind but the first have the same size. */
static void vtables_finish(struct stub_table *t)
{
    uint64_t bytes[2] = { VTABLE_CODE_MAX, VTABLE_CODE_MAX };
    size_t kept = 0;

    stub_table_sort(t);
    for (size_t i = 0; i < t->count; i++) {
        if (kept && t->at[i].start - t->at[kept - 1].start <= VTABLE_CODE)
            continue; /* the same stub was found twice, or bytes of a stub look like one */
        t->at[kept++] = t->at[i];
    }
    t->count = kept;
    for (size_t i = 0; i + 1 < kept; i++) {
        uint64_t *least = &bytes[is_itable(&t->at[i])];

        t->at[i].end = MIN(t->at[i].end, t->at[i + 1].start - VTABLE_CODE);
        if (t->at[i].end > t->at[i].start)
            *least = MIN(*least, t->at[i].end - t->at[i].start);
    }
    for (size_t i = 0; i < kept; i++) {
        if (i + 1 == kept || t->at[i].end + VTABLE_CODE != t->at[i + 1].start)
            t->at[i].end = MIN(t->at[i].end, t->at[i].start + bytes[is_itable(&t->at[i])]);
    }
}

void stubs_read_vtables(struct hotspot_vm *vm)
{
    struct stubs *s = &vm->stubs;
    const struct hotspot_layout *l = &vm->layout;
    uint64_t low = l->data_start, high = l->data_end, first = UINT64_MAX, last = 0;
    unsigned left = VTABLE_FOLLOWED_MAX;

    if (s->heads_low) { /* more heads may be near those that were found */
        low = s->heads_low;
        high = s->heads_high;
    }
    s->vtables.count = 0;
    for (uint64_t page = low & ~(uint64_t)(MEMORY_PAGE - 1), n = 0;
         page < high && n < STUBS_PAGES_MAX && left > 0; page += MEMORY_PAGE, n++) {
        uint64_t words[MEMORY_PAGE / 8];

        if (memory_read_direct(&vm->memory, page, words, sizeof(words)) < 0)
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
            uint64_t at = page + i * 8;

            if (at < low || at > high - 8 || !vtable_take_chain(vm, words[i], &left))
                continue;
            first = MIN(first, at);
            last = MAX(last, at);
        }
    }
    vtables_finish(&s->vtables);
    if (last >= first && last - first < VTABLE_HEADS * 8) {
        s->heads_low = MAX(l->data_start, last - (VTABLE_HEADS - 1) * 8);
        s->heads_high = MIN(l->data_end, first + VTABLE_HEADS * 8);
    }
}

const struct stub *stubs_find_vtable(struct hotspot_vm *vm, uint64_t pc)
{
    struct stubs *s = &vm->stubs;
    const struct stub *found = stub_table_find(&s->vtables, pc);

    /* If the found stub has an unknown size, @pc may be in another stub behind it. */
    if ((found && found->end - found->start < VTABLE_CODE_MAX) ||
        s->vtable_misses >= VTABLE_MISSES_MAX)
        return found;
    stubs_read_vtables(vm);
    found = stub_table_find(&s->vtables, pc);
    s->vtable_misses += !found;
    return found;
}
