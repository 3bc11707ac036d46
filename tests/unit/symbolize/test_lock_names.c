/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: names of locks in a fake JVM: classes, ways of waiting, owners. */
#include "symbolize/lock_names.h"

#include "unwind/process.h"

#include "suite.h"

#define SECOND NSEC_PER_SEC

/* ---- the JVM: the class at address 700 is called a/K7 ---- */

static struct {
    enum hotspot_lock_kind kind;
    bool owner_known;
    int result; /* result of reading a class; 0: as above */
    unsigned classes_read, owners_read;
    struct hotspot_thread owners[3];
    size_t owner_count;
    int list_result;                  /* result of reading the list of threads */
    unsigned singles;                 /* threads that were read alone */
    uint64_t ended;                   /* a JavaThread that now belongs to another thread */
    const struct hotspot_thread *one; /* a thread that is found by its JavaThread only */
} jvm;

static struct hotspot_vm *const VM = (struct hotspot_vm *)&jvm;
static struct frame_table *frames;
static struct lock_names *names;

uint64_t hotspot_lock_klass(const struct hotspot_vm *vm, uint64_t word)
{
    ck_assert_ptr_eq(vm, VM);
    if ((word & UNWIND_LOCK_OF_CLASS) == UNWIND_LOCK_OF_CLASS)
        return (word & ~UNWIND_LOCK_OF_CLASS) * 100 | HOTSPOT_LOCK_OF_CLASS;
    return word * 100;
}

int hotspot_lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret)
{
    ck_assert_ptr_eq(vm, VM);
    jvm.classes_read++;
    if (jvm.result)
        return jvm.result;
    *ret = (struct hotspot_lock_class){ .kind = jvm.kind, .owner_known = jvm.owner_known };
    ret->name_n = (uint16_t)snprintf(ret->name, sizeof(ret->name), "a/K%llu",
                                     (unsigned long long)klass / 100);
    return 0;
}

int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie)
{
    ck_assert_ptr_eq(vm, VM);
    ck_assert_uint_eq(what, HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_OWNER);
    jvm.owners_read++;
    for (size_t i = 0; i < jvm.owner_count; i++)
        fn(cookie, &jvm.owners[i]);
    return jvm.list_result;
}

int hotspot_vm_thread(struct hotspot_vm *vm, uint64_t java_thread, unsigned what,
                      hotspot_thread_fn fn, void *cookie)
{
    ck_assert_ptr_eq(vm, VM);
    ck_assert_uint_eq(what, HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_OWNER);
    jvm.singles++;
    if (!jvm.one || jvm.one->java_thread != java_thread)
        return 0;
    fn(cookie, jvm.one);
    return 1;
}

bool hotspot_thread_is(struct hotspot_vm *vm, uint64_t java_thread, int32_t ns_tid)
{
    ck_assert_ptr_eq(vm, VM);
    return java_thread != jvm.ended || (jvm.one && ns_tid == jvm.one->ns_tid);
}

/* ---- */

static void setup(void)
{
    memset(&jvm, 0, sizeof(jvm));
    jvm.owners[0] = (struct hotspot_thread){ .java_thread = 0x7f0000001000,
                                             .owner_id = 31,
                                             .stack_low = 0x7e0000000000,
                                             .stack_high = 0x7e0000010000,
                                             .name = SPAN("first") };
    jvm.owners[1] = (struct hotspot_thread){ .java_thread = 0x7f0000002000, .name = SPAN("\x01") };
    jvm.owners[2] = (struct hotspot_thread){ .java_thread = 0x7f0000003000 }; /* nameless now */
    jvm.owner_count = 3;
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &frames), 0);
    ck_assert_int_eq(lock_names_new(frames, &names), 0);
}

static void teardown(void)
{
    names = lock_names_free(names);
    frames = frame_table_free(frames);
}

static const char *text(uint32_t frame)
{
    const struct function *f =
        frame_table_get_function(frames, frame_table_get(frames, frame)->function);

    return frame_table_get_string(frames, f->name).p;
}

static struct lock_frames get_at(uint8_t lock, uint64_t class_word, uint64_t owner, uint64_t now_ns)
{
    const struct sample_record rec = { .lock = lock,
                                       .lock_class = class_word,
                                       .lock_owner = owner };
    struct lock_frames ret;

    lock_names_get(names, VM, &rec, now_ns, &ret);
    return ret;
}

static struct lock_frames get(uint8_t lock, uint64_t class_word, uint64_t owner)
{
    return get_at(lock, class_word, owner, 10 * SECOND);
}

static const struct {
    uint8_t lock;
    enum hotspot_lock_kind kind;
    const char *name;
    enum frame_kind frame;
} WAYS[] = {
    { UNWIND_LOCK_MONITOR, HOTSPOT_LOCK_OTHER, "[monitor]", FRAME_WAIT_LOCK },
    { UNWIND_LOCK_WAIT, HOTSPOT_LOCK_OTHER, "[notify]", FRAME_WAIT_NOTIFY },
    { UNWIND_LOCK_PARK, HOTSPOT_LOCK_SYNCHRONIZER, "[lock]", FRAME_WAIT_LOCK },
    { UNWIND_LOCK_PARK, HOTSPOT_LOCK_CONDITION, "[condition]", FRAME_WAIT_NOTIFY },
    { UNWIND_LOCK_PARK, HOTSPOT_LOCK_OTHER, "[park]", FRAME_WAIT_PARK },
    /* the monitor of a lock object itself is a monitor */
    { UNWIND_LOCK_MONITOR, HOTSPOT_LOCK_SYNCHRONIZER, "[monitor]", FRAME_WAIT_LOCK },
};

START_TEST(says_how_a_thread_waits)
{
    struct lock_frames got;

    jvm.kind = WAYS[_i].kind;
    got = get(WAYS[_i].lock, 7, 0);
    ck_assert_str_eq(text(got.kind), WAYS[_i].name);
    ck_assert_str_eq(text(got.class_frame), "a.K7");
    ck_assert_uint_eq(frame_table_get(frames, got.kind)->kind, WAYS[_i].frame);
    ck_assert_uint_eq(frame_table_get(frames, got.class_frame)->kind, WAYS[_i].frame);
    ck_assert(!frame_table_get(frames, got.class_frame)->unknown);
    ck_assert_uint_eq(got.owner, 0);
    /* the object of the class, as a lock of a static synchronized method */
    got = get(WAYS[_i].lock, 4 | UNWIND_LOCK_OF_CLASS, 0);
    ck_assert_str_eq(text(got.class_frame), "java.lang.Class for a.K4");
    ck_assert_str_eq(text(get(WAYS[_i].lock, 4, 0).class_frame), "a.K4");
}
END_TEST

/* Unreadable locks count as unknown frames: no word, no class, or no VM. */
START_TEST(what_cannot_be_read_is_unknown)
{
    const struct sample_record rec = { .lock = UNWIND_LOCK_PARK, .lock_class = 7 };
    struct lock_frames got = get(UNWIND_LOCK_MONITOR, 0, 0);

    ck_assert_str_eq(text(got.class_frame), "[lock of unknown class]");
    ck_assert(frame_table_get(frames, got.class_frame)->unknown);
    jvm.result = -ENOENT;
    ck_assert_str_eq(text(get(UNWIND_LOCK_MONITOR, 7, 0).class_frame), "[lock of unknown class]");
    lock_names_get(names, NULL, &rec, SECOND, &got);
    ck_assert_str_eq(text(got.class_frame), "[lock of unknown class]");
    ck_assert_str_eq(text(got.kind), "[park]");
}
END_TEST

START_TEST(a_class_is_believed_for_a_second)
{
    get_at(UNWIND_LOCK_MONITOR, 7, 0, 10 * SECOND);
    get_at(UNWIND_LOCK_MONITOR, 7, 0, 10 * SECOND + LOCK_CLASS_TRUST_NS - 1);
    ck_assert_uint_eq(jvm.classes_read, 1);
    get_at(UNWIND_LOCK_MONITOR, 7, 0, 10 * SECOND + LOCK_CLASS_TRUST_NS);
    ck_assert_uint_eq(jvm.classes_read, 2);
    /* A timeout keeps earlier results. An answer without such a class drops them. */
    jvm.result = -ETIMEDOUT;
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 0, 20 * SECOND).class_frame), "a.K7");
    jvm.result = -ENOENT;
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 0, 30 * SECOND).class_frame),
                     "[lock of unknown class]");
}
END_TEST

START_TEST(many_classes_are_read_again)
{
    for (uint64_t i = 1; i <= LOCK_CLASSES_MAX; i++)
        get(UNWIND_LOCK_MONITOR, i, 0);
    ck_assert_uint_eq(jvm.classes_read, LOCK_CLASSES_MAX);
    ck_assert_str_eq(text(get(UNWIND_LOCK_MONITOR, 1, 0).class_frame), "a.K1");
    ck_assert_uint_eq(jvm.classes_read, LOCK_CLASSES_MAX + 1);
}
END_TEST

static const struct {
    uint8_t lock;
    bool owner_known; /* the class is one with a known owner */
    uint64_t word;
    const char *name; /* NULL: none */
} OWNERS[] = {
    { UNWIND_LOCK_MONITOR, false, 0x7f0000001000, "first" },
    { UNWIND_LOCK_MONITOR, false, 31, "first" },             /* JDK 24 and later: a number */
    { UNWIND_LOCK_MONITOR, false, 0x7e0000008000, "first" }, /* JDK 8..21: in its stack */
    { UNWIND_LOCK_MONITOR, false, 0x7e0000010000, NULL },    /* behind its stack */
    { UNWIND_LOCK_MONITOR, false, 0x7f0000003000, NULL },    /* a thread without a name */
    { UNWIND_LOCK_MONITOR, false, 0x7f0000009000, NULL },
    { UNWIND_LOCK_MONITOR, false, HOTSPOT_OWNER_MARK_MAX, NULL },
    { UNWIND_LOCK_PARK, true, 0x7f0000001000, "first" },
    { UNWIND_LOCK_PARK, false, 0x7f0000001000, NULL }, /* another field of another class */
    { UNWIND_LOCK_WAIT, true, 0x7f0000001000, NULL },  /* no thread keeps it from waking */
};

START_TEST(who_had_it)
{
    struct lock_frames got;

    jvm.kind = HOTSPOT_LOCK_SYNCHRONIZER;
    jvm.owner_known = OWNERS[_i].owner_known;
    got = get(OWNERS[_i].lock, 7, OWNERS[_i].word);
    ck_assert_int_eq(got.owner != 0, OWNERS[_i].name != NULL);
    if (got.owner) {
        ck_assert_str_eq(text(got.owner), OWNERS[_i].name);
        ck_assert_uint_eq(frame_table_get(frames, got.owner)->kind, FRAME_THREAD);
    }
}
END_TEST

/* The VM's list is read if it is old or lacks a thread, but not all the time. */
START_TEST(the_list_of_threads_is_read_now_and_then)
{
    uint64_t t = 10 * SECOND;

    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000001000, t);
    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000001000, t + LOCK_OWNERS_TRUST_NS / 2);
    ck_assert_uint_eq(jvm.owners_read, 1);
    for (uint64_t i = 0; i < 100; i++) /* an owner that is no thread, as a hostile JVM may report */
        get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000009000, t + i);
    ck_assert_uint_eq(jvm.owners_read, 1);
    t += 10 * SECOND;
    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000001000, t);
    ck_assert_uint_eq(jvm.owners_read, 2);
}
END_TEST

/* A known owner is read alone, so a wait of a second costs no list. */
START_TEST(an_owner_is_read_again_alone)
{
    struct hotspot_thread renamed = jvm.owners[0];
    static const uint64_t WORDS[] = { 0x7f0000001000, 31, 0x7e0000008000 };
    uint64_t t = 10 * SECOND;

    get_at(UNWIND_LOCK_MONITOR, 7, WORDS[_i], t);
    renamed.name = SPAN("renamed");
    jvm.one = &renamed;
    t += LOCK_OWNERS_TRUST_NS;
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, WORDS[_i], t - 1).owner), "first");
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, WORDS[_i], t).owner), "renamed");
    ck_assert_uint_eq(jvm.owners_read, 1);
}
END_TEST

/* The number of an ended thread is not that of the next one in its memory. */
START_TEST(a_number_is_of_one_thread)
{
    struct hotspot_thread next = jvm.owners[0];
    uint64_t t = 10 * SECOND;

    get_at(UNWIND_LOCK_MONITOR, 7, 31, t);
    next.name = SPAN("next");
    next.owner_id = 32;
    next.ns_tid = 77;
    jvm.one = &next;
    jvm.ended = next.java_thread;
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, next.java_thread, t + 1).owner), "next");
    ck_assert_uint_eq(get_at(UNWIND_LOCK_MONITOR, 7, 31, t + 2).owner, 0);
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 32, t + 3).owner), "next");
}
END_TEST

/* For example a virtual thread, which is in no list. */
START_TEST(a_strange_owner_has_the_list_read_rarely)
{
    uint64_t t = 10 * SECOND;

    for (uint64_t i = 0; i < LOCK_OWNERS_STRANGE_S; i++)
        get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000009000, t + i * SECOND);
    ck_assert_uint_eq(jvm.owners_read, 1);
    ck_assert_uint_eq(jvm.singles, 1);
    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000008000, t + 9 * SECOND); /* another owner */
    ck_assert_uint_eq(jvm.owners_read, 2);
    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000009000, t + LOCK_OWNERS_STRANGE_S * SECOND);
    ck_assert_uint_eq(jvm.owners_read, 3);
}
END_TEST

/* A list that cannot be read says nothing about an owner. */
START_TEST(a_list_that_is_not_read_makes_none_strange)
{
    size_t count = jvm.owner_count;

    jvm.owner_count = 0;
    jvm.list_result = -ETIMEDOUT;
    ck_assert_uint_eq(get_at(UNWIND_LOCK_MONITOR, 7, 31, 10 * SECOND).owner, 0);
    jvm.owner_count = count;
    jvm.list_result = 0;
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 31, 11 * SECOND).owner), "first");
}
END_TEST

/* The list before stays, as one that was not read, or only in part, lacks no thread. Here the word
 * is an id, so no thread can be read alone. */
START_TEST(a_list_that_is_not_read_replaces_none)
{
    uint64_t t = 10 * SECOND;
    size_t count = jvm.owner_count;

    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 31, t).owner), "first");
    jvm.owner_count = 0;
    jvm.list_result = -ETIMEDOUT;
    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000009000, t + 9 * SECOND);
    ck_assert_uint_eq(jvm.owners_read, 2);
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 31, t + 9 * SECOND).owner), "first");
    jvm.owner_count = count;
    jvm.list_result = 0;
}
END_TEST

/* An ended thread's memory is soon reused. */
START_TEST(one_that_has_ended_has_nothing)
{
    const struct hotspot_thread next = { .ns_tid = 77,
                                         .java_thread = 0x7f0000001000,
                                         .name = SPAN("next") };
    uint64_t t = 10 * SECOND;

    get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000001000, t);
    jvm.ended = 0x7f0000001000;
    ck_assert_uint_eq(get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000001000, t + 1).owner, 0);
    jvm.one = &next;
    ck_assert_str_eq(text(get_at(UNWIND_LOCK_MONITOR, 7, 0x7f0000001000, t + 2).owner), "next");
    ck_assert_uint_eq(jvm.owners_read, 1);
}
END_TEST

START_TEST(hostile_names_are_harmless)
{
    const char *name = text(get(UNWIND_LOCK_MONITOR, 7, 0x7f0000002000).owner);

    ck_assert_ptr_null(strchr(name, '\x01'));
    ck_assert_uint_gt(strlen(name), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock_names");
    TCase *tc = tcase_create("locks");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, says_how_a_thread_waits, 0, ARRAY_SIZE(WAYS));
    tcase_add_test(tc, what_cannot_be_read_is_unknown);
    tcase_add_test(tc, a_class_is_believed_for_a_second);
    tcase_add_test(tc, many_classes_are_read_again);
    tcase_add_loop_test(tc, who_had_it, 0, ARRAY_SIZE(OWNERS));
    tcase_add_test(tc, the_list_of_threads_is_read_now_and_then);
    tcase_add_loop_test(tc, an_owner_is_read_again_alone, 0, 3);
    tcase_add_test(tc, a_number_is_of_one_thread);
    tcase_add_test(tc, a_strange_owner_has_the_list_read_rarely);
    tcase_add_test(tc, a_list_that_is_not_read_makes_none_strange);
    tcase_add_test(tc, a_list_that_is_not_read_replaces_none);
    tcase_add_test(tc, one_that_has_ended_has_nothing);
    tcase_add_test(tc, hostile_names_are_harmless);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
