/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds objects in pages of the heap without the collector's tables, so it works alike with all
 * collectors. An object begins with a mark and a class. Words that look so count as an object if
 * another object follows right behind their size. From there on, one object follows another. The
 * heap changes during the read: words that do not fit are skipped.
 */
#include "hotspot/heap_sample.h"

#include "hotspot/code/code.h"
#include "hotspot/vm.h"

#define SEEN_MAX 8192 /* classes seen, and words that were no class; a power of two */
#define SEEN_FULL (SEEN_MAX / 2)
#define SEEN_PROBES_MAX 64  /* limit, since a JVM can choose words that share a place */
#define MARK_UNLOCKED 1     /* value of a mark's two lowest bits */
#define MARK_BIASED 5       /* value of a mark's three lowest bits, JDK 8 to 17 */
#define MARK_UNUSED_FROM 42 /* without compact headers, an unlocked mark is 0 from this bit on */
#define MARK_THREAD_BITS 47 /* a biased mark has the thread in the bits from this one on */
#define BIASED_JDK 17
#define ELEMENT_SHIFT_MAX 3
#define HEADER_BYTES_MAX 32 /* bytes of an array's header */
#define INSTANCE_BYTES_MAX ((uint64_t)1 << 19)
#define SUPERS_MAX 64         /* superclasses to read of one class */
#define CLASS_READS_MAX 8192  /* reads of classes and superclasses for one sample */
#define OBJECT_BYTES_MIN 8    /* the usual alignment of objects */
#define OBJECT_BYTES_MOST 256 /* the greatest one that -XX:ObjectAlignmentInBytes takes */
#define WINDOW_BYTES (HEAP_SAMPLE_PAGE_BYTES_MAX + HEAP_SAMPLE_BEFORE_BYTES)

struct seen {
    uint64_t klass; /* 0: free */
    int32_t layout; /* its layout helper; 0: no class is there */
    uint64_t bytes;
};

struct sampling {
    size_t count, page_bytes;
    struct heap_page pages[HEAP_SAMPLE_PAGES];
    struct heap_sample found;
    unsigned used;       /* number of used entries in @seen */
    unsigned reads_left; /* of CLASS_READS_MAX; at 0, no further class is known */
    uint64_t align;      /* objects begin at multiples of this; bytes, a power of two */
    struct seen seen[SEEN_MAX];
    uint8_t window[WINDOW_BYTES];
};

/* ---- headers ---- */

static bool mark_can_be(const struct hotspot_vm *vm, const uint8_t *p)
{
    uint64_t mark;

    memcpy(&mark, p, sizeof(mark));
    if (vm->names.compact_headers)
        return (mark & 3) == MARK_UNLOCKED;
    if ((mark & 7) == MARK_BIASED && vm->layout.jdk <= BIASED_JDK)
        return mark >> MARK_THREAD_BITS == 0;
    return (mark & 3) == MARK_UNLOCKED && mark >> MARK_UNUSED_FROM == 0;
}

/* Returns the place of @klass in @seen, used or free. Returns NULL if too many words share it. */
static struct seen *place_of(struct sampling *s, uint64_t klass)
{
    size_t first = (size_t)((klass >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

    for (size_t n = 0; n < SEEN_PROBES_MAX; n++) {
        struct seen *one = &s->seen[(first + n) % SEEN_MAX];

        if (!one->klass || one->klass == klass)
            return one;
    }
    return NULL;
}

static bool may_read(struct sampling *s)
{
    if (s->reads_left == 0)
        return false;
    s->reads_left--;
    return true;
}

/* Returns whether the superclasses of @klass lead to java.lang.Object, or to a class that was seen
 * before. */
static bool is_class(struct hotspot_vm *vm, struct sampling *s, uint64_t klass)
{
    for (unsigned i = 0; i < SUPERS_MAX; i++) {
        const struct seen *super = i ? place_of(s, klass) : NULL;
        uint64_t next;

        if (super && super->klass)
            return super->layout != 0;
        if (!may_read(s) || field_u64(vm, klass, vm->layout.klass_super, &next) < 0)
            return false;
        if (!next)
            return klass_is_below(vm, klass, /* super= */ 0);
        klass = next;
    }
    return false;
}

/* Reads the layout helper of @klass; 0: no class is at @klass. */
static int32_t read_layout(struct hotspot_vm *vm, struct sampling *s, uint64_t klass)
{
    uint32_t layout = 0;

    if (!may_read(s) || field_u32(vm, klass, vm->layout.klass_layout_helper, &layout) < 0)
        return 0;
    return layout && is_class(vm, s, klass) ? (int32_t)layout : 0;
}

/* Returns the class in the object header at @p. Returns NULL if no class is there, or too many were
 * seen. */
static struct seen *class_at(struct hotspot_vm *vm, struct sampling *s, const uint8_t *p)
{
    uint64_t klass = mark_can_be(vm, p) ? heap_klass(vm, p) : 0;
    struct seen *one;

    if (klass < MEMORY_PAGE || klass >= MEMORY_ADDRESS_MAX || klass % sizeof(uint64_t) != 0)
        return NULL;
    one = place_of(s, klass);
    if (one && !one->klass) {
        if (s->used == SEEN_FULL)
            return NULL;
        s->used++;
        *one = (struct seen){ .klass = klass, .layout = read_layout(vm, s, klass) };
    }
    return one && one->layout ? one : NULL;
}

/* Returns the number of bytes of the object at @p; 0: no object can be there. */
static uint64_t object_bytes(const struct hotspot_vm *vm, const struct sampling *s,
                             const struct seen *class, const uint8_t *p)
{
    uint32_t layout = (uint32_t) class->layout, length;
    unsigned header = layout >> 16 & 0xff, shift = layout & 0xff;
    uint64_t bytes = layout & ~1U; /* bit 0 marks objects that the slow path allocates */

    if (class->layout < 0) {
        memcpy(&length, p + heap_length_at(vm), sizeof(length));
        if (length > INT32_MAX || shift > ELEMENT_SHIFT_MAX || header > HEADER_BYTES_MAX)
            return 0;
        bytes = header + ((uint64_t)length << shift);
    } else if (bytes > INSTANCE_BYTES_MAX) {
        return 0;
    }
    return MAX((bytes + s->align - 1) & ~(s->align - 1), s->align);
}

/* ---- pages ---- */

/* Bytes of a header and an array's length, read at an object's begin. */
#define LOOK_BYTES 24

/* Gets the object at offset @at of a window with @n bytes. Returns its bytes; 0: none is there. */
static uint64_t find_object(struct hotspot_vm *vm, struct sampling *s, size_t at, size_t n,
                            struct seen **ret)
{
    if (n < LOOK_BYTES || at > n - LOOK_BYTES)
        return 0;
    *ret = class_at(vm, s, s->window + at);
    return *ret ? object_bytes(vm, s, *ret, s->window + at) : 0;
}

/* Adds the objects of a window with @n bytes, apart from the first @skip bytes. */
static void walk_window(struct hotspot_vm *vm, struct sampling *s, size_t skip, size_t n)
{
    bool in_step = false;

    for (size_t at = 0; at < n;) {
        struct seen *class, *next;
        uint64_t bytes = find_object(vm, s, at, n, &class), end = at + bytes;

        if (!bytes || (!in_step && end + LOOK_BYTES <= n && !find_object(vm, s, end, n, &next))) {
            in_step = false;
            at += sizeof(uint64_t);
            continue;
        }
        in_step = true;
        end = MIN(end, (uint64_t)n);
        if (end > skip) {
            class->bytes += end - MAX(at, skip);
            s->found.known += end - MAX(at, skip);
        }
        at = (size_t)end;
    }
}

/* Names the class @one if it is among the largest. */
static void rank(struct hotspot_vm *vm, struct heap_sample *found, const struct seen *one)
{
    struct heap_sample_class *c = found->classes;
    size_t i = found->class_count;
    uint64_t symbol;
    uint16_t n = 0;
    char name[HEAP_CLASS_NAME_BYTES];

    while (i > 0 && c[i - 1].bytes < one->bytes)
        i--;
    if (i == HEAP_SAMPLE_CLASSES || field_u64(vm, one->klass, vm->layout.klass_name, &symbol) < 0 ||
        symbol_read(vm, symbol, name, sizeof(name) - 1, &n) < 0 || !n)
        return;
    if (found->class_count < HEAP_SAMPLE_CLASSES)
        found->class_count++;
    memmove(&c[i + 1], &c[i], (found->class_count - 1 - i) * sizeof(*c));
    memcpy(c[i].name, name, n);
    c[i].name[n] = '\0';
    c[i].bytes = one->bytes;
}

/* Returns the alignment of objects. It scales compressed references, but not in a heap below 4 GB.
 */
static uint64_t object_align(struct hotspot_vm *vm)
{
    uint64_t align = OBJECT_BYTES_MIN;

    if (vm->names.compressed_oops && vm->names.oop_shift)
        align = (uint64_t)1 << vm->names.oop_shift;
    else
        hotspot_vm_flag(vm, "ObjectAlignmentInBytes", &align);
    return align >= OBJECT_BYTES_MIN && align <= OBJECT_BYTES_MOST && (align & (align - 1)) == 0
               ? align
               : OBJECT_BYTES_MIN;
}

static int run_sampling(struct hotspot_vm *vm, void *arg)
{
    struct sampling *s = arg;
    int r = names_ready(vm);

    if (r == 0)
        s->align = object_align(vm);
    s->reads_left = CLASS_READS_MAX;
    memory_begin(&vm->memory);
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        size_t skip = s->pages[i].before_bytes, n = skip + s->page_bytes;

        r = memory_read_direct(&vm->memory, s->pages[i].at - skip, s->window, n);
        if (r == 0) {
            s->found.pages++;
            s->found.bytes += s->page_bytes;
            walk_window(vm, s, skip, n);
        } else if (r == -EFAULT) {
            r = 0;
        }
    }
    for (size_t i = 0; r == 0 && i < SEEN_MAX; i++) {
        if (s->seen[i].bytes)
            rank(vm, &s->found, &s->seen[i]);
    }
    explicit_bzero(s->window, sizeof(s->window));
    return r;
}

int hotspot_vm_heap_sample(struct hotspot_vm *vm, const struct heap_page *pages, size_t count,
                           size_t page_bytes, struct heap_sample *ret)
{
    struct sampling *s;
    void *arg;
    int r;

    if (vm_is_left(vm))
        return -ETIMEDOUT;
    if (!layout_has(vm->layout.klass_layout_helper) || !layout_has(vm->layout.klass_super) ||
        vm->proof.allocation_off || page_bytes > HEAP_SAMPLE_PAGE_BYTES_MAX)
        return -ENOENT;
    arg = s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->count = MIN(count, (size_t)HEAP_SAMPLE_PAGES);
    s->page_bytes = page_bytes;
    memcpy(s->pages, pages, s->count * sizeof(*pages));
    r = vm_call_given(vm, run_sampling, &arg, /* asleep_only= */ false);
    if (r == 0)
        *ret = s->found;
    free(arg);
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
