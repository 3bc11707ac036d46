/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mallocs.h"

#include "base/clock.h"

/* The first is what a library has that is one of these. What begins with an instruction that no
 * probe is put at is left out, but for that. */
static const struct {
    const char *name;
    uint32_t argument, of_glibc;
    bool of_musl; /* it calls no other; there calloc() calls malloc(), to name one */
} FUNCTIONS[] = {
    { "malloc", BROKER_MALLOC_FIRST, BROKER_MALLOC_FIRST, true },
    { "calloc", BROKER_MALLOC_PRODUCT, BROKER_MALLOC_PRODUCT, false },
    { "realloc", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, true },
    { "posix_memalign", BROKER_MALLOC_THIRD, BROKER_MALLOC_THIRD, false },
    { "aligned_alloc", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND, true },
    { "memalign", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND, false },
    { "valloc", BROKER_MALLOC_FIRST, BROKER_MALLOC_FIRST, false },
};
_Static_assert(ARRAY_SIZE(FUNCTIONS) <= 32, "bits of struct mallocs");

/* Behind those, what only one library has. glibc: what it has beside its malloc, and none that
 * takes the place of that (tcmalloc has __libc_malloc, too). There realloc() of NULL calls
 * malloc(). */
enum { GLIBC = ARRAY_SIZE(FUNCTIONS), MUSL, NAMES };
static const char *const MARKS[] = { "malloc_info", "__dls3" };

/* Whether function number @i begins where another does that is probed: glibc's aligned_alloc is
 * memalign. */
static bool is_alias(const uint64_t *offsets, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (offsets[k] == offsets[i])
            return true;
    }
    return false;
}

/* A file that has a malloc: where its functions begin, and where it is mapped. */
struct library {
    uint64_t offsets[NAMES], start, end;
};

/* Whether function number @i of @l is to be probed. */
static bool is_wanted(const struct library *l, size_t i)
{
    return l->offsets[i] && !is_alias(l->offsets, i) && (!l->offsets[MUSL] || FUNCTIONS[i].of_musl);
}

static int put_library(struct mallocs *m, struct broker *b, const struct proc_id *id, uint32_t set,
                       const struct library *l, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(FUNCTIONS); i++) {
        const struct broker_malloc function = { .offset = l->offsets[i],
                                                .argument = l->offsets[GLIBC]
                                                                ? FUNCTIONS[i].of_glibc
                                                                : FUNCTIONS[i].argument };
        struct error why = ERROR_NULL;
        int r;

        if (!is_wanted(l, i))
            continue;
        r = broker_malloc(b, id, l->start, l->end, set, &function, &why);
        if (r == -ENOEXEC && i > 0)
            m->left_out |= UINT32_C(1) << i;
        if (r == 0 || (r == -ENOEXEC && i > 0))
            continue;
        if (err)
            *err = why;
        if (r == -ENOEXEC || r == -EPERM)
            error_remedy(err, "event=nativemem without source=malloc shows who makes it grow, "
                              "and needs no probe");
        return r > 0 ? error_set(err, -ESRCH, "it has ended") : r;
    }
    return 0;
}

/* All that @p has, before the first probe stands: one that goes again counts for a while. Of more
 * than MALLOCS_LIBRARIES_MAX the first ones, and *ret_more. */
static int find_libraries(struct symbolizer *s, struct process *p, uint64_t until_ns,
                          struct library *ret, size_t *ret_count, bool *ret_more)
{
    struct library behind;
    const char *names[NAMES];
    uint64_t from = 0;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(FUNCTIONS); i++)
        names[i] = FUNCTIONS[i].name;
    for (size_t i = GLIBC; i < NAMES; i++)
        names[i] = MARKS[i - GLIBC];
    *ret_more = false;
    for (*ret_count = 0; !*ret_more;) {
        struct library *l = *ret_count < MALLOCS_LIBRARIES_MAX ? &ret[*ret_count] : &behind;

        r = symbolizer_library(s, p, from, names, NAMES, until_ns, l->offsets, &l->start, &l->end);
        if (r < 0)
            break;
        from = l->end;
        *ret_more = l == &behind;
        *ret_count += !*ret_more;
    }
    return r == -ENOENT && *ret_count ? 0 : r;
}

int mallocs_put(struct mallocs *m, struct broker *b, struct symbolizer *s, struct process *p,
                uint32_t set, uint64_t until_ns, struct error *err)
{
    struct library libraries[MALLOCS_LIBRARIES_MAX];
    size_t count;
    int r = find_libraries(s, p, until_ns, libraries, &count, &m->more);

    if (r == -ENOENT)
        error_set(err, r, "no file that process %d has mapped has a function malloc",
                  p->id.host_pid);
    if (r < 0)
        return r;
    broker_uncall(b, p->id.host_pid, set, NULL); /* of a process image before */
    for (size_t i = 0; r == 0 && i < count; i++)
        r = put_library(m, b, &p->id, set, &libraries[i], err);
    if (r < 0) {
        broker_uncall(b, p->id.host_pid, set, NULL);
        return r;
    }
    m->begun_ns = clock_monotonic_ns();
    if (broker_mallocs(b, p->id.host_pid, &m->before) != 0) /* by other sets */
        m->before = 0;
    return 0;
}

const char *mallocs_left_out(const struct mallocs *m, char buf[MALLOCS_LEFT_OUT_BYTES])
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(FUNCTIONS); i++) {
        if (m->left_out & UINT32_C(1) << i)
            n += (size_t)snprintf(buf + n, MALLOCS_LEFT_OUT_BYTES - n, "%s%s", n ? ", " : "",
                                  FUNCTIONS[i].name);
    }
    return buf;
}

int mallocs_look(struct mallocs *m, struct broker *b, int32_t host_pid, bool forced,
                 struct error *err)
{
    uint64_t now_ns = clock_monotonic_ns(), calls, took_ns = now_ns - m->begun_ns;

    if (broker_mallocs(b, host_pid, &calls) != 0 || calls < m->before)
        return 0;
    /* So many have come in less than a second, or the second is over. */
    if (calls - m->before <= MALLOCS_PER_SECOND_MAX && took_ns < NSEC_PER_SEC)
        return 0;
    m->per_second = (calls - m->before) * NSEC_PER_SEC / MAX(took_ns, NSEC_PER_MSEC);
    m->begun_ns = now_ns;
    m->before = calls;
    if (forced || m->per_second <= MALLOCS_PER_SECOND_MAX)
        return 0;
    error_set(err, -EDQUOT,
              "it calls malloc %llu times a second, which probes would make about %.1f %% of a "
              "processor more expensive; the limit is %d calls a second",
              (unsigned long long)m->per_second,
              (double)m->per_second * MALLOCS_COST_NS / NSEC_PER_SEC * 100, MALLOCS_PER_SECOND_MAX);
    error_remedy(err,
                 "event=nativemem without source=malloc costs nothing of that; force=1 samples "
                 "it nevertheless");
    return -EDQUOT;
}
