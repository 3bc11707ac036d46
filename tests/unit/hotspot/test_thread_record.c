/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/thread_variable.c, unwind/context_texts.h: a thread's record of its request (OTEP 4947),
 * and the variable that points to it. The process writes both. */
#include "hotspot/vm.h"
#include "unwind/context_path.h"
#include "unwind/frames.h"

#include "suite.h"

#include <elf.h>
#include <errno.h>

#define BASE UINT64_C(0x100000)
#define HIGH UINT64_C(0xfffe00000000) /* the same memory, as mappings lie on aarch64 */
#define BYTES 65536u
enum place { /* offsets in the memory */
             SYMBOLS = 0x400,
             STRINGS = 0x500,
             HASHES = 0x600,
             RELOCATIONS = 0x800,
             DYNAMIC = 0x2100,
             SLOT = 0x2400,
             DESCRIPTOR = 0x2500,
             THREAD = 0x4000,
             OSTHREAD = 0x4100,
             POINTER = 0x4200,
             MODULES = 0x4300,
             DATA = 0x4400,
             RECORD = 0x5000,
             VALUE = 0x18, /* of the symbol */
             MASK = BYTES - 64,
};

static uint8_t bytes[BYTES];
static struct hotspot_vm vm;
static struct unwind_process process;
static struct thread_record record;
static struct context_path path;
static struct sample_context found;
static struct thread_variable variable;

static unsigned slow_at, reads; /* the walk is interrupted at the read of this number */

static ssize_t read_memory(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    if (++reads == slow_at)
        nanosleep(&(struct timespec){ .tv_nsec = 60 * NSEC_PER_MSEC }, NULL);
    if (address >= HIGH)
        address -= HIGH - BASE;
    if (address < BASE || address - BASE >= BYTES)
        return -EIO;
    n = MIN(n, BYTES - (size_t)(address - BASE));
    memcpy(buf, bytes + (address - BASE), n);
    return (ssize_t)n;
}

static void put(unsigned at, const void *from, size_t n)
{
    memcpy(bytes + at, from, n);
}

static void put_word(unsigned at, uint64_t word)
{
    put(at, &word, sizeof(word));
}

/* Makes a shared object with the variable, and one relocation of it. */
static void put_object(uint32_t symbol, uint32_t kind, int64_t addend)
{
    const Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
                            .e_type = ET_DYN,
                            .e_machine = EM_X86_64,
                            .e_phoff = sizeof(Elf64_Ehdr),
                            .e_phentsize = sizeof(Elf64_Phdr),
                            .e_phnum = 4 };
    const Elf64_Phdr ph[] = {
        { .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = 0x2000 },
        { .p_type = PT_LOAD,
          .p_flags = PF_R | PF_W,
          .p_vaddr = 0x2000,
          .p_memsz = 0x1000,
          .p_offset = 0x2000 },
        { .p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC, .p_memsz = 0x200 },
        { .p_type = PT_TLS, .p_vaddr = 0x2008, .p_memsz = 0x48, .p_align = 16 },
    };
    const Elf64_Dyn dynamic[] = {
        { DT_SYMTAB, { SYMBOLS } },   { DT_STRTAB, { STRINGS } },
        { DT_STRSZ, { 64 } },         { DT_HASH, { HASHES } },
        { DT_RELA, { RELOCATIONS } }, { DT_RELASZ, { sizeof(Elf64_Rela) } },
        { DT_NULL, { 0 } },
    };
    const Elf64_Sym sym = { .st_name = 1,
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
                            .st_shndx = 1,
                            .st_value = VALUE };
    const uint32_t hash[] = { 1, 2, 1, 0, 0 };
    const Elf64_Rela rela = { SLOT, ELF64_R_INFO((uint64_t)symbol, kind), addend };

    put(0, &eh, sizeof(eh));
    put(sizeof(eh), ph, sizeof(ph));
    put(DYNAMIC, dynamic, sizeof(dynamic));
    put(SYMBOLS + sizeof(sym), &sym, sizeof(sym));
    put(STRINGS + 1, "otel_thread_ctx_v1", 19);
    put(HASHES, hash, sizeof(hash));
    put(RELOCATIONS, &rela, sizeof(rela));
}

static int find(bool musl)
{
    static struct thread_variable_objects all;

    all = (struct thread_variable_objects){ .bases = { BASE + 0x8000, BASE },
                                            .count = 2,
                                            .musl = musl };
    variable = (struct thread_variable){ 0 };
    return thread_variable_find(&vm, &all, &variable);
}

/* A record with room for @n bytes of attributes. */
static void put_record(uint8_t valid, uint16_t n)
{
    static const uint8_t IDS[24] = { 0x4b, 0xf9, [15] = 0x36, [16] = 0x53, [23] = 0xd8 };

    put(RECORD, IDS, sizeof(IDS));
    bytes[RECORD + 24] = valid;
    put(RECORD + 26, &n, sizeof(n));
}

static unsigned put_attribute(unsigned at, uint8_t index, const char *text)
{
    bytes[at] = index;
    bytes[at + 1] = (uint8_t)strlen(text);
    put(at + 2, text, strlen(text));
    return at + 2 + (unsigned)strlen(text);
}

static void setup(void)
{
    slow_at = reads = 0;
    memset(bytes, 0, sizeof(bytes));
    memset(&vm, 0, sizeof(vm));
    memory_init(&vm.memory, read_memory, NULL);
    vm.layout.thread_osthread = (struct layout_field){ .offset = 8 };
    vm.layout.osthread_pointer = (struct layout_field){ .offset = 16 };
    process = (struct unwind_process){ 0 };
    put_word(THREAD + 8, BASE + OSTHREAD);
    put_word(OSTHREAD + 16, BASE + POINTER);
    put_word(POINTER + UNWIND_DTV_AT, BASE + MODULES);
    put_word(MODULES + 16 * 3, BASE + DATA);
    put_word(DATA + VALUE, BASE + RECORD);
    record = (struct thread_record){
        .known = true,
        .there = true,
        .variable = { VALUE, 3, 2 },
        .text_count = 3,
        .texts = { { 3, CONTEXT_ROOT }, { 0, CONTEXT_NAME }, { 2, CONTEXT_NAME_MORE } }
    };
    put_record(1, 0);
}

static void walk(void)
{
    thread_record_path(&record, &path);
    ck_assert(context_path_valid(&path));
    memory_begin(&vm.memory);
    vm_context(&vm, &path, &process, BASE + THREAD, &found);
}

START_TEST(reads_ids_and_attributes)
{
    unsigned at = RECORD + 28;

    at = put_attribute(at, 1, "somebody");
    at = put_attribute(at, 2, "/early");
    at = put_attribute(at, 0, "GET");
    at = put_attribute(at, 3, "53995c3f42cd8ad8");
    at = put_attribute(at, 200, "unknown");
    at = put_attribute(at, 2, "/a"); /* the last one counts */
    put_record(1, (uint16_t)(at - RECORD - 28));
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_NAMED);
    ck_assert_mem_eq(found.id, bytes + RECORD, 16);
    ck_assert_mem_eq(&found.id[CONTEXT_SPAN_WORD], bytes + RECORD + 16, 8);
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], 6);
    ck_assert_mem_eq(found.name, "GET /a", 6);
    ck_assert_mem_eq(&found.id[CONTEXT_ROOT_WORD], "53995c3f42cd8ad8", 16);
}
END_TEST

START_TEST(reads_a_record_at_48_bits)
{
    put_word(DATA + VALUE, HIGH + RECORD);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_IDS_ONLY);
    ck_assert_mem_eq(found.id, bytes + RECORD, 16);
}
END_TEST

/* A record is not in the heap, so it does not matter what ZGC does during an interruption. */
START_TEST(believes_an_interrupted_walk_to_a_record)
{
    process.vm.zgc.bad_mask = BASE + MASK;
    for (slow_at = 1; slow_at <= reads || reads == 0; slow_at++) {
        reads = 0;
        walk();
        ck_assert_uint_eq(found.state, CONTEXT_IDS_ONLY);
        ck_assert_mem_eq(found.id, bytes + RECORD, 16);
    }
}
END_TEST

/* Where a thread's data lies: no module's data yet, or no record. */
static const struct {
    unsigned at;
    uint64_t word;
    enum context_state state;
} PLACES[] = {
    { DATA + VALUE, 0, CONTEXT_NO_REQUEST },
    { MODULES + 16 * 3, UINT64_MAX, CONTEXT_NO_REQUEST }, /* glibc: not allocated */
    { MODULES + 16 * 3, 0, CONTEXT_NO_REQUEST },
    { MODULES + 16 * 3, 8, CONTEXT_UNREADABLE },
    { POINTER + UNWIND_DTV_AT, 0, CONTEXT_UNREADABLE },
    { DATA + VALUE, 8, CONTEXT_UNREADABLE },
    { DATA + VALUE, UINT64_MAX, CONTEXT_UNREADABLE },
    { DATA + VALUE, BASE + BYTES - 20, CONTEXT_UNREADABLE }, /* it reaches out of the memory */
    { OSTHREAD + 16, 0, CONTEXT_UNREADABLE },
    { THREAD + 8, 0, CONTEXT_UNREADABLE },
};

START_TEST(follows_no_false_pointer)
{
    put_word(PLACES[_i].at, PLACES[_i].word);
    walk();
    ck_assert_uint_eq(found.state, PLACES[_i].state);
    ck_assert(!found.id[CONTEXT_TRACE_WORD] && !found.bytes[CONTEXT_NAME]);
}
END_TEST

/* A thread is interrupted while it changes its record. Only 1 is valid. */
START_TEST(leaves_out_a_torn_record)
{
    static const uint8_t VALID[] = { 0, 2, 0x81, 0xff };

    for (size_t i = 0; i < ARRAY_SIZE(VALID); i++) {
        put_record(VALID[i], 65535);
        walk();
        ck_assert_uint_eq(found.state, CONTEXT_NO_REQUEST);
        ck_assert(!found.id[CONTEXT_TRACE_WORD] && !found.id[CONTEXT_SPAN_WORD]);
    }
}
END_TEST

/* Attributes that claim to be longer than they are. */
START_TEST(ends_with_a_cut_attribute)
{
    unsigned at = put_attribute(RECORD + 28, 0, "GET");

    bytes[at] = 2;
    bytes[at + 1] = 255;
    for (uint16_t n = 5; n < 5 + 257; n++) {
        put_record(1, n);
        walk();
        ck_assert_uint_eq(found.bytes[CONTEXT_NAME], 3);
    }
    put_record(1, 5 + 257);
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], CONTEXT_NAME_BYTES);
    put_record(1, 4); /* now the first one is cut */
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_IDS_ONLY);
}
END_TEST

START_TEST(passes_a_limited_number_of_attributes)
{
    unsigned at = RECORD + 28;

    for (int i = 1; i < CONTEXT_ATTRIBUTES_MAX; i++)
        at = put_attribute(at, 100, "");
    put_attribute(at, 0, "GET");
    put_record(1, 65535);
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], 3);
    put_attribute(put_attribute(at, 100, ""), 0, "GET");
    walk();
    ck_assert_uint_eq(found.bytes[CONTEXT_NAME], 0);
    ck_assert_uint_eq(found.state, CONTEXT_IDS_ONLY);
}
END_TEST

/* The relocation's symbol and kind, its addend, what the linker has written, and the result. */
static const struct {
    uint32_t symbol, kind;
    int64_t addend;
    uint64_t slot, slot2;
    int result;
    struct thread_variable variable;
} OBJECTS[] = {
    { 1, R_X86_64_DTPMOD64, 0, 3, VALUE, 0, { VALUE, 3, 2 } },
    { 0, R_X86_64_DTPMOD64, 0, 3, 0, 0, { VALUE, 3, 2 } }, /* another variable of the object */
    { 1, R_X86_64_DTPMOD64, 0, 0, 0, -EAGAIN, { 0 } },     /* not relocated yet */
    { 1, R_X86_64_DTPMOD64, 0, UINT64_MAX, 0, -EAGAIN, { 0 } },
    { 1, R_X86_64_TPOFF64, 0, (uint64_t)-0x40, 0, 0, { (uint64_t)-0x40, 0, 0 } },
    { 0, R_X86_64_TPOFF64, VALUE, (uint64_t)-0x40, 0, 0, { (uint64_t)-0x40, 0, 0 } },
    { 0, R_X86_64_TPOFF64, 0, (uint64_t)-0x58, 0, -EOPNOTSUPP, { 0 } }, /* another variable */
    { 1, R_X86_64_TPOFF64, 0, UINT64_C(1) << 40, 0, -EAGAIN, { 0 } },
    { 1, R_X86_64_TLSDESC, 0, 1, (uint64_t)-0x30, 0, { (uint64_t)-0x30, 0, 0 } },
    { 1, R_X86_64_TLSDESC, 0, 1, BASE + DESCRIPTOR, 0, { 0x28, 5, 2 } },
    { 0, R_X86_64_TLSDESC, VALUE, 1, BASE + DESCRIPTOR, 0, { 0x28, 5, 2 } },
    { 1, R_X86_64_TLSDESC, 0, 1, BASE + BYTES, -EFAULT, { 0 } },
    { 1, R_X86_64_TLSDESC, 0, 1, BASE, -EAGAIN, { 0 } }, /* no module has that number */
    { 2, R_X86_64_TLSDESC, 0, 1, BASE, -EOPNOTSUPP, { 0 } },
    { 1, R_X86_64_RELATIVE, 0, 3, 0, -EOPNOTSUPP, { 0 } },
};

START_TEST(finds_the_variable)
{
    put_object(OBJECTS[_i].symbol, OBJECTS[_i].kind, OBJECTS[_i].addend);
    put_word(SLOT, OBJECTS[_i].slot);
    put_word(SLOT + 8, OBJECTS[_i].slot2);
    put_word(DESCRIPTOR, 5);
    put_word(DESCRIPTOR + 8, 0x28);
    ck_assert_int_eq(find(false), OBJECTS[_i].result);
    ck_assert_uint_eq(variable.offset, OBJECTS[_i].variable.offset);
    ck_assert_uint_eq(variable.module, OBJECTS[_i].variable.module);
    ck_assert_uint_eq(variable.words, OBJECTS[_i].variable.words);
}
END_TEST

START_TEST(knows_the_tables_of_musl)
{
    put_object(1, R_X86_64_DTPMOD64, 0);
    put_word(SLOT, 3);
    ck_assert_int_eq(find(true), 0);
    ck_assert_uint_eq(variable.words, 1);
    record.variable = variable;
    put_word(MODULES + 8 * 3, BASE + DATA);
    put_word(MODULES + 16 * 3, 8);
    walk();
    ck_assert_uint_eq(found.state, CONTEXT_IDS_ONLY);
}
END_TEST

/* The linker has put the distance into the code of a program. */
START_TEST(computes_the_place_in_a_program)
{
    Elf64_Phdr ph = { .p_type = PT_INTERP };
    uint16_t five = 5;

    put_object(1, R_X86_64_RELATIVE, 0);
    put(sizeof(Elf64_Ehdr) + 4 * sizeof(ph), &ph, sizeof(ph));
    put(offsetof(Elf64_Ehdr, e_phnum), &five, sizeof(five));
    ck_assert_int_eq(find(false), 0);
    /* The data ends at the thread pointer but for the rest of its alignment: 0x2050 is aligned. */
    ck_assert_int_eq((int64_t)variable.offset, VALUE - 0x48);
    ck_assert_uint_eq(variable.words, 0);
}
END_TEST

/* Headers and sections with false numbers: nothing is found, and nothing else is read. */
static const struct {
    unsigned at;
    uint64_t word;
} HOSTILE[] = {
    { SYMBOLS + 24 + 8, UINT64_MAX },             /* the symbol's value */
    { SYMBOLS + 24 + 8, 0x49 },                   /* behind the data */
    { SYMBOLS + 24, 0 },                          /* its name and type */
    { DYNAMIC + 4 * 16 + 8, BASE + BYTES },       /* relocations elsewhere */
    { DYNAMIC + 5 * 16 + 8, UINT64_MAX },         /* endless ones */
    { RELOCATIONS, UINT64_MAX },                  /* a slot elsewhere */
    { RELOCATIONS, 0x400 },                       /* one in memory that is not written */
    { DYNAMIC + 3 * 16 + 8, BASE + 0x1fff },      /* a table of hashes that is cut */
    { HASHES, 0 },                                /* one without buckets */
    { HASHES + 8, UINT64_C(0xffffffff00000001) }, /* chains */
    { sizeof(Elf64_Ehdr) + 3 * 56 + 40, 0 },      /* no thread-local data */
};

START_TEST(refuses_a_hostile_object)
{
    put_object(1, R_X86_64_DTPMOD64, 0);
    put_word(SLOT, 3);
    ck_assert_int_eq(find(false), 0);
    put_word(HOSTILE[_i].at, HOSTILE[_i].word);
    if (_i != 9) /* a chain's end does not matter once the symbol is found */
        ck_assert_int_lt(find(false), 0);
    else
        ck_assert_int_eq(find(false), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("thread_record");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, reads_ids_and_attributes);
    tcase_add_test(tc, reads_a_record_at_48_bits);
    tcase_add_loop_test(tc, follows_no_false_pointer, 0, ARRAY_SIZE(PLACES));
    tcase_add_test(tc, believes_an_interrupted_walk_to_a_record);
    tcase_add_test(tc, leaves_out_a_torn_record);
    tcase_add_test(tc, ends_with_a_cut_attribute);
    tcase_add_test(tc, passes_a_limited_number_of_attributes);
    tcase_add_loop_test(tc, finds_the_variable, 0, ARRAY_SIZE(OBJECTS));
    tcase_add_test(tc, knows_the_tables_of_musl);
    tcase_add_test(tc, computes_the_place_in_a_program);
    tcase_add_loop_test(tc, refuses_a_hostile_object, 0, ARRAY_SIZE(HOSTILE));
    return suite_run_case("thread_record", tc);
}
