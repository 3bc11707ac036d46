/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof of an unknown release, on a JVM with known layouts. The right layouts pass. Then each
 * number of the table is moved or swapped with its neighbour: the proof refuses that, or each name
 * is right or missing.
 */
#include "suite.h"

#include "hotspot/code/code.h"
#include "live_jvm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

#define PROGRAM "HotspotProof"
#define CODES_MAX 400
#define FRAMES_MAX 8
#define THREADS_MAX 64
#define NAME_BYTES 160
#define REFUSALS 60

static const int RELEASES[] = { 17, 25 };

struct member {
    const char *name, *type;
    size_t at; /* offset in struct hotspot_layout */
};

#define X(member, type, ...) { #member, type, offsetof(struct hotspot_layout, member) },
#define A(...)
static const struct member FIELDS[] = { LAYOUT_FIELDS(X, A) };
#undef X
#define X(member, ...) { #member, "", offsetof(struct hotspot_layout, member##_at) },
static const struct member STATICS[] = { LAYOUT_STATICS(X, A) };
#undef X
#define X(member, ...) { #member, "", offsetof(struct hotspot_layout, sizeof_##member) },
static const struct member SIZES[] = { LAYOUT_SIZES(X) };
#undef X
#define X(member, ...) { #member, "", offsetof(struct hotspot_layout, member) },
static const struct member CONSTANTS[] = { LAYOUT_CONSTANTS(X, A) };
#undef X
#undef A

/* An address in code and the expected names; "": none. */
struct place {
    uint64_t pc;
    int frames;
    bool by_loop; /* the leaf was inferred by loops, which unknown releases do not allow */
    char names[FRAMES_MAX][NAME_BYTES]; /* outermost first */
};

struct seen_thread {
    uint64_t java_thread;
    int32_t tid;
    char name[NAME_BYTES], lock[NAME_BYTES];
};

struct answers {
    struct place places[CODES_MAX];
    size_t place_count;
    struct seen_thread threads[THREADS_MAX];
    size_t thread_count;
};

static struct live_jvm jvm;
static struct hotspot_vm *vm;
static struct answers truth, told;

static ssize_t read_jvm(void *cookie, uint64_t address, void *buf, size_t n)
{
    ssize_t r = pread(*(int *)cookie, buf, n, (off_t)address);

    return r < 0 ? -errno : r;
}

static unsigned reads, refused; /* @refused: number of the read that is refused; 0: none */

static ssize_t read_or_refuse(void *cookie, uint64_t address, void *buf, size_t n)
{
    return ++reads == refused ? -ETIMEDOUT : read_jvm(cookie, address, buf, n);
}

static void stop(void)
{
    vm = hotspot_vm_close(vm);
    if (jvm.pid)
        kill(jvm.pid, SIGCONT);
    live_stop_all();
    jvm.pid = 0;
}

/* Starts the program, lets it compile, and stops it in place. */
static bool start(int jdk)
{
    const char *args[] = { "-Xmx96m", PROGRAM, NULL };
    char line[256];

    if (!live_home(jdk)) {
        fprintf(stderr, "JDK %d: not here, skipped\n", jdk);
        return false;
    }
    live_start(jdk, args, &jvm);
    live_attach(&jvm);
    do
        ck_assert(live_line(&jvm, line, sizeof(line), 60000));
    while (strcmp(line, "ready") != 0);
    sleep(2);
    ck_assert_int_eq(kill(jvm.pid, SIGSTOP), 0);
    usleep(100000);
    return true;
}

/* ---- questions ---- */

static void ask_place(struct place *p)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct hotspot_code code;
    struct hotspot_method m;
    int n;

    p->frames = 0;
    if (hotspot_code_find(vm, p->pc, &code) != 0 ||
        (code.kind != HOTSPOT_CODE_COMPILED && code.kind != HOTSPOT_CODE_NATIVE))
        return;
    n = hotspot_code_locate(vm, &code, p->pc, false, at);
    p->by_loop = n > 0 && at[0].leaf != HOTSPOT_LEAF_RECORDED;
    for (int i = n - 1; i >= 0 && p->frames < FRAMES_MAX; i--) {
        if (hotspot_method_read(vm, at[i].method, &m) != 0)
            break;
        snprintf(p->names[p->frames++], NAME_BYTES, "%.*s.%.*s:%u", (int)MIN(m.class_name_n, 60),
                 m.class_name, (int)MIN(m.name_n, 60), m.name,
                 hotspot_method_line(vm, at[i].method, at[i].bci));
    }
}

static void see_thread(void *cookie, const struct hotspot_thread *t)
{
    struct answers *a = cookie;
    struct seen_thread *s = &a->threads[a->thread_count];
    struct hotspot_lock lock;
    struct hotspot_lock_class class;
    uint64_t klass;

    if (a->thread_count == THREADS_MAX)
        return;
    *s = (struct seen_thread){ .java_thread = t->java_thread, .tid = t->ns_tid };
    a->thread_count++;
    span_copy(t->name, s->name, sizeof(s->name));
    if (hotspot_lock_read(vm, t->java_thread, &lock) != 0)
        return;
    klass = hotspot_lock_klass(vm, lock.class_word);
    if (klass && hotspot_lock_class(vm, klass, &class) == 0)
        snprintf(s->lock, sizeof(s->lock), "%d %.*s", (int)lock.kind, (int)MIN(class.name_n, 100),
                 class.name);
}

/* Finds all names of the places in @a. */
static void ask(struct answers *a)
{
    struct unwind_locks locks;

    for (size_t i = 0; i < a->place_count; i++)
        ask_place(&a->places[i]);
    a->thread_count = 0;
    hotspot_vm_locks(vm, &locks);
    hotspot_vm_threads(vm, HOTSPOT_THREAD_NAME, see_thread, a);
}

static int see_code(void *cookie, const struct hotspot_code *c)
{
    struct answers *a = cookie;

    if (c->kind == HOTSPOT_CODE_COMPILED || c->kind == HOTSPOT_CODE_NATIVE) {
        for (uint64_t i = 1; i < 4 && a->place_count < CODES_MAX; i++)
            a->places[a->place_count++].pc = c->start + (c->end - c->start) * i / 4;
    }
    return a->place_count == CODES_MAX;
}

/* ---- comparison ---- */

/* Returns true if @got is another name than @want. A line of 0 in @got means unknown. */
static bool is_other(const char *want, const char *got)
{
    const char *line = strrchr(got, ':');

    if (strcmp(want, got) == 0)
        return false;
    return !line || strcmp(line, ":0") != 0 || strncmp(want, got, (size_t)(line - got) + 1) != 0;
}

/* Returns true if both are of one method, whatever their lines. */
static bool same_method(const char *a, const char *b)
{
    size_t n = (size_t)(strrchr(a, ':') - a) + 1;

    return strncmp(a, b, n) == 0;
}

static unsigned wrong_places(void)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < truth.place_count; i++) {
        const struct place *want = &truth.places[i], *got = &told.places[i];
        bool alone = got->frames == 1; /* only the compiled method itself, without inlined frames */

        if (want->by_loop) {
            wrong += got->frames > 0 && !same_method(want->names[0], got->names[0]);
            continue;
        }
        for (int k = 0; k < MIN(got->frames, want->frames); k++) {
            char outer[NAME_BYTES];

            snprintf(outer, sizeof(outer), "%.*s:0",
                     (int)(strrchr(want->names[k], ':') - want->names[k]), want->names[k]);
            if (is_other(want->names[k], got->names[k]) &&
                !(alone && strcmp(outer, got->names[k]) == 0)) {
                if (!wrong)
                    fprintf(stderr, "  %s for %s\n", got->names[k], want->names[k]);
                wrong++;
            }
        }
        wrong += got->frames > want->frames && want->frames > 0;
    }
    return wrong;
}

static unsigned wrong_threads(void)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < told.thread_count; i++) {
        const struct seen_thread *got = &told.threads[i], *want = NULL;

        for (size_t k = 0; k < truth.thread_count; k++) {
            if (truth.threads[k].java_thread == got->java_thread)
                want = &truth.threads[k];
        }
        if (want && ((got->name[0] && got->tid != want->tid) ||
                     (got->name[0] && strcmp(got->name, want->name) != 0) ||
                     (got->lock[0] && strcmp(got->lock, want->lock) != 0))) {
            if (!wrong)
                fprintf(stderr, "  thread '%s' (%s) for '%s' (%s)\n", got->name, got->lock,
                        want->name, want->lock);
            wrong++;
        }
    }
    return wrong;
}

/* ---- mutations ---- */

struct tally {
    unsigned refused, off, harmless, wrong;
    unsigned asked, every; /* one of @every is tried */
};

static void try(const struct hotspot_layout *layout, const char *how, const char *name,
                struct tally *t)
{
    struct error err = ERROR_NULL;
    int r;

    if (t->asked++ % t->every != 0)
        return;
    r = hotspot_vm_open_memory(read_jvm, &jvm.mem_fd, 0, layout, &vm, &err);
    if (r != 0) {
        t->refused++;
        return;
    }
    ask(&told);
    if (wrong_places() || wrong_threads()) {
        fprintf(stderr, "WRONG: %s of %s: %s\n", how, name, hotspot_vm_note(vm));
        t->wrong++;
    } else if (strstr(hotspot_vm_note(vm), "switched off")) {
        t->off++;
    } else {
        fprintf(stderr, "harmless: %s of %s\n", how, name);
        t->harmless++;
    }
    vm = hotspot_vm_close(vm);
}

static struct layout_field *field_of(struct hotspot_layout *l, const struct member *m)
{
    return (struct layout_field *)((char *)l + m->at);
}

static void move_fields(const struct hotspot_layout *right, struct tally *t)
{
    for (size_t i = 0; i < ARRAY_SIZE(FIELDS); i++) {
        struct hotspot_layout l = *right;
        struct layout_field f = *field_of(&l, &FIELDS[i]);
        int32_t step = f.width ? f.width : 8;

        if (!layout_has(f))
            continue;
        field_of(&l, &FIELDS[i])->offset = f.offset + step;
        try(&l, "one up", FIELDS[i].name, t);
        field_of(&l, &FIELDS[i])->offset = f.offset - step;
        if (f.offset >= step)
            try(&l, "one down", FIELDS[i].name, t);
    }
}

static void swap_fields(const struct hotspot_layout *right, struct tally *t)
{
    for (size_t i = 0; i < ARRAY_SIZE(FIELDS); i++) {
        struct hotspot_layout l = *right;
        struct layout_field *f = field_of(&l, &FIELDS[i]), *next = NULL, kept = *f;

        for (size_t k = i + 1; k < ARRAY_SIZE(FIELDS) && !next; k++) {
            struct layout_field *g = field_of(&l, &FIELDS[k]);

            if (strcmp(FIELDS[i].type, FIELDS[k].type) == 0 && layout_has(*g) &&
                g->width == f->width)
                next = g;
        }
        if (!layout_has(*f) || !next)
            continue;
        *f = *next;
        *next = kept;
        try(&l, "a swap", FIELDS[i].name, t);
    }
}

static void move_numbers(const struct hotspot_layout *right, struct tally *t)
{
    for (size_t i = 0; i < ARRAY_SIZE(STATICS); i++) {
        for (int step = -8; step <= 8; step += 16) {
            struct hotspot_layout l = *right;
            uint64_t *at = (uint64_t *)((char *)&l + STATICS[i].at);

            if (!*at)
                break;
            *at += (uint64_t)(int64_t)step;
            try(&l, "a move", STATICS[i].name, t);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(SIZES); i++) {
        for (int step = -8; step <= 8; step += 16) {
            struct hotspot_layout l = *right;
            uint32_t *n = (uint32_t *)((char *)&l + SIZES[i].at);

            if (!*n || (int64_t)*n + step <= 0)
                continue;
            *n += (uint32_t)step;
            try(&l, "another size", SIZES[i].name, t);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(CONSTANTS); i++) {
        struct hotspot_layout l = *right;
        int32_t *n = (int32_t *)((char *)&l + CONSTANTS[i].at);

        if (*n == LAYOUT_NO_NUMBER)
            continue;
        *n += 1;
        try(&l, "one more", CONSTANTS[i].name, t);
    }
}

/* Checks that @l gives all names. */
static void check_right(const struct hotspot_layout *l, int jdk)
{
    struct error err = ERROR_NULL;

    ck_assert_msg(hotspot_vm_open_memory(read_jvm, &jvm.mem_fd, 0, l, &vm, &err) == 0, "%s",
                  err.msg);
    fprintf(stderr, "JDK %d: %s\n", jdk, hotspot_vm_note(vm));
    ck_assert_ptr_null(strstr(hotspot_vm_note(vm), "switched off"));
    ask(&told);
    ck_assert_uint_eq(wrong_places() + wrong_threads(), 0);
    ck_assert_uint_eq(told.thread_count, truth.thread_count);
    vm = hotspot_vm_close(vm);
}

/* Checks that a read that comes late switches nothing off, and refuses no JVM. @l is right. */
static void check_refused_reads(const struct hotspot_layout *l)
{
    struct error err = ERROR_NULL;
    unsigned all = 0, late = 0;

    for (unsigned i = 0; i <= REFUSALS; i++) {
        int r;

        reads = 0;
        refused = i * all / REFUSALS;
        r = hotspot_vm_open_memory(read_or_refuse, &jvm.mem_fd, 0, l, &vm, &err);
        if (i == 0)
            all = reads;
        ck_assert_msg(r == 0 || r == -ETIMEDOUT || r == HOTSPOT_NOT_READY, "read %u of %u: %d, %s",
                      refused, all, r, err.msg);
        late += r != 0;
        if (r == 0)
            ck_assert_msg(!strstr(hotspot_vm_note(vm), "switched off"), "read %u of %u: %s",
                          refused, all, hotspot_vm_note(vm));
        vm = hotspot_vm_close(vm);
    }
    ck_assert_uint_gt(late, REFUSALS / 4);
}

START_TEST(a_wrong_table_gives_no_wrong_name)
{
    struct error err = ERROR_NULL;
    struct hotspot_layout l;
    const char *every = getenv("FLAMED_WRONG_TABLES_EVERY");
    struct tally t = { .every = every ? (unsigned)strtoul(every, NULL, 10) : 8 };

    if (!start(RELEASES[_i]))
        return;
    ck_assert_int_eq(
        hotspot_vm_open_memory(read_jvm, &jvm.mem_fd, jvm.libjvm_base, NULL, &vm, &err), 0);
    ck_assert_str_eq(hotspot_vm_note(vm), "");
    l = vm->layout;
    memset(&truth, 0, sizeof(truth));
    ck_assert_int_ge(hotspot_vm_codes(vm, &(struct hotspot_codes_at){ 0 }, see_code, &truth), 0);
    ask(&truth);
    told = truth;
    vm = hotspot_vm_close(vm);
    ck_assert_uint_gt(truth.place_count, 60);
    ck_assert_uint_gt(truth.thread_count, 5);

    l.run = false; /* an unknown release */
    check_right(&l, RELEASES[_i]);
    l.symbol_length.offset -= 2; /* the offset in 12 to 14; another number lies below it */
    l.symbol_length.width = 4;
    check_right(&l, RELEASES[_i]);
    l.symbol_length.offset += 2;
    l.symbol_length.width = 2;
    check_refused_reads(&l);

    move_fields(&l, &t);
    swap_fields(&l, &t);
    move_numbers(&l, &t);
    fprintf(stderr,
            "JDK %d: of %u wrong tables %u are refused, of %u a part is switched off, %u "
            "change no name, %u give a wrong one\n",
            RELEASES[_i], t.refused + t.off + t.harmless + t.wrong, t.refused, t.off, t.harmless,
            t.wrong);
    ck_assert_uint_eq(t.wrong, 0);
    ck_assert_uint_gt(t.refused, 100 / t.every);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hotspot_proof");
    TCase *tc = tcase_create("wrong tables");

    if (geteuid() != 0 || (!live_home(17) && !live_home(25))) {
        fprintf(stderr, "needs root and a JDK\n");
        return 77;
    }
    if (!live_compile(PROGRAM ".java")) {
        fprintf(stderr, "cannot compile\n");
        return 1;
    }
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, NULL, stop);
    tcase_add_loop_test(tc, a_wrong_table_gives_no_wrong_name, 0, (int)ARRAY_SIZE(RELEASES));
    suite_add_tcase(s, tc);
    return suite_run_unforked(s);
}
