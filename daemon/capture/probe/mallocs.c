/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/mallocs.h"

#include "base/clock.h"

/* The first is what a library has that is one of these. What begins with an instruction that no
 * probe is put at is left out, but for that. */
static const struct {
    const char *name;
    uint32_t argument, of_glibc;
    bool of_musl;  /* it calls no other; there calloc() calls malloc(), to name one */
    bool followed; /* with event nativelive; of the others the blocks are not known there */
} FUNCTIONS[] = {
    { "malloc", BROKER_MALLOC_FIRST, BROKER_MALLOC_FIRST, true, true },
    { "calloc", BROKER_MALLOC_PRODUCT, BROKER_MALLOC_PRODUCT, false, true },
    { "realloc", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, true, true },
    { "posix_memalign", BROKER_MALLOC_THIRD, BROKER_MALLOC_THIRD_OF_LARGE, false, true },
    { "aligned_alloc", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, true, true },
    { "memalign", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, false, true },
    { "valloc", BROKER_MALLOC_FIRST, BROKER_MALLOC_FIRST, false, false },
};
#define REALLOC 2 /* the index of it */
_Static_assert(ARRAY_SIZE(FUNCTIONS) <= 32, "bits of struct mallocs");

/* Behind those, what gives back, and what only one library has. glibc: what it has beside its
 * malloc, and none that takes the place of that (tcmalloc has __libc_malloc, too). There realloc()
 * of NULL calls malloc(), and so do those that align, for what is aligned anyway. Its loader has a
 * malloc for itself before 2.32. */
enum { FREE = ARRAY_SIZE(FUNCTIONS), GLIBC, MUSL, LOADER, NAMES };
static const char *const MARKS[] = { "free", "malloc_info", "__dls3", "__tls_get_addr" };

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

/* What puts probes takes. */
struct putting {
    struct broker *broker;
    const struct proc_id *id;
    uint32_t set;
    bool coming; /* the kernel is still putting some */
};

/* Has one put at the function at @offset of @l, or in it. As broker_probe_put(), and -ESRCH. */
static int put_probe(struct putting *to, const struct library *l, uint64_t offset,
                     uint32_t argument, struct error *err)
{
    const struct broker_probes probes = { .program = BROKER_PROBED_MALLOC,
                                          .set = to->set,
                                          .count = 1,
                                          .places = { broker_place_of(offset, argument) } };
    int r = broker_probe_put(to->broker, to->id, l->start, l->end, &probes, err);

    if (r == -EINPROGRESS) {
        to->coming = true;
        return 0;
    }
    return r > 0 ? error_set(err, -ESRCH, "it has ended") : r;
}

/* Whether nothing can be said without a probe at function number @i: with @followed, blocks that
 * realloc() gives back would seem to stay. */
static bool is_needed(size_t i, bool followed)
{
    return i == 0 || (followed && i == REALLOC);
}

/* Puts those of function number @i of @l; with @followed also where its blocks are known. What
 * cannot be is left out. As put_probe(). */
static int put_function(struct mallocs *m, struct putting *to, const struct library *l, size_t i,
                        bool followed, struct error *err)
{
    uint32_t argument = l->offsets[GLIBC] ? FUNCTIONS[i].of_glibc : FUNCTIONS[i].argument;
    int r = -ENOEXEC;

    if (!followed || FUNCTIONS[i].followed)
        r = put_probe(to, l, l->offsets[i], argument, err);
    if (r == -ENOEXEC && is_needed(i, followed))
        return r;
    if (r == 0 && followed)
        r = put_probe(to, l, l->offsets[i], BROKER_MALLOC_RESULT, err);
    if (r != -ENOEXEC || i == 0)
        return r;
    m->left_out |= UINT32_C(1) << i;
    return 0;
}

static int put_library(struct mallocs *m, struct putting *to, const struct library *l,
                       bool followed, struct error *err)
{
    struct error why = ERROR_NULL;
    int r = followed ? put_probe(to, l, l->offsets[FREE], BROKER_MALLOC_FREE, &why) : 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(FUNCTIONS); i++) {
        if (is_wanted(l, i))
            r = put_function(m, to, l, i, followed, &why);
    }
    if (r < 0 && err)
        *err = why;
    if (r == -ENOEXEC || r == -EPERM)
        error_remedy(err, "event=nativemem%s shows who makes it grow, and needs no probe",
                     followed ? "" : " without source=malloc");
    return r;
}

static bool is_loader(const struct library *l)
{
    return l->offsets[LOADER] && !l->offsets[MUSL] && !l->offsets[GLIBC];
}

/* Whether blocks can be followed that @count libraries give. */
static int check_followed(const struct library *all, size_t count, struct error *err)
{
    size_t i = 0;

    while (i < count && ((all[i].offsets[GLIBC] && all[i].offsets[FREE]) || is_loader(&all[i])))
        i++;
    if (i == count)
        return 0;
    error_set(err, -EOPNOTSUPP,
              "it has mapped a malloc that is not glibc's, and the blocks of others cannot be "
              "followed");
    error_remedy(err, "event=malloc shows what is asked for, and event=nativemem who makes the "
                      "process grow; jemalloc and tcmalloc have leak profilers of their own");
    return -EOPNOTSUPP;
}

/* All that @p has, before the first probe stands: one that goes again counts for a while. Of more
 * than MALLOCS_LIBRARIES_MAX the first ones, and *ret_more. */
static int find_libraries(struct symbolizer *s, struct process *p, struct library *ret,
                          size_t *ret_count, bool *ret_more)
{
    struct library behind;
    const char *names[NAMES];
    uint64_t from = 0;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(FUNCTIONS); i++)
        names[i] = FUNCTIONS[i].name;
    for (size_t i = FREE; i < NAMES; i++)
        names[i] = MARKS[i - FREE];
    *ret_more = false;
    for (*ret_count = 0; !*ret_more;) {
        struct library *l = *ret_count < MALLOCS_LIBRARIES_MAX ? &ret[*ret_count] : &behind;

        r = symbolizer_library(s, p, from, names, NAMES, l->offsets, &l->start, &l->end);
        if (r < 0)
            break;
        from = l->end;
        *ret_more = l == &behind;
        *ret_count += !*ret_more;
    }
    return r == -ENOENT && *ret_count ? 0 : r;
}

int mallocs_put(struct mallocs *m, struct broker *b, struct symbolizer *s, struct process *p,
                uint32_t set, bool followed, struct error *err)
{
    struct putting to = { .broker = b, .id = &p->id, .set = set };
    struct library libraries[MALLOCS_LIBRARIES_MAX];
    size_t count;
    int r = find_libraries(s, p, libraries, &count, &m->more);

    if (r == -ENOENT)
        error_set(err, r, "no file that process %d has mapped has a function malloc",
                  p->id.host_pid);
    if (r == 0 && followed)
        r = check_followed(libraries, count, err);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (followed && is_loader(&libraries[i]))
            continue;
        r = put_library(m, &to, &libraries[i], followed, err);
    }
    if (r < 0) {
        broker_probe_drop(b, p->id.host_pid, BROKER_PROBED_MALLOC, set, NULL);
        return r;
    }
    if (to.coming)
        return error_set(err, -EINPROGRESS, "the kernel is still putting probes into process %d",
                         p->id.host_pid);
    m->begun_ns = clock_monotonic_ns();
    m->followed = followed;
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
    bool followed = m->followed;

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
              "it calls %s %llu times a second, which probes would make about %.1f %% of a "
              "processor more expensive; the limit is %d calls a second",
              followed ? "malloc and free" : "malloc", (unsigned long long)m->per_second,
              (double)m->per_second * MALLOCS_COST_NS / NSEC_PER_SEC * 100, MALLOCS_PER_SECOND_MAX);
    error_remedy(err, "event=nativemem%s costs nothing of that; force=1 samples it nevertheless",
                 followed ? "" : " without source=malloc");
    return -EDQUOT;
}
