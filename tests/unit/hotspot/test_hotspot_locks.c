/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/locks.c: the meaning of a class word, and the class of a lock. hotspot/thread_lock.c with
 * unwind/lock_steps.h, which BPF programs run as well: the lock that a thread waits for. All in
 * memory with any contents. */
#include "suite.h"
#include "vm_image.h"

#include "unwind/forwarding.h"

#define KLASS_NAME 16 /* offsets, in bytes */
#define KLASS_SUPER 24
#define THREAD (VM_IMAGE + 0x1000)
#define OBJECT (VM_IMAGE + 0x1800)
#define MONITOR (VM_IMAGE + 0x1c00)
#define OWNER 0x7f00dead0000

static struct hotspot_vm *vm;
static uint64_t next_symbol;
static memory_read_fn read_image;

static void setup(void)
{
    next_symbol = VM_IMAGE + 0x400;
    vm = vm_image_new();
    vm->layout.klass_name = vm_image_field(KLASS_NAME, 8);
    vm->layout.klass_super = vm_image_field(KLASS_SUPER, 8);
    vm->layout.symbol_length = vm_image_field(0, 2);
    vm->layout.symbol_body = vm_image_field(2, 0);
    vm->names = (struct name_layout){ .known = true };
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
    vm->names.coloured_oops = true;
    vm->locks.coloured = 1;
    vm_image_put(MONITOR + 8, VM_IMAGE + 0x1d00);
    for (unsigned remapped = 0; remapped < 4; remapped++) {
        vm_image_put(VM_IMAGE + 0x1d00, OBJECT << (13 + remapped) | UINT64_C(1) << (12 + remapped));
        check_lock(UNWIND_LOCK_MONITOR, CLASS(1), 0);
    }
    vm->names.coloured_oops = false;
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
    vm_image_put(THREAD + 24, 0x1000); /* unreadable, so it may have a blocker */
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), -EAGAIN);
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

/* Offsets from VM_IMAGE of what ZGC says of objects that it has moved. */
enum { BAD_MASK = 0x2000, MAP = 0x2008, FORWARDING = 0x2100, ENTRIES = FORWARDING + 64 };

#define ENTRY_COUNT 4
#define MOVED (VM_IMAGE + 0x3000)
#define GOOD(object)                                                                               \
    ((object) << 13 | 1 << 12) /* references: up to date, and older than a move                    \
                                */
#define STALE(object) ((object) << 15 | 1 << 14)

/* ZGC has moved each object @n bytes behind OBJECT to @n bytes behind MOVED. Its page has other
 * objects now. */
static void make_zgc(void)
{
    const struct unwind_forwarding f = { .bytes = 1 << UNWIND_GRANULE_SHIFT,
                                         .alignment_shift = 4,
                                         .length = ENTRY_COUNT };
    uint64_t entry = (OBJECT - VM_IMAGE) >> 4 << UNWIND_ENTRY_INDEX_SHIFT |
                     (MOVED - VM_IMAGE) << UNWIND_ENTRY_OFFSET_SHIFT | UNWIND_ENTRY_POPULATED;

    vm->names.zgc = true;
    vm->names.coloured_oops = true;
    vm->locks.coloured = 1;
    vm->zgc = (struct zgc){ .known = true,
                            .at = { .bad_mask = VM_IMAGE + BAD_MASK,
                                    .offset_mask = UINT32_MAX,
                                    .granules = 1,
                                    .maps = { VM_IMAGE + MAP },
                                    .forwarding_bytes = ENTRIES - FORWARDING } };
    vm_image_put(VM_IMAGE + BAD_MASK, 0xe000);
    vm_image_put(VM_IMAGE + MAP, VM_IMAGE + FORWARDING);
    memcpy(vm_image_at(VM_IMAGE + FORWARDING), &f, sizeof(f));
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        vm_image_put(VM_IMAGE + ENTRIES + 8 * i, entry);
    vm_image_put(OBJECT + 8, CLASS(4));
    vm_image_put(MOVED + 8, CLASS(1));
}

/* A reference that nobody has loaded since is still that to the old place. */
START_TEST(moved_monitors)
{
    make_zgc();
    vm->locks.monitor_handle = 1;
    vm_image_put(THREAD + 8, MONITOR);
    vm_image_put(MONITOR + 8, MONITOR + 64);
    vm_image_put(MONITOR + 64, GOOD(OBJECT));
    check_lock(UNWIND_LOCK_MONITOR, CLASS(4), 0);
    vm_image_put(MONITOR + 64, STALE(OBJECT));
    check_lock(UNWIND_LOCK_MONITOR, CLASS(1), 0);
}
END_TEST

START_TEST(moved_blockers)
{
    const uint64_t object = VM_IMAGE + 0x3800;

    make_zgc();
    vm_image_put(THREAD + 24, GOOD(object));
    vm_image_put(object + 32, STALE(OBJECT));
    vm_image_put(object + 40, OWNER);
    vm_image_put(MOVED + 48, GOOD(object));
    check_lock(UNWIND_LOCK_PARK, CLASS(1), OWNER);
    /* the java.lang.Thread itself has moved */
    vm_image_put(THREAD + 24, STALE(OBJECT));
    vm_image_put(OBJECT + 32, GOOD(MONITOR)); /* what has its place now */
    vm_image_put(MONITOR + 8, CLASS(5));
    vm_image_put(MOVED + 32, GOOD(object));
    vm_image_put(object + 8, CLASS(3));
    check_lock(UNWIND_LOCK_PARK, CLASS(3), 0);
}
END_TEST

#define OFFSETS ((UINT64_C(1) << 42) - 1)
#define VIEW(i, address) (UINT64_C(1) << (42 + (i)) | ((address)-VM_IMAGE))

static ssize_t read_view_2(void *cookie, uint64_t address, void *buf, size_t n)
{
    if (address < VM_IMAGE)
        address = address >> 42 == 4 ? VM_IMAGE + (address & OFFSETS) : 0x1000;
    return read_image(cookie, address, buf, n);
}

/* A view of ZGC's heap has only the pages that the program has used there. */
START_TEST(the_heap_in_another_view)
{
    struct hotspot_lock lock;

    read_image = vm->memory.read;
    vm->memory.read = read_view_2;
    vm->zgc = (struct zgc){ .known = true,
                            .at = { .bad_mask = VM_IMAGE + BAD_MASK, .offset_mask = OFFSETS } };
    vm_image_put(VM_IMAGE + BAD_MASK, UINT64_C(1) << 45);
    vm_image_put(THREAD + 24, VIEW(_i, OBJECT));
    vm_image_put(OBJECT + 32, VIEW(_i, MONITOR));
    vm_image_put(MONITOR + 8, CLASS(1));
    vm_image_put(MONITOR + 48, VIEW(_i, MOVED));
    vm_image_put(MOVED + 40, OWNER);
    if (_i < UNWIND_VIEWS)
        check_lock(UNWIND_LOCK_PARK, CLASS(1), OWNER);
    else
        ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), -EAGAIN);
}
END_TEST

/* A page that is cached may be older than a reference to an object in it. */
START_TEST(reads_no_cached_page)
{
    struct hotspot_lock lock;
    uint64_t word;

    vm_image_put(THREAD + 8, MONITOR);
    vm_image_put(MONITOR + 8, OBJECT);
    vm_image_put(OBJECT + 8, CLASS(4));
    memory_begin(&vm->memory);
    ck_assert_int_eq(memory_u64(&vm->memory, OBJECT + 8, &word), 0);
    vm_image_put(OBJECT + 8, CLASS(1));
    ck_assert_int_eq(vm_lock(vm, THREAD, &lock), 0);
    ck_assert_uint_eq(lock.class_word, CLASS(1));
    ck_assert_int_eq(memory_u64(&vm->memory, OBJECT + 8, &word), 0);
    ck_assert_uint_eq(word, CLASS(4)); /* the rest of the call still has its pages */
}
END_TEST

/* Offsets from VM_IMAGE of what the VM says of its collections. */
enum { COLLECTIONS = 0x4000, COLLECTS = 0x4008, COMPACT = 0x4010 };

struct pause {
    uint8_t collects, from, to; /* from, to: when the last compaction began and ended */
};

static void say_pause(struct pause p)
{
    vm->locks.pauses = (struct unwind_pauses){ VM_IMAGE + COLLECTIONS, VM_IMAGE + COLLECTS,
                                               VM_IMAGE + COMPACT, VM_IMAGE + COMPACT + 8 };
    *vm_image_at(VM_IMAGE + COLLECTS) = p.collects;
    vm_image_put(VM_IMAGE + COMPACT, p.from);
    vm_image_put(VM_IMAGE + COMPACT + 8, p.to);
}

static const struct {
    struct pause pause;
    bool known;
} PAUSES[] = {
    { { 0, 0, 0 }, true },
    { { 0, 5, 4 }, true }, /* the heap has moved */
    { { 1, 4, 5 }, true }, /* it copies */
    { { 1, 5, 4 }, false },
};

START_TEST(a_compaction_hides_objects)
{
    struct hotspot_lock lock;
    bool known = PAUSES[_i].known;

    say_pause(PAUSES[_i].pause);
    vm_image_put(THREAD + 8, MONITOR);
    vm_image_put(MONITOR + 8, OBJECT);
    vm_image_put(MONITOR + 16, OWNER);
    vm_image_put(OBJECT + 8, CLASS(1));
    check_lock(UNWIND_LOCK_MONITOR, known ? CLASS(1) : 0, OWNER);
    vm_image_put(THREAD + 8, 0);
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), known ? -ENOENT : -EAGAIN);
    vm_image_put(THREAD + 24, OBJECT);
    vm_image_put(OBJECT + 32, MONITOR);
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), known ? 0 : -EAGAIN);
    vm->locks.pauses.compact_from = vm->locks.pauses.compact_to =
        0; /* each collection may compact */
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), PAUSES[_i].pause.collects ? -EAGAIN : 0);
    vm->locks.pauses.collects = UINT64_MAX;
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), -EAGAIN);
}
END_TEST

static unsigned reads,
    change_at; /* from this read on, the VM says something else after every third */
static struct pause next_pause;

static ssize_t read_and_change(void *cookie, uint64_t address, void *buf, size_t n)
{
    ssize_t r = read_image(cookie, address, buf, n);

    if (++reads >= change_at && (reads - change_at) % 3 == 0) {
        vm_image_put(THREAD + 24, OBJECT + 0x100); /* another object, of another class */
        say_pause(next_pause);
        vm_image_put_int(VM_IMAGE + COLLECTIONS, reads);
    }
    return r;
}

/* A collection begins or ends at any read, and others do at the second try. */
START_TEST(a_collection_beside_the_reading)
{
    const struct pause first = { _i & 1, 4, 5 };
    struct hotspot_lock lock;
    unsigned all;

    vm_image_put(OBJECT + 32, MONITOR);
    vm_image_put(OBJECT + 0x100 + 32, THREAD);
    vm_image_put(MONITOR + 8, CLASS(1));
    vm_image_put(THREAD + 8, 0);
    next_pause = (struct pause){ !first.collects, 4, 5 };
    read_image = vm->memory.read;
    vm->memory.read = read_and_change;
    reads = 0;
    change_at = 1000;
    vm_image_put(THREAD + 24, OBJECT);
    say_pause(first);
    ck_assert_int_eq(hotspot_lock_read(vm, THREAD, &lock), 0);
    all = reads;
    ck_assert_uint_le(all, first.collects ? 16 : 12);
    for (change_at = 1; change_at < all - (first.collects ? 2 : 0); change_at++) {
        vm_image_put(THREAD + 24, OBJECT);
        say_pause(first);
        reads = 0;
        ck_assert_msg(hotspot_lock_read(vm, THREAD, &lock) == -EAGAIN, "a change at read %u of %u",
                      change_at, all);
    }
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
    tcase_add_test(tc, moved_monitors);
    tcase_add_test(tc, moved_blockers);
    tcase_add_loop_test(tc, the_heap_in_another_view, 0, UNWIND_VIEWS + 1);
    tcase_add_test(tc, reads_no_cached_page);
    tcase_add_loop_test(tc, a_compaction_hides_objects, 0, ARRAY_SIZE(PAUSES));
    tcase_add_loop_test(tc, a_collection_beside_the_reading, 0, 2);
    tcase_add_test(tc, not_known_is_no_lock);
    tcase_add_test(tc, a_refused_read_is_no_verdict);
    return suite_run_case("hotspot_locks", tc);
}
