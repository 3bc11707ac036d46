/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/memory_areas.h"

#include "base/array.h"

#define GUARD_BYTES_MAX ((uint64_t)64 << 10) /* below a thread's stack: a page */
#define STACK_BYTES_MAX                                                                            \
    ((uint64_t)16 << 20)                /* of a native thread: 8 MiB unless ulimit says more       \
                                         */
#define CLASS_ALIGN ((uint64_t)4 << 20) /* of the class space, behind an archive (JDK 16 on) */
#define RANGES_MAX (VM_AREAS_STACKS_MAX + VM_AREAS_METASPACE_MAX + VM_AREAS_CODE_MAX + 3)
/* Greatest offset of an arena in its first heap, behind the heap's own header. */
#define ARENA_HEADER_MAX 256
#define CHUNK_MAPPED 2 /* IS_MMAPPED flag in a chunk's size; set without other flags */
#define CHUNK_FLAGS 7

static const char *const NAMES[] = {
#define X(id, name, text) name,
    MEMORY_AREAS(X)
#undef X
};
static const char *const TEXTS[] = {
#define X(id, name, text) text,
    MEMORY_AREAS(X)
#undef X
};

const char *memory_area_name(enum memory_area area)
{
    return NAMES[area];
}

const char *memory_area_text(enum memory_area area)
{
    return TEXTS[area];
}

/* ---- ranges that the VM reports ---- */

struct range {
    uint64_t start, end;
    enum memory_area area;
};

struct ranges {
    struct range list[RANGES_MAX];
    size_t count;
};

static void add_range(struct ranges *r, struct vm_range range, enum memory_area area)
{
    if (range.start < range.end && r->count < RANGES_MAX)
        r->list[r->count++] = (struct range){ range.start, range.end, area };
}

/* The class space lies at the base of compressed class pointers, or behind the archives there. */
static struct vm_range class_space(const struct maps *maps, const struct vm_areas *vm)
{
    uint64_t end = vm->class_base, start = end;

    if (!vm->class_base || !vm->class_space)
        return (struct vm_range){ 0 };
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->entries[i];

        if (m->start < vm->class_base)
            continue;
        if (m->start != end)
            break;
        end = m->end;
        if (span_ends_with(m->path, ".jsa"))
            start = (end + CLASS_ALIGN - 1) / CLASS_ALIGN * CLASS_ALIGN;
    }
    return (struct vm_range){ start, start + vm->class_space };
}

ORDER_FUNCTION(compare_ranges, struct range,
               COMPARE(x->start, y->start) ?: COMPARE(x->area, y->area))

static void ranges_of(const struct maps *maps, const struct vm_areas *vm, struct ranges *ret)
{
    ret->count = 0;
    add_range(ret, vm->heap, MEMORY_HEAP);
    add_range(ret, class_space(maps, vm), MEMORY_CLASS_SPACE);
    add_range(ret, vm->cards, MEMORY_GC);
    for (size_t i = 0; i < vm->code_count; i++)
        add_range(ret, vm->code[i], MEMORY_CODE);
    for (size_t i = 0; i < vm->metaspace_count; i++)
        add_range(ret, vm->metaspace[i], MEMORY_METASPACE);
    for (size_t i = 0; i < vm->stack_count; i++)
        add_range(ret, vm->stacks[i], MEMORY_JAVA_STACKS);
    qsort(ret->list, ret->count, sizeof(*ret->list), compare_ranges);
}

/* ---- mappings ---- */

static bool is_file(const struct mapping *m)
{
    return m->path.n && m->path.p[0] != '[';
}

static enum memory_area area_of_file(const struct mapping *m)
{
    struct span name = span_from(m->path, span_rfind(m->path, '/'));

    if (span_ends_with(name, "/memfd:java_heap")) /* ZGC */
        return MEMORY_HEAP;
    if (span_ends_with(name, ".jsa"))
        return MEMORY_CDS;
    if (path_is_libjvm(m->path))
        return MEMORY_LIBJVM;
    if (span_ends_with(name, ".jar") || span_ends_with(name, ".war") ||
        span_ends_with(name, ".jmod") || span_eq_str(name, "/modules"))
        return MEMORY_JARS;
    if (m->exec || span_ends_with(name, ".so") ||
        (name.n && memmem(name.p, name.n, ".so.", strlen(".so."))))
        return MEMORY_LIBRARIES;
    return MEMORY_FILES;
}

/* Returns the area of an anonymous mapping by its place. @before: the mapping that ends at its
 * start. */
static enum memory_area area_of_anonymous(const struct mapping *m, const struct mapping *before,
                                          bool *probe)
{
    if (span_eq_str(m->path, "[heap]") || span_starts_with(m->path, "[anon: glibc: malloc"))
        return MEMORY_MALLOC;
    if (span_eq_str(m->path, "[stack]") || span_starts_with(m->path, "[anon: glibc: pthread stack"))
        return MEMORY_NATIVE_STACKS;
    if (before && is_file(before) && before->write && area_of_file(before) != MEMORY_FILES)
        return area_of_file(before); /* .bss: variables that are zero at the start */
    if (before && !is_file(before) && !before->read && !before->write && m->write && !m->exec &&
        before->end - before->start <= GUARD_BYTES_MAX && m->end - m->start <= STACK_BYTES_MAX)
        return MEMORY_NATIVE_STACKS;
    *probe = m->write && !m->exec;
    return MEMORY_OTHER;
}

struct cutting {
    struct memory_pieces p;
    size_t cap;
    const struct ranges *ranges;
    size_t next; /* the first range that may reach the next mapping */
};

static int add_piece(struct cutting *c, uint64_t start, uint64_t end, enum memory_area area,
                     bool probe)
{
    if (start >= end)
        return 0;
    if (c->p.count == MEMORY_PIECES_MAX) {
        c->p.truncated = true;
        return 0;
    }
    if (!array_grow(&c->p.list, &c->cap, c->p.count + 1, 256))
        return -ENOMEM;
    c->p.list[c->p.count++] = (struct memory_piece){ start, end, area, probe };
    return 0;
}

/* Cuts [@at, @end) at the known ranges. What is outside of these ranges belongs to @area. A mapped
 * @file contains no metaspace. */
static int cut(struct cutting *c, uint64_t at, uint64_t end, enum memory_area area, bool probe,
               bool file)
{
    int r = 0;

    while (r == 0 && at < end) {
        const struct range *range;

        while (c->next < c->ranges->count && c->ranges->list[c->next].end <= at)
            c->next++;
        range = c->next < c->ranges->count ? &c->ranges->list[c->next] : NULL;
        if (!range || range->start >= end)
            return add_piece(c, at, end, area, probe);
        if (range->start > at)
            r = add_piece(c, at, range->start, area, probe);
        at = MAX(at, range->start);
        if (r == 0)
            r = file && range->area == MEMORY_METASPACE
                    ? add_piece(c, at, MIN(end, range->end), area, probe)
                    : add_piece(c, at, MIN(end, range->end), range->area, /* probe= */ false);
        at = MIN(end, range->end);
    }
    return r;
}

int memory_pieces_of(const struct maps *maps, const struct vm_areas *vm, struct memory_pieces *ret)
{
    struct ranges *ranges = malloc(sizeof(*ranges));
    struct cutting c = { .ranges = ranges };
    int r = ranges ? 0 : -ENOMEM;

    if (ranges)
        ranges_of(maps, vm, ranges);
    for (size_t i = 0; r == 0 && i < maps->count; i++) {
        const struct mapping *m = &maps->entries[i];
        const struct mapping *before = i && m[-1].end == m->start ? &m[-1] : NULL;
        bool probe = false;
        enum memory_area area;

        if ((!m->read && !m->write && !m->exec) || span_starts_with(m->path, "[v"))
            continue;
        if (span_starts_with(m->path, "/anon_hugepage")) {
            c.p.huge_bytes += m->end - m->start;
            continue;
        }
        area = is_file(m) ? area_of_file(m) : area_of_anonymous(m, before, &probe);
        r = cut(&c, m->start, m->end, area, probe, is_file(m));
    }
    free(ranges);
    if (r < 0)
        memory_pieces_deinit(&c.p);
    else
        *ret = c.p;
    return r;
}

void memory_pieces_deinit(struct memory_pieces *p)
{
    free(p->list);
    *p = (struct memory_pieces){ 0 };
}

uint64_t memory_malloc_bytes(uint64_t start, uint64_t end, const uint64_t words[MEMORY_PROBE_WORDS])
{
    uint64_t arena = words[0], bytes = words[1] & ~(uint64_t)CHUNK_FLAGS;

    if (start % MEMORY_ARENA_BYTES == 0 && arena % MEMORY_ARENA_BYTES >= sizeof(uint64_t) * 2 &&
        arena % MEMORY_ARENA_BYTES <= ARENA_HEADER_MAX && arena / MEMORY_ARENA_BYTES > 0)
        return MIN(end - start, MEMORY_ARENA_BYTES);
    if (words[0] == 0 && (words[1] & CHUNK_FLAGS) == CHUNK_MAPPED && bytes && bytes % 4096 == 0 &&
        bytes <= end - start)
        return bytes;
    return 0;
}
