/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/mallocs.h"

#include "base/clock.h"
#include "base/list.h"

/* The probed functions. A library with the first of them has a malloc. A function that begins with
 * an instruction that cannot have a probe is left out, unless it is the first. */
static const struct {
    const char *name;
    uint32_t argument, of_glibc;
    bool of_musl;  /* probed in musl, where it calls no other of these functions, unlike calloc() */
    bool followed; /* probed for event nativelive: the blocks that it returns are known */
} FUNCTIONS[] = {
    { "malloc", BROKER_MALLOC_FIRST, BROKER_MALLOC_FIRST, true, true },
    { "calloc", BROKER_MALLOC_PRODUCT, BROKER_MALLOC_PRODUCT, false, true },
    { "realloc", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, true, true },
    { "posix_memalign", BROKER_MALLOC_THIRD, BROKER_MALLOC_THIRD_OF_LARGE, false, true },
    { "aligned_alloc", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, true, true },
    { "memalign", BROKER_MALLOC_SECOND, BROKER_MALLOC_SECOND_OF_OLD, false, true },
    { "valloc", BROKER_MALLOC_FIRST, BROKER_MALLOC_FIRST, false, false },
};
#define REALLOC 2 /* index of realloc() in FUNCTIONS */
_Static_assert(ARRAY_SIZE(FUNCTIONS) <= 32, "bits of struct mallocs");

/* Further names: free, and names that only one library has. GLIBC is a name that glibc has and
 * replacements of its malloc lack (tcmalloc has __libc_malloc, too). In glibc, realloc() of NULL
 * calls malloc(), and so do aligning functions if malloc aligns enough. Before 2.32, its loader has
 * a malloc of its own. */
enum { FREE = ARRAY_SIZE(FUNCTIONS), GLIBC, MUSL, LOADER, NAMES };
static const char *const MARKS[] = { "free", "malloc_info", "__dls3", "__tls_get_addr" };

/* Returns whether function number @i begins at the address of an earlier probed function. In glibc,
 * aligned_alloc is memalign. */
static bool is_alias(const uint64_t *offsets, size_t i)
{
    return ANY_OF(k, i, offsets[k] == offsets[i]);
}

/* A file with a malloc: the offsets of its functions, and its mapping. */
struct library {
    uint64_t offsets[NAMES], start, end;
};

/* Returns whether function number @i of @l is to be probed. */
static bool is_wanted(const struct library *l, size_t i)
{
    return l->offsets[i] && !is_alias(l->offsets, i) && (!l->offsets[MUSL] || FUNCTIONS[i].of_musl);
}

/* The process and set that get probes. */
struct putting {
    struct broker *broker;
    const struct proc_id *id;
    uint32_t set;
    bool coming; /* the kernel is still installing some probes */
};

/* Puts one probe at @offset of @l. Returns as broker_probe_put(), except for -ESRCH, and for 0 with
 * to->coming. */
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

/* Returns whether the event needs function number @i. With @followed, blocks that realloc() frees
 * would otherwise seem to stay. */
static bool is_needed(size_t i, bool followed)
{
    return i == 0 || (followed && i == REALLOC);
}

/* Puts the probes of function number @i of @l; with @followed also at its result. Stores in @m a
 * function that cannot be probed. Returns as put_probe(). */
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
        error_remedy(err, "event=nativemem%s shows which code makes it grow, and needs no probe",
                     followed ? "" : " without source=malloc");
    return r;
}

static bool is_loader(const struct library *l)
{
    return l->offsets[LOADER] && !l->offsets[MUSL] && !l->offsets[GLIBC];
}

/* Checks whether the blocks of @count libraries can be followed. */
static int check_followed(const struct library *all, size_t count, struct error *err)
{
    size_t i = 0;

    while (i < count && ((all[i].offsets[GLIBC] && all[i].offsets[FREE]) || is_loader(&all[i])))
        i++;
    if (i == count)
        return 0;
    error_set(
        err, -EOPNOTSUPP,
        "it has mapped another malloc than glibc's, and flamed can follow only glibc's blocks");
    error_remedy(err, "event=malloc shows which code allocates, event=nativemem which code makes "
                      "the process grow; jemalloc and tcmalloc have leak profilers of their own");
    return -EOPNOTSUPP;
}

/* Finds all libraries of @p before the first probe is put: a probe that is removed again stays for
 * a while. If there are more than MALLOCS_LIBRARIES_MAX, finds the first ones and sets
 * *ret_more. */
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
    if (broker_mallocs(b, p->id.host_pid, &m->before) != 0) /* other sets count calls already */
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
    /* Waits for more calls than the limit, or for the end of the second. */
    if (calls - m->before <= MALLOCS_PER_SECOND_MAX && took_ns < NSEC_PER_SEC)
        return 0;
    m->per_second = (calls - m->before) * NSEC_PER_SEC / MAX(took_ns, NSEC_PER_MSEC);
    m->begun_ns = now_ns;
    m->before = calls;
    if (forced || m->per_second <= MALLOCS_PER_SECOND_MAX)
        return 0;
    error_set(err, -EDQUOT,
              "its probes of %s were hit %llu times a second, which costs about %.1f %% of a "
              "processor; the limit is %d hits a second",
              followed ? "malloc and free" : "malloc", (unsigned long long)m->per_second,
              (double)m->per_second * MALLOCS_COST_NS / NSEC_PER_SEC * 100, MALLOCS_PER_SECOND_MAX);
    error_remedy(err, "event=nativemem%s has no such cost; force=1 samples it nevertheless",
                 followed ? "" : " without source=malloc");
    return -EDQUOT;
}
