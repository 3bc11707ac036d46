/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/thread_context.c: the steps to a thread's request, in an intact heap and in broken
 * ones. */
#include "hotspot/tracer_impl.h"
#include "unwind/context_path.h"
#include "unwind/forwarding.h"

#include "suite.h"

#include <errno.h>

#define HEAP 0x10000u
#define HEAP_BYTES 65536u
/* Objects have their class word at byte 8. Arrays have the length at 12, and elements from 16
 * on. */
enum place { /* offsets in the heap */
             THREAD = 0x100,
             BESIDE = 0x120, /* an object in the line of THREAD */
             JAVA_THREAD = 0x200,
             LOCALS = 0x300,
             TABLE = 0x400,
             ENTRY = 0x500,
             KEY = 0x600,
             CONTEXT = 0x700,
             ENTRIES = 0x800,
             OTHER = 0x900,
             SPAN = 0xa00,
             NAME = 0xb00,
             CHARACTERS = 0xc00,
             MAP = 0xd00,
             BUCKETS = 0xe00,
             NODE = 0xf00,
             TRACE = 0x1000,
             ROW = 0x1100,
             BAD_MASK = 0x1200,
             MAPS = 0x1300,
             MOVED = 0x1400,
             LARGE = 0x1500,
             COLLECTOR = 0x1800, /* number of collections, and whether one is under way */
             COMPACT = 0x1900,   /* when it began and ended to compact */
             BEFORE = 0x8200,    /* where JAVA_THREAD was before its move */
};
#define VIEWS_FROM 24 /* the lowest color of a reference, by ZGC's offset mask */
#define VIEW(i) (UINT64_C(1) << (VIEWS_FROM + (i)))
enum { STATE = 0x18, IN_JAVA = 8, IN_NATIVE = 4, BLOCKED = 10 }; /* of the JavaThread */
enum { CLASS_CONTEXT = 11, CLASS_SPAN = 12, CLASS_OTHER = 13, HASH = 0x61c88647 };

static uint8_t bytes[HEAP_BYTES];
static unsigned reads, phase_at, pause_at, slow_at;
static struct pause { /* what the VM says of its collections */
    uint8_t collects;
    uint64_t from, to;
} pause_next;
static bool copies_late; /* the object at BESIDE is written after the first read of its line */
static uint64_t base;    /* address of the heap, without HEAP */
/* The views in which each page can be read: bits. */
static uint8_t views[HEAP_BYTES / MEMORY_PAGE];
static struct hotspot_vm vm;
static struct unwind_process process;
static struct context_path path;
static struct sample_context found;

static void say_pause(struct pause p)
{
    bytes[COLLECTOR + 8] = p.collects;
    memcpy(bytes + COMPACT, &p.from, 8);
    memcpy(bytes + COMPACT + 8, &p.to, 8);
}

static ssize_t read_heap(void *cookie, uint64_t address, void *buf, size_t n)
{
    uint64_t colour;

    (void)cookie;
    reads++;
    address -= base;
    colour = address >> VIEWS_FROM;
    address &= VIEW(0) - 1;
    if (address < HEAP || address - HEAP >= HEAP_BYTES ||
        (views[(address - HEAP) / MEMORY_PAGE] & colour) != colour)
        return -EIO;
    n = MIN(n, MEMORY_PAGE - (address & (MEMORY_PAGE - 1)));
    memcpy(buf, bytes + (address - HEAP), n);
    if (copies_late && address <= HEAP + BESIDE && HEAP + BESIDE - address < n)
        memcpy(bytes + BESIDE + 12, bytes + JAVA_THREAD + 12, 4);
    if (reads == phase_at) /* ZGC begins another phase */
        bytes[BAD_MASK] ^= 1;
    if (reads == pause_at)
        say_pause(pause_next);
    if (reads == slow_at) /* the walk is interrupted */
        nanosleep(&(struct timespec){ .tv_nsec = 60 * NSEC_PER_MSEC }, NULL);
    return (ssize_t)n;
}

static void put(unsigned at, uint32_t value)
{
    memcpy(bytes + at, &value, sizeof(value));
}

static void put_word(unsigned at, uint64_t word)
{
    memcpy(bytes + at, &word, sizeof(word));
}

static void put_ref(unsigned at, unsigned object)
{
    put(at, HEAP + object);
}

static void put_array(unsigned at, uint32_t length)
{
    put(at + 12, length);
}

static void put_text(unsigned at, unsigned characters, const char *text)
{
    put_ref(at + 12, characters);
    bytes[at + 16] = 0; /* Latin-1 */
    put_array(characters, (uint32_t)strlen(text));
    memcpy(bytes + characters + 16, text, strlen(text));
}

static void setup(void)
{
    memset(bytes, 0, sizeof(bytes));
    reads = phase_at = pause_at = slow_at = 0;
    copies_late = false;
    base = 0;
    memset(&vm, 0, sizeof(vm));
    memory_init(&vm.memory, read_heap, NULL);
    process.vm.zgc = (struct unwind_zgc){ 0 };
    process.vm.locks =
        (struct unwind_locks){ .thread_object = 8, .klass = 8, .klass_bytes = 4, .oop_bytes = 4 };
    path = (struct context_path){
        .step_count = 6,
        .ids = CONTEXT_IDS_WORDS,
        .thread_locals = 12,
        .table = 12,
        .referent = 12,
        .entry_value = 16,
        .hash = 12,
        .array_length = 12,
        .array_base = 16,
        .bytes_base = 16,
        .string_value = 12,
        .string_coder = 16,
        .map_table = 12,
        .node_hash = 12,
        .node_value = 16,
        .node_next = 20,
        .steps = { { .op = CONTEXT_THREAD_LOCAL, .to = 0, .key = HASH },
                   { .op = CONTEXT_CLASS, .from = 0, .key = CLASS_CONTEXT },
                   { .op = CONTEXT_REF, .to = 1, .from = 0, .offset = 12 },
                   { .op = CONTEXT_NTH, .to = 2, .from = 1, .offset = 1, .key = CLASS_SPAN },
                   { .op = CONTEXT_REF, .to = 3, .from = 2, .offset = 12 },
                   { .op = CONTEXT_TEXT, .from = 3, .key = CONTEXT_NAME } }
    };
    put_ref(THREAD + 8, JAVA_THREAD); /* a word of eight bytes */
    put_ref(JAVA_THREAD + 12, LOCALS);
    put_ref(LOCALS + 12, TABLE);
    put_array(TABLE, 16);
    put_ref(TABLE + 16 + 4 * (HASH & 15), ENTRY);
    put_ref(ENTRY + 12, KEY);
    put_ref(ENTRY + 16, CONTEXT);
    put(KEY + 12, HASH);
    put(CONTEXT + 8, CLASS_CONTEXT);
    put_ref(CONTEXT + 12, ENTRIES);
    put_array(ENTRIES, 6);
    put_ref(ENTRIES + 16 + 4 * 1, OTHER);
    put_ref(ENTRIES + 16 + 4 * 3, OTHER);
    put_ref(ENTRIES + 16 + 4 * 5, SPAN);
    put(OTHER + 8, CLASS_OTHER);
    put(SPAN + 8, CLASS_SPAN);
    put_ref(SPAN + 12, NAME);
    put_text(NAME, CHARACTERS, "GET /a");
}

static void walk(void)
{
    ck_assert(context_path_valid(&path));
    memory_begin(&vm.memory);
    vm_context(&vm, &path, &process, base + HEAP + THREAD, &found);
}

static void check_name(const char *name)
{
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], strlen(name));
    ck_assert_mem_eq(found.name, name, strlen(name));
}

START_TEST(reads_a_name)
{
    check_name("GET /a");
    /* If there are fewer values of the class, the last one counts. The first one is number 0. */
    put_ref(ENTRIES + 16 + 4 * 1, SPAN);
    check_name("GET /a");
    path.steps[3].offset = 0;
    check_name("GET /a");
}
END_TEST

/* On aarch64 a heap may lie above the lower half of 48 bits. No process has data above them. */
START_TEST(reads_addresses_of_48_bits)
{
    base = process.vm.locks.oop_base = UINT64_C(0xfffe00000000);
    put_word(THREAD + 8, base + HEAP + JAVA_THREAD);
    check_name("GET /a");
    base <<= 1;
    reads = 0;
    process.vm.locks.oop_base = base;
    put_word(THREAD + 8, base + HEAP + JAVA_THREAD);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    ck_assert_uint_eq(reads, 0);
}
END_TEST

/* A name of two parts: its length, the length of the part behind, and the result's. */
static const struct {
    uint32_t first, more;
    bool wide;
    unsigned bytes;
} PARTS[] = { { 3, 7, false, 11 },    { 6, 14, true, 22 },    { 0, 7, false, 7 },
              { 3, 124, false, 128 }, { 3, 125, false, 128 }, { 3, 0xffffffff, false, 128 },
              { 124, 5, false, 128 }, { 125, 5, false, 5 },   { 128, 5, false, 5 },
              { 124, 10, true, 128 } };

START_TEST(joins_a_name)
{
    path.steps[5].skip = 0;
    path.steps[6] = (struct context_step){ .op = CONTEXT_REF, .to = 4, .from = 2, .offset = 16 };
    path.steps[7] =
        (struct context_step){ .op = CONTEXT_TEXT, .from = 4, .key = CONTEXT_NAME_MORE };
    path.step_count = 8;
    if (!PARTS[_i].first)
        path.steps[5] =
            (struct context_step){ .op = CONTEXT_REF, .to = 4, .from = 2, .offset = 16 };
    put_ref(SPAN + 16, MAP);
    put_text(NAME, CHARACTERS, "");
    put_text(MAP, MAP + 64, "");
    put_array(CHARACTERS, PARTS[_i].first);
    put_array(MAP + 64, PARTS[_i].more);
    bytes[NAME + 16] = bytes[MAP + 16] = PARTS[_i].wide;
    memset(bytes + CHARACTERS + 16, 'a', 128);
    memset(bytes + MAP + 64 + 16, 'b', 128);
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], PARTS[_i].bytes);
    ck_assert_int_eq(found.name[PARTS[_i].bytes - 1], 'b');
    if (PARTS[_i].first < 125 && PARTS[_i].first) {
        ck_assert_int_eq(found.name[PARTS[_i].first - 1], 'a');
        ck_assert_int_eq(found.name[PARTS[_i].first], ' ');
    }
    if (PARTS[_i].wide)
        ck_assert_int_eq(found.name[PARTS[_i].first + 1], 0);
}
END_TEST

/* A second part with other characters stands alone. */
START_TEST(joins_no_different_characters)
{
    path.steps[6] = (struct context_step){ .op = CONTEXT_REF, .to = 4, .from = 2, .offset = 16 };
    path.steps[7] =
        (struct context_step){ .op = CONTEXT_TEXT, .from = 4, .key = CONTEXT_NAME_MORE };
    path.step_count = 8;
    put_ref(SPAN + 16, MAP);
    put_text(MAP, MAP + 64, "/a/b");
    bytes[NAME + 16] = 1;
    check_name("/a/b");
}
END_TEST

START_TEST(an_empty_part_adds_nothing)
{
    path.steps[6] = (struct context_step){ .op = CONTEXT_REF, .to = 4, .from = 2, .offset = 16 };
    path.steps[7] =
        (struct context_step){ .op = CONTEXT_TEXT, .from = 4, .key = CONTEXT_NAME_MORE };
    path.step_count = 8;
    put_ref(SPAN + 16, MAP);
    put_text(NAME, CHARACTERS, "GET");
    put_text(MAP, MAP + 64, "");
    check_name("GET");
}
END_TEST

START_TEST(ids_make_a_request)
{
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST); /* a name without ids is no request here */
    path.steps[6] = (struct context_step){
        .op = CONTEXT_WORD, .from = 2, .offset = 16, .key = CONTEXT_TRACE_WORD + 1
    };
    path.steps[7] = (struct context_step){
        .op = CONTEXT_WORD, .from = 2, .offset = 24, .key = CONTEXT_SPAN_WORD
    };
    path.step_count = 8;
    put(SPAN + 16, 7);
    put(SPAN + 24, 9);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    ck_assert_uint_eq(found.id[CONTEXT_TRACE_WORD + 1], 7);
    ck_assert_uint_eq(found.id[CONTEXT_SPAN_WORD], 9);
    put_ref(SPAN + 12, 0);
    put(SPAN + 12, 0);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST); /* the path ends before its ids */
}
END_TEST

/* A tracer with ids of other forms. */
START_TEST(a_name_may_be_all)
{
    path.ids = CONTEXT_IDS_NONE;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    put(ENTRY + 16, 0);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
    put(ENTRY + 16, 0xfffffff0);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

START_TEST(finds_an_inherited_value)
{
    path.steps[0].offset = 20;
    put(JAVA_THREAD + 12, 0);
    check_name("");
    put_ref(JAVA_THREAD + 20, LOCALS);
    check_name("GET /a");
}
END_TEST

START_TEST(finds_a_key_of_a_map)
{
    path.steps[3] =
        (struct context_step){ .op = CONTEXT_MAP, .to = 3, .from = 1, .key = 0x12340001 };
    path.steps[4] = (struct context_step){ .op = CONTEXT_TEXT, .from = 3, .key = CONTEXT_NAME };
    path.steps[5] = (struct context_step){ 0 };
    path.step_count = 5;
    put_ref(CONTEXT + 12, MAP);
    put_ref(MAP + 12, BUCKETS);
    put_array(BUCKETS, 16);
    put_ref(BUCKETS + 16 + 4 * ((0x12340001u ^ 0x1234u) & 15), ROW);
    put(ROW + 12, 1);
    put_ref(ROW + 20, NODE);
    put(NODE + 12, 0x12340001u ^ 0x1234u);
    put_ref(NODE + 16, NAME);
    check_name("GET /a");
    put_ref(ROW + 20, ROW); /* a circle */
    check_name("");
}
END_TEST

/* The wanted entry of a ThreadLocalMap may be behind those that are read. */
START_TEST(is_not_sure_of_a_long_run_of_entries)
{
    put_ref(LOCALS + 12, LARGE);
    put_array(LARGE, 128);
    put(KEY + 12, HASH + 1); /* another thread local */
    for (unsigned i = 0; i < CONTEXT_PROBES_MAX - 1; i++)
        put_ref(LARGE + 16 + 4 * ((HASH + i) & 127), ENTRY);
    check_name("");
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
    put_ref(LARGE + 16 + 4 * ((HASH + CONTEXT_PROBES_MAX - 1) & 127), ENTRY);
    check_name("");
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

START_TEST(is_not_sure_of_values_that_are_not_read)
{
    put_ref(CONTEXT + 12, LARGE);
    put_array(LARGE, 2 * CONTEXT_PAIRS_MAX);
    check_name("");
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
    put_array(LARGE, 2 * CONTEXT_PAIRS_MAX + 2);
    check_name("");
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

/* Keys of an array, and whether they are "tenant". */
static const struct {
    const char *text;
    bool wide, found;
} KEYS[] = { { "tenant", false, true },   { "tenant", true, true },   { "tenanT", false, false },
             { "tenants", false, false }, { "tenan", false, false },  { "", false, false },
             { "Tenant", true, false },   { "tnetan", false, false }, { "ten", true, false } };

static uint64_t key_of(const char *text)
{
    uint64_t hash = 0;

    for (const char *c = text; *c; c++)
        hash = context_key_add(hash, (unsigned char)*c);
    return context_key_of(hash, (uint32_t)strlen(text));
}

/* Makes a path of the value for @key in the array ENTRIES: of keys if @values is 5, else of both.
 */
static void find_key(const char *key, unsigned values)
{
    path.steps[3] =
        (struct context_step){ .op = CONTEXT_KEY, .to = 3, .from = 1, .offset = values };
    path.steps[3].key = key_of(key);
    path.steps[4] = (struct context_step){ .op = CONTEXT_TEXT, .from = 3, .key = CONTEXT_NAME };
    path.steps[5] = (struct context_step){ 0 };
    path.step_count = 5;
    memset(bytes + ENTRIES + 16, 0, 64);
}

static void put_wide_text(unsigned at, unsigned characters, const char *text)
{
    put_ref(at + 12, characters);
    bytes[at + 16] = 1;
    put_array(characters, 2 * (uint32_t)strlen(text));
    for (size_t i = 0; i < strlen(text); i++)
        bytes[characters + 16 + 2 * i] = (uint8_t)text[i];
}

START_TEST(compares_the_text_of_a_key)
{
    find_key("tenant", 1);
    put_array(ENTRIES, 7);
    put_ref(ENTRIES + 16 + 4 * 3, ROW);
    put_ref(ENTRIES + 16 + 4 * 4, NAME);
    (KEYS[_i].wide ? put_wide_text : put_text)(ROW, NODE, KEYS[_i].text);
    check_name(KEYS[_i].found ? "GET /a" : "");
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
}
END_TEST

/* JDK 8 has two bytes a character, and no field for it. */
START_TEST(compares_keys_of_wide_strings)
{
    path.string_coder = 0;
    find_key("tenant", 1);
    put_array(ENTRIES, 3);
    put_ref(ENTRIES + 16 + 4 * 1, ROW);
    put_ref(ENTRIES + 16 + 4 * 2, NAME);
    put_wide_text(ROW, NODE, "tenant");
    put_array(NODE, 6);
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], 2 * strlen("GET /a"));
}
END_TEST

/* A value with the text of the key is no key. */
START_TEST(compares_keys_alone)
{
    find_key("tenant", 1);
    put_array(ENTRIES, 5);
    put_ref(ENTRIES + 16 + 4 * 2, ROW);
    put_ref(ENTRIES + 16 + 4 * 3, NAME);
    put_text(ROW, NODE, "tenant");
    check_name("");
}
END_TEST

/* The last key of an array, and the number of values. */
static const struct {
    unsigned key;
    uint32_t values;
    bool found;
} SORTED[] = { { 0, 1, true },          { 2, 3, true },   { 2, 2, false },
               { 2, 0, false },         { 3, 3, false },  { 2, 100, true },
               { 2, UINT32_MAX, true }, { 31, 32, true }, { 32, 33, false } };

START_TEST(finds_a_value_beside_its_key)
{
    find_key("tenant", 5);
    path.steps[5] = path.steps[4];
    path.steps[4] = path.steps[3];
    path.steps[3] = (struct context_step){ .op = CONTEXT_REF, .to = 5, .from = 0, .offset = 16 };
    path.step_count = 6;
    put_ref(CONTEXT + 16, MAPS);
    memset(bytes + ENTRIES + 16, 0, 4 * 40);
    put_array(ENTRIES, 40);
    put_array(MAPS, SORTED[_i].values);
    put_ref(ENTRIES + 16 + 4 * SORTED[_i].key, ROW);
    put_text(ROW, NODE, "tenant");
    if (SORTED[_i].values > SORTED[_i].key)
        put_ref(MAPS + 16 + 4 * SORTED[_i].key, NAME);
    check_name(SORTED[_i].found ? "GET /a" : "");
    /* The wanted key may be behind those that are read. */
    ck_assert_int_eq(found.state == CONTEXT_UNREADABLE, SORTED[_i].key >= CONTEXT_PAIRS_MAX);
}
END_TEST

START_TEST(is_not_sure_of_keys_that_are_not_read)
{
    find_key("tenant", 1);
    put_array(ENTRIES, 2 * CONTEXT_PAIRS_MAX + 3);
    put(ENTRIES + 16 + 4 * (2 * CONTEXT_PAIRS_MAX + 1), 0);
    check_name("");
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
    put_ref(ENTRIES + 16 + 4 * (2 * CONTEXT_PAIRS_MAX + 1), ROW);
    put_text(ROW, NODE, "tenant");
    check_name("");
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

/* Of a log's context, a trace or a name suffices if the configuration has the keys. */
START_TEST(keys_make_a_request)
{
    static const struct {
        enum context_ids ids;
        enum context_state state;
    } STATES[] = { { CONTEXT_IDS_LOG, CONTEXT_NO_REQUEST }, { CONTEXT_IDS_KEYS, CONTEXT_NAMED } };

    for (size_t i = 0; i < ARRAY_SIZE(STATES); i++) {
        path.ids = STATES[i].ids;
        walk();
        ck_assert_uint_eq(found.state, STATES[i].state);
    }
    path.steps[5].key = CONTEXT_TRACE;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_IDS_ONLY);
    put(NAME + 12, 0);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
}
END_TEST

/* A changed word of the heap, and the result. */
static const struct {
    unsigned at;
    uint32_t value;
    enum context_state state;
} HOSTILE[] = {
    { THREAD + 8, 0, CONTEXT_NO_REQUEST },
    { THREAD + 8, 0x1000, CONTEXT_UNREADABLE }, /* not mapped */
    { THREAD + 12, 0xffffffff, CONTEXT_UNREADABLE },
    { JAVA_THREAD + 12, 0xfffffff0, CONTEXT_UNREADABLE },
    { LOCALS + 12, 0, CONTEXT_NO_REQUEST },
    { TABLE + 12, 0, CONTEXT_NO_REQUEST },
    { TABLE + 12, 17, CONTEXT_UNREADABLE }, /* the length is no power of two */
    { TABLE + 12, 1 << 17, CONTEXT_UNREADABLE },
    { TABLE + 12, 0xffffffff, CONTEXT_UNREADABLE },
    { KEY + 12, 5, CONTEXT_NO_REQUEST },
    { ENTRY + 12, 0xfffffff0, CONTEXT_UNREADABLE },
    { CONTEXT + 8, CLASS_OTHER, CONTEXT_NO_REQUEST },
    { ENTRIES + 12, 0xffffffff, CONTEXT_UNREADABLE },
    { ENTRIES + 12, 2, CONTEXT_NO_REQUEST },
    { ENTRIES + 16 + 4 * 5, 0xfffffff0, CONTEXT_UNREADABLE },
    { NAME + 12, 0xfffffff0, CONTEXT_UNREADABLE },
};

START_TEST(ends_in_hostile_memory)
{
    put(HOSTILE[_i].at, HOSTILE[_i].value);
    walk();
    ck_assert_uint_eq(found.state, HOSTILE[_i].state);
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], 0);
}
END_TEST

/* Lengths that a name may claim; negative ones are large. */
static const struct {
    uint32_t length;
    unsigned bytes;
} LENGTHS[] = { { 0, 0 },
                { 1, 1 },
                { 127, 127 },
                { 128, 128 },
                { 129, CONTEXT_NAME_BYTES },
                { 0x7fffffff, CONTEXT_NAME_BYTES },
                { 0xffffffff, CONTEXT_NAME_BYTES } };

START_TEST(no_text_is_longer_than_its_room)
{
    put_array(CHARACTERS, LENGTHS[_i].length);
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], LENGTHS[_i].bytes);
}
END_TEST

/* Makes the reference to the java.lang.Thread older than its move by ZGC. */
static void move_thread(void)
{
    process.vm.zgc = (struct unwind_zgc){ .bad_mask = HEAP + BAD_MASK,
                                          .offset_mask = 0xffffff,
                                          .granules = 1,
                                          .maps = { HEAP + HEAP_BYTES, HEAP + MAPS },
                                          .forwarding_bytes = sizeof(struct unwind_forwarding) };
    put_ref(THREAD + 8, BEFORE);
    put_word(BAD_MASK, 0x8000); /* the color of BEFORE */
    put_word(MAPS, HEAP + MOVED);
    put_word(MOVED, HEAP);
    put_word(MOVED + 8, HEAP_BYTES);
    put_word(MOVED + 16, 3);
    put_word(MOVED + 24, 2);
    for (unsigned i = 0; i < 2; i++)
        put_word(MOVED + 32 + 8 * i, i ? (uint64_t)(BEFORE >> 3) << UNWIND_ENTRY_INDEX_SHIFT |
                                             (uint64_t)(HEAP + JAVA_THREAD) << 1 | 1
                                       : UINT64_C(9) << UNWIND_ENTRY_INDEX_SHIFT | 1);
}

START_TEST(follows_an_object_that_zgc_has_moved)
{
    move_thread();
    check_name("GET /a");
    process.vm.zgc.granules = 0;
    check_name("");
    process.vm.zgc.granules = 1;
    put_word(BAD_MASK, 0x4000); /* the reference is up to date */
    check_name("");
}
END_TEST

/* A collector copies the java.lang.Thread to BESIDE once the line of BESIDE was read. */
static const struct {
    bool zgc, old_reference;
    enum context_forwards forwards;
    enum context_state state;
} LATE_COPIES[] = {
    { true, true, CONTEXT_FORWARDS_NONE, CONTEXT_NAMED },
    { true, false, CONTEXT_FORWARDS_NONE, CONTEXT_NAMED },
    { false, false, CONTEXT_FORWARDS_MARK, CONTEXT_NAMED },
    /* No thread runs while other collectors copy: lines are kept. */
    { false, false, CONTEXT_FORWARDS_NONE, CONTEXT_NO_REQUEST },
};

START_TEST(reads_an_object_after_its_reference)
{
    path.ids = CONTEXT_IDS_NONE;
    path.forwards = (uint16_t)LATE_COPIES[_i].forwards;
    if (LATE_COPIES[_i].zgc)
        move_thread();
    if (LATE_COPIES[_i].old_reference)
        put_word(MOVED + 40, (uint64_t)(BEFORE >> 3) << UNWIND_ENTRY_INDEX_SHIFT |
                                 (uint64_t)(HEAP + BESIDE) << 1 | 1);
    else
        put_ref(THREAD + 8, BESIDE);
    copies_late = true;
    walk();
    ck_assert_uint_eq(found.state, LATE_COPIES[_i].state);
}
END_TEST

/* A thread in @state, as a collector has the VM say. */
static void heed(unsigned state, struct pause p)
{
    path.ids = CONTEXT_IDS_NONE;
    path.pauses.collections = HEAP + COLLECTOR;
    path.pauses.collects = HEAP + COLLECTOR + 8;
    path.pauses.compact_from = HEAP + COMPACT;
    path.pauses.compact_to = HEAP + COMPACT + 8;
    path.thread_state = STATE;
    path.in_java = IN_JAVA;
    put(THREAD + STATE, state);
    say_pause(p);
}

static const struct {
    unsigned state;
    struct pause pause;
    enum context_state found;
    bool late; /* the object at BESIDE is copied late, and found */
} PAUSES[] = {
    { IN_NATIVE, { 0, 0, 0 }, CONTEXT_NAMED, false },
    { IN_NATIVE, { 1, 0, 0 }, CONTEXT_NAMED, true },
    { BLOCKED, { 1, 4, 5 }, CONTEXT_NAMED, true },
    { IN_NATIVE, { 1, 5, 4 }, CONTEXT_UNREADABLE, false },
    { BLOCKED, { 1, 5, 4 }, CONTEXT_UNREADABLE, false },
    { BLOCKED, { 0, 5, 4 }, CONTEXT_NAMED, false }, /* the heap has moved */
    { IN_JAVA, { 1, 5, 4 }, CONTEXT_NAMED, false }, /* no collector moves objects before it stops */
};

START_TEST(heeds_a_collection_that_moves_objects)
{
    heed(PAUSES[_i].state, PAUSES[_i].pause);
    walk();
    ck_assert_uint_eq(found.state, PAUSES[_i].found);
    path.thread_state = 0; /* the state is not known */
    walk();
    ck_assert_uint_eq(found.state,
                      PAUSES[_i].state == IN_JAVA ? CONTEXT_UNREADABLE : PAUSES[_i].found);
}
END_TEST

START_TEST(reads_an_object_after_its_reference_in_a_collection)
{
    heed(PAUSES[_i].state, PAUSES[_i].pause);
    path.thread_state = 0;
    if (PAUSES[_i].state == IN_JAVA)
        return;
    put_ref(THREAD + 8, BESIDE);
    copies_late = true;
    walk();
    ck_assert_uint_eq(found.state, PAUSES[_i].late                     ? CONTEXT_NAMED
                                   : PAUSES[_i].found == CONTEXT_NAMED ? CONTEXT_NO_REQUEST
                                                                       : CONTEXT_UNREADABLE);
}
END_TEST

/* A collection begins, ends, or begins to compact at any read of the walk. */
static const struct {
    struct pause before, then;
    unsigned after; /* the last reads, when the walk is complete */
} CHANGES[] = { { { 0, 0, 0 }, { 1, 0, 0 }, 1 },
                { { 1, 0, 0 }, { 0, 0, 0 }, 2 },
                { { 1, 4, 5 }, { 1, 6, 5 }, 1 },
                { { 0, 4, 5 }, { 1, 6, 5 }, 1 } };

START_TEST(believes_no_walk_beside_a_collection)
{
    unsigned count;

    heed(IN_NATIVE, CHANGES[_i].before);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    count = reads;
    for (unsigned at = 4; at <= count - CHANGES[_i].after; at++) {
        say_pause(CHANGES[_i].before);
        pause_next = CHANGES[_i].then;
        reads = 0;
        pause_at = at;
        walk();
        ck_assert_msg(found.state == CONTEXT_UNREADABLE, "a change after read %u of %u", at, count);
    }
    say_pause(CHANGES[_i].before);
    pause_at = 0;
    put(COLLECTOR, 1);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
}
END_TEST

START_TEST(needs_to_know_of_collections)
{
    heed(IN_NATIVE, (struct pause){ 1, 0, 0 });
    path.pauses.compact_from = path.pauses.compact_to =
        0; /* a VM without counters: each one may compact */
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    heed(IN_NATIVE, (struct pause){ 0, 0, 0 });
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    path.pauses.collects = HEAP + 2 * HEAP_BYTES;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

/* Each read takes time at each sample. The objects lie in 13 blocks. The text has one more. */
static const struct {
    unsigned state;
    struct pause pause;
    unsigned reads;
} COSTS[] = { { IN_JAVA, { 0, 0, 0 }, 14 },
              { IN_NATIVE, { 0, 0, 0 }, 16 },
              { IN_NATIVE, { 1, 0, 0 }, 23 } };

START_TEST(reads_no_more_than_it_needs)
{
    process.vm.locks.thread_handle = 1;
    put_word(THREAD + 8, HEAP + ROW);
    put_word(ROW, HEAP + JAVA_THREAD);
    heed(COSTS[_i].state, COSTS[_i].pause);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    ck_assert_uint_eq(reads, COSTS[_i].reads);
}
END_TEST

/* The phase ends during the walk, or before it. */
START_TEST(believes_no_two_phases_of_zgc)
{
    move_thread();
    path.ids = CONTEXT_IDS_NONE;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    phase_at = reads + 1;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
}
END_TEST

/* The program has used some pages of the heap at one of its addresses only. */
static void map_views(void)
{
    process.vm.zgc = (struct unwind_zgc){ .bad_mask = HEAP + BAD_MASK, .offset_mask = VIEW(0) - 1 };
    process.vm.locks.oop_base = VIEW(1);
    put_word(THREAD + 8, VIEW(1) + HEAP + JAVA_THREAD);
}

START_TEST(reads_the_heap_at_its_other_addresses)
{
    map_views();
    memset(views, 1 << _i, sizeof(views));
    check_name("GET /a");
    process.vm.zgc.bad_mask = 0; /* another collector has one address */
    check_name(_i == 1 ? "GET /a" : "");
}
END_TEST

START_TEST(reads_a_text_where_both_its_pages_are)
{
    const unsigned characters = 2 * MEMORY_PAGE - 16 - 20;
    const char *name = "GET /a/name/of/two/pages";

    map_views();
    put_text(NAME, characters, name);
    memset(views, 1 << 1, sizeof(views));
    views[1] = 1 << 0 | 1 << 2;
    views[2] = 1 << 2;
    check_name(name);
    views[2] = 1 << 1;
    check_name("");
}
END_TEST

/* Addresses of other memory, and of no view. */
static const uint64_t ELSEWHERE[] = { 3 * VIEW(0), VIEW(4), 5 * VIEW(1) };

START_TEST(looks_for_no_other_memory_in_the_heap)
{
    map_views();
    path.ids = CONTEXT_IDS_NONE;
    memset(views, 0, sizeof(views));
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    for (unsigned i = 0; i < ARRAY_SIZE(ELSEWHERE); i++) {
        put_word(THREAD + 8, ELSEWHERE[i] + HEAP + JAVA_THREAD);
        memset(views, 1 << 1 | 1 << 2, sizeof(views));
        reads = 0;
        walk();
        ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    }
}
END_TEST

/* During an interruption ZGC may end a phase and begin the same one again, or free its tables. */
START_TEST(believes_no_interrupted_walk_with_zgc)
{
    path.ids = CONTEXT_IDS_NONE;
    slow_at = 1;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED); /* another collector */
    move_thread();
    slow_at = reads + 1;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
}
END_TEST

/* A table without end, with entries of other keys only. */
START_TEST(looks_at_few_places_of_a_false_table)
{
    move_thread();
    put_word(MOVED + 24, UINT64_C(1) << 40);
    for (unsigned at = MOVED + 32; at < BEFORE; at += 8)
        put_word(at, UINT64_C(9) << UNWIND_ENTRY_INDEX_SHIFT | 1);
    check_name("");
    ck_assert_uint_lt(reads, CONTEXT_MOVES_MAX);
}
END_TEST

/* A release with ZGC's data at unknown places: objects may have moved. */
START_TEST(is_not_sure_where_moves_are_not_known)
{
    path.moves = 1;
    put(KEY + 12, 5);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

/* A collector notes a copy in the mark word, or in the word before the object. */
static const struct {
    unsigned forwards, at;
    uint64_t word;
    enum context_state state;
} COPIES[] = {
    { CONTEXT_FORWARDS_MARK, JAVA_THREAD, HEAP + OTHER + 3, CONTEXT_UNREADABLE },
    { CONTEXT_FORWARDS_MARK, ENTRY, HEAP + OTHER + 3, CONTEXT_UNREADABLE },
    { CONTEXT_FORWARDS_MARK, ENTRY, HEAP + OTHER + 2, CONTEXT_NAMED }, /* a monitor's */
    { CONTEXT_FORWARDS_NONE, ENTRY, HEAP + OTHER + 3, CONTEXT_NAMED },
    { CONTEXT_FORWARDS_WORD, 0, 0, CONTEXT_NAMED },
    { CONTEXT_FORWARDS_WORD, SPAN - 8, HEAP + OTHER, CONTEXT_UNREADABLE },
};

START_TEST(knows_where_a_release_notes_copies)
{
    ck_assert_int_eq(shenandoah_forwards(8, "1.8.0_462-b08"), CONTEXT_FORWARDS_WORD);
    ck_assert_int_eq(shenandoah_forwards(11, "11.0.8+10"), CONTEXT_FORWARDS_WORD);
    ck_assert_int_eq(shenandoah_forwards(11, "11.0.9+11"), CONTEXT_FORWARDS_MARK);
    ck_assert_int_eq(shenandoah_forwards(11, "11.0.13+8"), CONTEXT_FORWARDS_MARK);
    ck_assert_int_eq(shenandoah_forwards(11, ""), CONTEXT_FORWARDS_WORD);
    ck_assert_int_eq(shenandoah_forwards(12, "12.0.9+1"), CONTEXT_FORWARDS_WORD);
    ck_assert_int_eq(shenandoah_forwards(17, "17.0.1+1"), CONTEXT_FORWARDS_MARK);
}
END_TEST

START_TEST(reads_no_object_that_has_a_copy)
{
    static const unsigned OBJECTS[] = { JAVA_THREAD, LOCALS, TABLE, ENTRY, KEY,       CONTEXT,
                                        ENTRIES,     OTHER,  SPAN,  NAME,  CHARACTERS };

    path.ids = CONTEXT_IDS_NONE;
    path.forwards = (uint16_t)COPIES[_i].forwards;
    for (size_t i = 0; i < ARRAY_SIZE(OBJECTS); i++)
        put_word(OBJECTS[i] - 8, HEAP + OBJECTS[i]);
    if (COPIES[_i].at)
        put_word(COPIES[_i].at, COPIES[_i].word);
    walk();
    ck_assert_uint_eq(found.state, COPIES[_i].state);
}
END_TEST

/* A number lies in one word: a path with other offsets is false. */
START_TEST(loads_no_number_across_words)
{
    path.ids = CONTEXT_IDS_NONE;
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    path.table = (uint16_t)(12 + _i);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
}
END_TEST

START_TEST(needs_a_thread)
{
    vm_context(&vm, &path, &process, 0, &found);
    ck_assert_uint_eq(found.state, CONTEXT_UNREADABLE);
    ck_assert_uint_eq(reads, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("thread_context");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, reads_a_name);
    tcase_add_test(tc, reads_addresses_of_48_bits);
    tcase_add_loop_test(tc, joins_a_name, 0, ARRAY_SIZE(PARTS));
    tcase_add_test(tc, joins_no_different_characters);
    tcase_add_test(tc, an_empty_part_adds_nothing);
    tcase_add_test(tc, ids_make_a_request);
    tcase_add_test(tc, a_name_may_be_all);
    tcase_add_test(tc, finds_an_inherited_value);
    tcase_add_test(tc, finds_a_key_of_a_map);
    tcase_add_test(tc, is_not_sure_of_a_long_run_of_entries);
    tcase_add_test(tc, is_not_sure_of_values_that_are_not_read);
    tcase_add_loop_test(tc, compares_the_text_of_a_key, 0, ARRAY_SIZE(KEYS));
    tcase_add_test(tc, compares_keys_of_wide_strings);
    tcase_add_test(tc, compares_keys_alone);
    tcase_add_loop_test(tc, finds_a_value_beside_its_key, 0, ARRAY_SIZE(SORTED));
    tcase_add_test(tc, is_not_sure_of_keys_that_are_not_read);
    tcase_add_test(tc, keys_make_a_request);
    tcase_add_loop_test(tc, ends_in_hostile_memory, 0, ARRAY_SIZE(HOSTILE));
    tcase_add_loop_test(tc, no_text_is_longer_than_its_room, 0, ARRAY_SIZE(LENGTHS));
    tcase_add_test(tc, follows_an_object_that_zgc_has_moved);
    tcase_add_loop_test(tc, reads_an_object_after_its_reference, 0, ARRAY_SIZE(LATE_COPIES));
    tcase_add_loop_test(tc, heeds_a_collection_that_moves_objects, 0, ARRAY_SIZE(PAUSES));
    tcase_add_loop_test(tc, reads_an_object_after_its_reference_in_a_collection, 0,
                        ARRAY_SIZE(PAUSES));
    tcase_add_loop_test(tc, believes_no_walk_beside_a_collection, 0, ARRAY_SIZE(CHANGES));
    tcase_add_test(tc, needs_to_know_of_collections);
    tcase_add_loop_test(tc, reads_no_more_than_it_needs, 0, ARRAY_SIZE(COSTS));
    tcase_add_test(tc, believes_no_two_phases_of_zgc);
    tcase_add_test(tc, believes_no_interrupted_walk_with_zgc);
    tcase_add_loop_test(tc, reads_the_heap_at_its_other_addresses, 0, 3);
    tcase_add_test(tc, reads_a_text_where_both_its_pages_are);
    tcase_add_test(tc, looks_for_no_other_memory_in_the_heap);
    tcase_add_test(tc, looks_at_few_places_of_a_false_table);
    tcase_add_test(tc, is_not_sure_where_moves_are_not_known);
    tcase_add_test(tc, knows_where_a_release_notes_copies);
    tcase_add_loop_test(tc, reads_no_object_that_has_a_copy, 0, ARRAY_SIZE(COPIES));
    tcase_add_loop_test(tc, loads_no_number_across_words, 1, 4);
    tcase_add_test(tc, needs_a_thread);
    return suite_run_case("thread_context", tc);
}
