/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process and the file behind each of them. */
#include "symbolize/resolver_impl.h"

#include "base/clock.h"
#include "proc/stall_readers.h"

#define RESOLVER_REST                                                                              \
    50 /* after a reading of the maps of t ns at least 50 t pass before the next */
/* Limits of a process's executable mappings, and of the bytes of their paths. They are smaller
 * (FEW) once all processes together take RESOLVER_MAPS_BYTES. With hundreds of processes that have
 * thousands of mappings, most mappings have no names. */
#define RESOLVER_MAPPINGS_FEW 256
#define RESOLVER_PATHS_MAX ((size_t)512 << 10)
#define RESOLVER_PATHS_FEW ((size_t)16 << 10)
#define RESOLVER_MAPS_BYTES ((size_t)32 << 20)
#define RESOLVER_MAPS_NS (20 * NSEC_PER_MSEC)

size_t resolver_maps_bytes(const struct maps *m)
{
    return m->count * (sizeof(struct mapping) + sizeof(struct bound)) + m->text.n;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
    return mapping_same_place(a, b) && a->exec == b->exec && span_eq(a->path, b->path);
}

/* Copies the facts of unchanged mappings to @maps. Returns true if all executable ones still exist
 * unchanged. */
static bool carry_over(const struct resolver *r, const struct maps *maps, struct bound *bound)
{
    bool kept = true;
    size_t j = 0;

    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];

        while (j < maps->count && maps->entries[j].start < m->start)
            j++;
        if (j < maps->count && same_mapping(m, &maps->entries[j]))
            bound[j] = r->bound[i];
        else
            kept &= !m->exec;
    }
    return kept;
}

/* Returns when maps read at @now_ns are due again without an unknown address. That is 1 s and 10 s
 * after an exec, when libraries have been loaded. Later it is rarely. */
static uint64_t next_due(const struct resolver *r, uint64_t now_ns)
{
    if (r->exec_time_ns && now_ns < r->exec_time_ns + NSEC_PER_SEC)
        return r->exec_time_ns + NSEC_PER_SEC;
    if (r->exec_time_ns && now_ns < r->exec_time_ns + 10 * NSEC_PER_SEC)
        return r->exec_time_ns + 10 * NSEC_PER_SEC;
    return now_ns + RESOLVER_STALE_NS;
}

/* Takes *m, unless the previous reading is better because the process is ending, or because this
 * reading hit its time limit earlier. Libraries are at the end of the maps. */
static void take_maps(struct resolver *r, struct maps *m)
{
    bool worse = !m->count || (m->late && m->count < r->maps.count);
    struct bound *bound = worse ? NULL : calloc(m->count, sizeof(*bound));

    r->late = m->late;
    if (!bound) {
        maps_deinit(m);
        return;
    }
    if (!carry_over(r, m, bound))
        u64_cache_clear(&r->pcs);
    *r->env->maps_bytes += resolver_maps_bytes(m) - resolver_maps_bytes(&r->maps);
    maps_deinit(&r->maps);
    free(r->bound);
    r->maps = *m;
    r->bound = bound;
}

void resolver_read_maps(struct resolver *r, uint64_t now_ns)
{
    const bool many = *r->env->maps_bytes < RESOLVER_MAPS_BYTES;
    const struct maps_limits limits = {
        .entries = many ? MAPS_EXEC_MAX : RESOLVER_MAPPINGS_FEW,
        .path_bytes = many ? RESOLVER_PATHS_MAX : RESOLVER_PATHS_FEW,
        .ns = RESOLVER_MAPS_NS,
        .met = r->met,
    };
    uint64_t began_ns = clock_monotonic_ns(), took_ns;
    struct maps maps;
    int fd = -1;

    if (!readers_afford(&r->id)) {
        r->miss_ns = now_ns + RESOLVER_MISS_NS;
        r->due_ns = MAX(r->due_ns, r->miss_ns);
        r->gaps.put_off_ns = now_ns;
        return;
    }
    if (r->env->files->maps(r->env->files->cookie, &r->id, &fd, NULL) == 0 &&
        maps_read_exec(&r->id, fd, &limits, &maps) == 0) {
        take_maps(r, &maps);
        r->gaps.put_off_ns = 0;
    }
    took_ns = clock_monotonic_ns() - began_ns;
    readers_spend(&r->id, took_ns);
    r->miss_ns = now_ns + MAX(RESOLVER_MISS_NS, took_ns * RESOLVER_REST);
    r->due_ns = MAX(next_due(r, now_ns), r->miss_ns);
}

const struct mapping *resolver_mapping(struct resolver *r, uint64_t address, uint64_t now_ns)
{
    const struct mapping *m = maps_find(&r->maps, address);

    if (!m && r->maps.truncated)
        maps_meet(&r->met, address);
    if ((!m || !m->exec) && now_ns >= r->miss_ns) {
        resolver_read_maps(r, now_ns);
        m = maps_find(&r->maps, address);
    }
    return m && m->exec ? m : NULL;
}

bool mapping_is_anonymous(const struct mapping *m)
{
    return !m->path.n || (m->path.p[0] == '[' && !span_eq_str(m->path, "[vdso]")) ||
           span_starts_with(m->path, "//anon") || span_starts_with(m->path, "/dev/zero") ||
           span_starts_with(m->path, "/SYSV") || span_starts_with(m->path, "anon_inode:");
}

bool mapping_may_be_generated(const struct mapping *m)
{
    return mapping_is_anonymous(m) || span_starts_with(m->path, "/memfd:") ||
           span_starts_with(m->path, "/dev/shm/");
}

bool mapping_is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
           span_eq(a->path, b->path);
}

/* Binds @b to the same file, mapped elsewhere in this process, if that was or is being read. */
static bool find_twin(const struct resolver *r, const struct mapping *m, struct bound *b)
{
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct bound *known = &r->bound[i];

        if (m->inode && mapping_is_same_file(&r->maps.entries[i], m) &&
            (known->state == BOUND_READING ||
             (known->state == BOUND_FILE && elf_cache_get(r->env->elf, known->elf)))) {
            b->elf = known->elf;
            b->state = known->state;
            return true;
        }
    }
    return false;
}

/* Sets the state of @b by @outcome, the result of reading or loading its file. */
static void set_bound(struct resolver *r, struct bound *b, int outcome, uint64_t now_ns)
{
    if (outcome == -ETIMEDOUT)
        r->gaps.unanswered_ns = now_ns;
    b->state = outcome == 0                   ? BOUND_FILE
               : outcome == ELF_CACHE_PENDING ? BOUND_READING
                                              : BOUND_FAILED;
}

struct elf_image *resolver_bind(struct resolver *r, const struct mapping *m, struct bound *b,
                                uint64_t now_ns)
{
    struct elf_cache *elf = r->env->elf;
    struct elf_image *image;

    if (b->state == BOUND_READING) {
        int outcome = elf_cache_settle(elf, &b->elf);

        set_bound(r, b, outcome, now_ns);
        b->again_ns = outcome == -EAGAIN ? 0 : b->again_ns;
    }
    image = b->state == BOUND_FILE ? elf_cache_get(elf, b->elf) : NULL;
    if (image || b->state == BOUND_READING || now_ns < b->again_ns)
        return image;
    b->again_ns = now_ns + RESOLVER_AGAIN_NS;
    b->state = BOUND_FAILED;
    if (!find_twin(r, m, b))
        set_bound(r, b,
                  elf_cache_load(elf, resolver_owner(r), r->env->files, &r->id, m->start, m->end,
                                 &b->elf, NULL),
                  now_ns);
    return b->state == BOUND_FILE ? elf_cache_get(elf, b->elf) : NULL;
}

/* Returns the end of the code that begins with mapping @at. */
static uint64_t end_of_pieces(const struct resolver *r, size_t at)
{
    const struct mapping *m = &r->maps.entries[at];
    uint64_t end = m->end;

    for (size_t i = at + 1; i < r->maps.count; i++) {
        const struct mapping *next = &r->maps.entries[i];

        if (!next->exec || next->start != end || !mapping_is_same_file(m, next) ||
            next->offset - m->offset != next->start - m->start)
            break;
        end = next->end;
    }
    return end;
}

int resolver_libjvm(struct resolver *r, uint64_t from, struct mapping *ret, uint64_t *ret_end)
{
    if (!r->maps.count)
        resolver_read_maps(r, clock_monotonic_ns());
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];

        if (!m->exec || m->start < from || !m->path.n)
            continue;
        if (!path_is_libjvm(m->path)) /* the mappings were read before libjvm.so was loaded */
            return -ENOENT;
        *ret = *m;
        *ret_end = end_of_pieces(r, i);
        return 0;
    }
    return -ENOENT;
}
