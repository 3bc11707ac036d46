/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/locks.c: the meaning of a class word, the class of a lock, and the lock that a thread
 * waits for, in memory with any contents. */
#include "suite.h"
#include "vm_image.h"

#define KLASS_NAME 16 /* offsets, in bytes */
#define KLASS_SUPER 24
#define THREAD (VM_IMAGE + 0x1000)
#define OBJECT (VM_IMAGE + 0x1800)
#define MONITOR (VM_IMAGE + 0x1c00)
#define OWNER 0x7f00dead0000

static struct hotspot_vm *vm;
static uint64_t next_symbol;

static void setup(void)
{
    next_symbol = VM_IMAGE + 0x400;
    vm = vm_image_new();
    vm->layout.klass_name = vm_image_field(KLASS_NAME, 8);
    vm->layout.klass_super = vm_image_field(KLASS_SUPER, 8);
    vm->layout.symbol_length = vm_image_field(0, 2);
    vm->layout.symbol_body = vm_image_field(2, 0);
    vm->names.known = true;
    vm->locks = (struct unwind_locks){ .pending_monitor = 8,
                                       .waiting_monitor = 16,
                                       .thread_object = 24,
                                       .monitor_object = 8,
                                       .monitor_owner = 16,
                                       .park_blocker = 32,
                                       .eetop = 40,
                                       .exclusive_owner = 48,
                                       .klass = 8,
                                       .klass_bytes = 8,
                                       .oop_bytes = 8 };
}

static void teardown(void)
{
    vm_unref(vm);
}

/* Puts a class at @klass; @name NULL: an unreadable name. */
static void make_class(uint64_t klass, const char *name, uint64_t super)
{
    vm_image_put(klass + KLASS_NAME, name ? next_symbol : 0x1000);
    vm_image_put(klass + KLASS_SUPER, super);
    vm_image_symbol(next_symbol, name ? name : "", 0);
    next_symbol += 128;
}

#define CLASS(i) (VM_IMAGE + 64 * (uint64_t)(i))

static const struct {
    const char *names[3]; /* a class and its superclasses */
    uint64_t root;        /* the superclass of the last one */
    int r;
    enum hotspot_lock_kind kind;
} CLASSES[] = {
    { { "com/acme/Cache", "java/lang/Object" }, 0, 0, HOTSPOT_LOCK_OTHER },
    { { "java/lang/Object" }, 0, 0, HOTSPOT_LOCK_OTHER },
    { { "java/util/concurrent/locks/ReentrantLock$NonfairSync",
        "java/util/concurrent/locks/AbstractOwnableSynchronizer", "java/lang/Object" },
      0,
      0,
      HOTSPOT_LOCK_SYNCHRONIZER },
    { { "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject",
        "java/lang/Object" },
      0,
      0,
      HOTSPOT_LOCK_CONDITION },
    { { "com/acme/Cache", "com/acme/Base" }, 0, -ENOENT, 0 },        /* the root is not Object */
    { { "com/acme/Cache" }, CLASS(0), -ENOENT, 0 },                  /* a class above itself */
    { { "com/acme/Cache", "com/acme/Base" }, CLASS(0), -ENOENT, 0 }, /* a circle */
    { { "com/acme/Cache" }, 0x10, -ENOENT, 0 },                      /* not mapped */
    { { "com/acme/Cache" }, UINT64_MAX - 16, -ENOENT, 0 },           /* not an address either */
    { { "" }, 0, -ENOENT, 0 },                                       /* no name */
    { { "java/lang/Object" }, 0, 0, HOTSPOT_LOCK_OTHER },
};

START_TEST(reads_classes)
{
    struct hotspot_lock_class c;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(CLASSES[_i].names) && CLASSES[_i].names[i]; i++) {
        bool last = i + 1 == ARRAY_SIZE(CLASSES[_i].names) || !CLASSES[_i].names[i + 1];

        make_class(CLASS(i), CLASSES[_i].names[i], last ? CLASSES[_i].root : CLASS(i + 1));
    }
    r = hotspot_lock_class(vm, CLASS(0), &c);
    ck_assert_int_eq(r, CLASSES[_i].r);
    if (r != 0)
        return;
    ck_assert_int_eq(c.kind, CLASSES[_i].kind);
    ck_assert_uint_eq(c.name_n, strlen(CLASSES[_i].names[0]));
    ck_assert_mem_eq(c.name, CLASSES[_i].names[0], c.name_n);
}
END_TEST

START_TEST(refuses_what_is_no_class)
{
    struct hotspot_lock_class c = { .kind = HOTSPOT_LOCK_CONDITION };

    ck_assert_int_eq(hotspot_lock_class(vm, 0, &c), -ENOENT);
    ck_assert_int_eq(hotspot_lock_class(vm, UINT64_MAX, &c), -ENOENT);
    ck_assert_int_eq(hotspot_lock_class(vm, VM_IMAGE + VM_IMAGE_BYTES - 8, &c), -ENOENT);
    make_class(CLASS(0), NULL, 0);
    ck_assert_int_eq(hotspot_lock_class(vm, CLASS(0), &c), -ENOENT);
    make_class(CLASS(0), "x", 0);
    vm_image_put(next_symbol - 128, 0xffff); /* longer than any name, with zeros in it */
    ck_assert_int_eq(hotspot_lock_class(vm, CLASS(0), &c), -ENOENT);
    ck_assert_int_eq(c.kind, HOTSPOT_LOCK_CONDITION); /* the result stays unchanged */
}
END_TEST

static const struct {
    bool known, compressed, compact;
    uint64_t word, klass;
} CLASS_WORDS[] = {
    { true, false, false, CLASS(3), CLASS(3) },
    { true, true, false, 0, 0 },
    { true, true, false, 0x100, 0x800000000 + 0x800 },
    { true, true, true, UINT64_C(0x100) << 42 | 1, 0x800000000 + 0x800 },
    { true, true, true, (UINT64_C(1) << 42) - 1, 0 },
    { false, true, false, 0x100, 0 },
};

START_TEST(class_words)
{
    vm->names = (struct name_layout){ .known = CLASS_WORDS[_i].known,
                                      .compressed_klass = CLASS_WORDS[_i].compressed,
                                      .compact_headers = CLASS_WORDS[_i].compact,
                                      .klass_base = 0x800000000,
                                      .klass_shift = 3,
                                      .mark_shift = 42 };
    ck_assert_uint_eq(hotspot_lock_klass(vm, CLASS_WORDS[_i].word), CLASS_WORDS[_i].klass);
}
END_TEST

static void check_lock(uint8_t kind, uint64_t word, uint64_t owner)
{
    struct hotspot_lock lock;

    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), 0);
    ck_assert_uint_eq(lock.kind, kind);
    ck_assert_uint_eq(lock.class_word, word);
    ck_assert_uint_eq(lock.owner, owner);
}

START_TEST(monitors)
{
    vm_image_put(OBJECT + 8, CLASS(1));
    vm_image_put(MONITOR + 8, OBJECT);
    vm_image_put(MONITOR + 16, OWNER);
    vm_image_put(THREAD + 16, MONITOR);
    check_lock(UNWIND_LOCK_WAIT, CLASS(1), 0);
    vm_image_put(THREAD + 8, MONITOR); /* notified, so it waits to enter */
    check_lock(UNWIND_LOCK_MONITOR, CLASS(1), OWNER);
    vm_image_put(THREAD + 8, 0x1000); /* no such monitor */
    check_lock(UNWIND_LOCK_MONITOR, 0, 0);
}
END_TEST

/* The lock of a static synchronized method is the object of its class. */
START_TEST(objects_of_classes)
{
    struct hotspot_lock_class c;
    uint64_t klass = 0;

    make_class(CLASS(1), "java/util/concurrent/locks/AbstractOwnableSynchronizer", CLASS(2));
    make_class(CLASS(2), "java/lang/Object", 0);
    vm->locks.class_class = CLASS(0);
    vm->locks.class_klass = 64;
    vm->layout.oop_klass = vm_image_field(8, 8);
    vm_image_put(OBJECT + 8, CLASS(0));
    vm_image_put(OBJECT + 64, CLASS(1));
    vm_image_put(MONITOR + 8, OBJECT);
    vm_image_put(THREAD + 8, MONITOR);
    check_lock(UNWIND_LOCK_MONITOR, CLASS(1) | UNWIND_LOCK_OF_CLASS, 0);
    ck_assert_int_eq(vm_lock_klass(vm, OBJECT, &klass), 0);
    ck_assert_uint_eq(klass, CLASS(1) | HOTSPOT_LOCK_OF_CLASS);
    ck_assert_uint_eq(hotspot_lock_word(vm, klass), CLASS(1) | UNWIND_LOCK_OF_CLASS);
    ck_assert_uint_eq(hotspot_lock_klass(vm, hotspot_lock_word(vm, klass)), klass);
    ck_assert_int_eq(hotspot_lock_class(vm, klass, &c), 0);
    ck_assert_int_eq(c.kind, HOTSPOT_LOCK_OTHER); /* the object of a synchronizer's class is none */
    ck_assert_int_eq(hotspot_lock_class(vm, CLASS(1), &c), 0);
    ck_assert_int_eq(c.kind, HOTSPOT_LOCK_SYNCHRONIZER);
    vm_image_put(OBJECT + 64, 0); /* int.class */
    check_lock(UNWIND_LOCK_MONITOR, CLASS(0), 0);
    vm_image_put(OBJECT + 64, CLASS(1));
    vm_image_put(OBJECT + 8, CLASS(3)); /* another class, with any word there */
    check_lock(UNWIND_LOCK_MONITOR, CLASS(3), 0);
    vm->locks.compact = 1;
    vm->locks.mark_shift = 42;
    vm->locks.class_class = 9;
    vm_image_put(OBJECT + 8, UINT64_C(9) << 42 | 0x51); /* with the rest of the mark */
    check_lock(UNWIND_LOCK_MONITOR, CLASS(1) | UNWIND_LOCK_OF_CLASS, 0);
}
END_TEST

START_TEST(references_in_each_form)
{
    vm_image_put(OBJECT + 8, CLASS(1));
    vm_image_put(THREAD + 8, MONITOR);
    vm->locks.monitor_handle = 1;
    vm_image_put(MONITOR + 8, VM_IMAGE + 0x1d00);
    vm_image_put(VM_IMAGE + 0x1d00, OBJECT);
    check_lock(UNWIND_LOCK_MONITOR, CLASS(1), 0);
    vm_image_put(MONITOR + 8, 0); /* an empty handle */
    check_lock(UNWIND_LOCK_MONITOR, 0, 0);
    vm->locks.coloured = 1;
    vm_image_put(MONITOR + 8, VM_IMAGE + 0x1d00);
    for (unsigned remapped = 0; remapped < 4; remapped++) {
        vm_image_put(VM_IMAGE + 0x1d00, OBJECT << (13 + remapped) | UINT64_C(1) << (12 + remapped));
        check_lock(UNWIND_LOCK_MONITOR, CLASS(1), 0);
    }
    vm->locks.coloured = 0;
    vm_image_put(VM_IMAGE + 0x1d00, OBJECT);
    vm->locks.compact = 1;
    vm_image_put(OBJECT + 8, (VM_IMAGE + 0x1e00) | 3); /* the object moved */
    vm_image_put(VM_IMAGE + 0x1e00, 0x1234);
    check_lock(UNWIND_LOCK_MONITOR, 0x1234, 0);
    vm_image_put(OBJECT + 8, UINT64_MAX); /* it moved to no address */
    check_lock(UNWIND_LOCK_MONITOR, 0, 0);
}
END_TEST

START_TEST(parked_threads)
{
    struct hotspot_lock lock = { .kind = 99 };
    const uint64_t blocker = VM_IMAGE + 0x1e00, holder = VM_IMAGE + 0x1f00;

    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), -ENOENT); /* no Thread, no blocker */
    vm_image_put(THREAD + 24, OBJECT);
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), -ENOENT);
    ck_assert_uint_eq(lock.kind, 99);
    vm_image_put(OBJECT + 32, blocker);
    vm_image_put(blocker + 8, CLASS(2));
    check_lock(UNWIND_LOCK_PARK, CLASS(2), 0);
    vm_image_put(blocker + 48, holder);
    vm_image_put(holder + 40, OWNER);
    check_lock(UNWIND_LOCK_PARK, CLASS(2), OWNER);
    vm_image_put(blocker + 48, 0x1000);
    check_lock(UNWIND_LOCK_PARK, CLASS(2), 0);
    /* compressed references: four bytes, shifted */
    vm->locks.oop_bytes = 4;
    vm->locks.oop_shift = 3;
    vm->locks.oop_base = VM_IMAGE;
    vm_image_put(OBJECT + 32, (blocker - VM_IMAGE) >> 3);
    vm_image_put(blocker + 48, UINT64_C(0x5555555500000000) | (holder - VM_IMAGE) >> 3);
    check_lock(UNWIND_LOCK_PARK, CLASS(2), OWNER);
}
END_TEST

START_TEST(not_known_is_no_lock)
{
    struct hotspot_lock lock;

    vm->locks.klass_bytes = 0;
    vm_image_put(THREAD + 8, MONITOR);
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), -ENOENT);
}
END_TEST

static unsigned refused; /* reads that are refused from now on */
static memory_read_fn read_image;

static ssize_t read_or_refuse(void *cookie, uint64_t address, void *buf, size_t n)
{
    if (refused == 0)
        return read_image(cookie, address, buf, n);
    refused--;
    return -ETIMEDOUT;
}

/* A read that came late, or for which there was no budget, says nothing about the JVM. */
START_TEST(a_refused_read_is_no_verdict)
{
    struct unwind_locks locks;
    uint64_t value;

    vm->names.known = false;
    vm->locks.klass_bytes = 0;
    vm->layout.string_klass_at = VM_IMAGE + 0x100; /* 0: its classes are not loaded yet */
    vm->layout.thread_klass_at = VM_IMAGE + 0x108;
    vm->layout.flags_at = VM_IMAGE + 0x110; /* a table without flags */
    vm->layout.flag_count_at = VM_IMAGE + 0x118;
    read_image = vm->memory.read;
    vm->memory.read = read_or_refuse;
    for (unsigned n = 0; n < 4; n++) {
        refused = n;
        ck_assert_int_eq(hotspot_vm_locks(vm, &locks), -EAGAIN);
    }
    refused = 1;
    ck_assert_int_eq(hotspot_vm_flag(vm, "UseZGC", &value), -EAGAIN);
    ck_assert_int_eq(hotspot_vm_flag(vm, "UseZGC", &value), -ENOENT);
    vm->layout.flags_at = 0x1000; /* unmapped: a JVM without a readable table has no flags */
    ck_assert_int_eq(hotspot_vm_flag(vm, "UseZGC", &value), -ENOENT);
    vm->layout.string_klass_at = 0x1000;
    ck_assert_int_eq(hotspot_vm_locks(vm, &locks), -EAGAIN);
    ck_assert(vm->names.unusable);
    ck_assert_int_eq(hotspot_vm_locks(vm, &locks), -ENOENT);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hotspot_locks");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, reads_classes, 0, ARRAY_SIZE(CLASSES));
    tcase_add_test(tc, refuses_what_is_no_class);
    tcase_add_loop_test(tc, class_words, 0, ARRAY_SIZE(CLASS_WORDS));
    tcase_add_test(tc, monitors);
    tcase_add_test(tc, objects_of_classes);
    tcase_add_test(tc, references_in_each_form);
    tcase_add_test(tc, parked_threads);
    tcase_add_test(tc, not_known_is_no_lock);
    tcase_add_test(tc, a_refused_read_is_no_verdict);
    return suite_run_case("hotspot_locks", tc);
}
