/* SPDX-License-Identifier: Apache-2.0 */
#include "threads_image.h"

#include <time.h>

#define BLOCK_HEADER 16
#define BLOB (THREADS_CODE + BLOCK_HEADER)
#define BLOB_BYTES 0x400
#define CODE_AT 0x100 /* offset in the blob */
#define CHUNK_WORDS_AT 64
#define LOG2_SEGMENT 7

void threads_image_put(struct threads_image *t, size_t at, uint64_t word)
{
    memcpy(t->heap + at % (sizeof(t->heap) - sizeof(word)), &word, sizeof(word));
}

uint64_t threads_image_pc(void)
{
    return BLOB + CODE_AT + 0x40;
}

static ssize_t read_image(void *cookie, uint64_t address, void *buf, size_t n)
{
    struct threads_image *t = cookie;

    if (t->nap_ns) {
        nanosleep(&(struct timespec){ .tv_nsec = (long)t->nap_ns }, NULL);
        t->nap_ns = 0;
    }
    if (t->changes && t->reads-- == 0) {
        memcpy(t->heap, t->changes->heap, sizeof(t->heap));
        t->changes = NULL;
    }
    if (t->runs)
        t->heap[THREADS_THREAD + 48] = (uint8_t)(1 + t->runs++ % 7);
    if (address >= THREADS_HEAP && address - THREADS_HEAP < sizeof(t->heap)) {
        n = MIN(n, sizeof(t->heap) - (address - THREADS_HEAP));
        memcpy(buf, t->heap + (address - THREADS_HEAP), n);
        return (ssize_t)n;
    }
    if (address >= THREADS_CODE && address - THREADS_CODE < sizeof(t->code)) {
        n = MIN(n, sizeof(t->code) - (address - THREADS_CODE));
        memcpy(buf, t->code + (address - THREADS_CODE), n);
        return (ssize_t)n;
    }
    return -EIO;
}

static struct layout_field at(int32_t offset, uint8_t width)
{
    return (struct layout_field){ .offset = offset, .width = width };
}

/* Fills only the fields that a dump of virtual threads uses. */
static void make_layout(struct hotspot_layout *l)
{
    memset(l, 0xff, sizeof(*l)); /* marks every field as missing */
    l->jdk = 25;
    l->sizeof_HeapBlock = BLOCK_HEADER;
    l->heap_block_header = at(0, 0);
    l->block_length = at(0, 8);
    l->block_used = at(8, 1);
    l->sizeof_CodeBlob = 64;
    l->sizeof_nmethod = 64; /* no blob is an nmethod, so names are strings */
    l->blob_name = at(0, 8);
    l->blob_size = at(8, 4);
    l->blob_frame_size = at(12, 4);
    l->blob_frame_complete = at(16, 4);
    l->blob_code_offset = at(20, 4);
    l->blob_data_offset = at(24, 4);
    l->oop_klass = at(8, 8);
    l->klass_mirror = at(16, 0);
    l->loaders_at = THREADS_HEAP + THREADS_LOADERS;
    l->loader_next = l->klass_next = l->klass_super = at(0, 8);
    l->loader_klasses = at(8, 8);
    l->klass_layout_helper = at(24, 4);
    l->instance_field_stream = at(32, 8);
    l->lacks[0] = '\0';
}

static void make_code(struct threads_image *t)
{
    static const int32_t HEAD[] = { BLOB_BYTES, THREADS_FRAME_WORDS, 0, CODE_AT, BLOB_BYTES };
    uint8_t *blob = t->code + BLOCK_HEADER;
    uint64_t name = THREADS_CODE + 0xf00;
    uint64_t segments = THREADS_CODE_BYTES >> LOG2_SEGMENT;

    memcpy(t->code, &segments, sizeof(segments));
    t->code[8] = 1;
    memcpy(blob, &name, sizeof(name));
    memcpy(blob + 8, HEAD, sizeof(HEAD));
    memcpy(t->code + 0xf00, "stub", 5);
}

/* Puts the segment map into the heap's last page. Each segment steps back by one. */
static void make_vm(struct threads_image *t)
{
    struct hotspot_vm *vm = &t->vm;

    atomic_init(&vm->users, 1);
    make_layout(&vm->layout);
    vm->code.heap_count = 1;
    vm->code.heaps[0] = (struct code_heap){ .low = THREADS_CODE,
                                            .high = THREADS_CODE + THREADS_CODE_BYTES,
                                            .segmap = THREADS_HEAP + 0x7000,
                                            .log2_segment = LOG2_SEGMENT };
    vm->code.low = THREADS_CODE;
    vm->code.high = THREADS_CODE + THREADS_CODE_BYTES;
    for (size_t i = 0; i < THREADS_CODE_BYTES >> LOG2_SEGMENT; i++)
        t->heap[0x7000 + i] = i > 0;
    vm->names = (struct name_layout){ .known = true, .string_klass = 1, .thread_name = 24 };
    vm->thread_layout =
        (struct thread_layout){ .known = true, .tid = 16, .name = 24, .blocker = 32, .eetop = 40 };
    vm->layout.thread_owner_id = at(0, 8);
    vm->locks = (struct unwind_locks){
        .klass_bytes = 8, .monitor_object = 8, .monitor_owner = 16, .monitor_handle = true
    };
    vm->lock_search.unusable = true; /* locks must not be searched */
}

static void make_layouts(struct threads_image *t)
{
    struct virtual_layout *v = &t->vm.virtual_layout;

    *v = (struct virtual_layout){
        .known = true,
        .chunk_words = CHUNK_WORDS_AT,
        .roots = 32,
        .state = 48,
        .cont = 56,
        .carrier = 64,
        .tail = 16,
        .mounted = 24,
        .chunk_size = 16,
        .chunk_sp = 20,
        .chunk_bottom = 24,
        .chunk_parent = 32,
        .set_map = 16,
        .map_table = 16,
        .node_key = 16,
        .node_next = 24,
        .referent = 16,
        .thread_bytes = 96,
        .states = { [4] = THREAD_STATE_WAITING, [THREADS_BLOCKED] = THREAD_STATE_BLOCKED },
        .of_monitor = { [THREADS_BLOCKED] = true },
    };
    for (size_t i = 0; i < VIRTUAL_CLASSES; i++) {
        v->klass[i] = THREADS_HEAP + THREADS_KLASSES + i * 0x100;
        threads_image_put(t, THREADS_KLASSES + i * 0x100 + 16, THREADS_HEAP + THREADS_HANDLE);
    }
}

void threads_image_put_object(struct threads_image *t, size_t at, enum virtual_class of)
{
    threads_image_put(t, at + 8, THREADS_HEAP + THREADS_KLASSES + (uint64_t)of * 0x100);
}

/* Puts a chunk of @frames frames, the innermost at word 8. */
static void put_chunk(struct threads_image *t, size_t where, unsigned frames, uint64_t parent)
{
    uint32_t sp = 8, bottom = sp + frames * THREADS_FRAME_WORDS;
    uint32_t numbers[] = { bottom, sp, bottom, 0 };

    threads_image_put_object(t, where, CLASS_CHUNK);
    memcpy(t->heap + where + 16, numbers, sizeof(numbers));
    threads_image_put(t, where + 32, parent);
    for (unsigned i = 0; i <= frames; i++)
        threads_image_put(t, where + CHUNK_WORDS_AT + 8 * (sp + i * THREADS_FRAME_WORDS - 1),
                          threads_image_pc());
}

static void make_heap(struct threads_image *t)
{
    threads_image_put(t, THREADS_LOADERS, THREADS_HEAP + THREADS_LOADERS + 8); /* without classes */
    threads_image_put(t, THREADS_HANDLE, THREADS_HEAP + THREADS_MIRROR);
    threads_image_put(t, THREADS_MIRROR + 32, THREADS_HEAP + THREADS_SET);
    threads_image_put_object(t, THREADS_SET, CLASS_SET);
    threads_image_put(t, THREADS_SET + 16, THREADS_HEAP + THREADS_MAP);
    threads_image_put_object(t, THREADS_MAP, CLASS_MAP);
    threads_image_put(t, THREADS_MAP + 16, THREADS_HEAP + THREADS_TABLE);
    threads_image_put(t, THREADS_TABLE + 16, 4); /* places from byte 24 on */
    threads_image_put(t, THREADS_TABLE + 24 + 8, THREADS_HEAP + THREADS_NODE);
    threads_image_put_object(t, THREADS_NODE, CLASS_NODE);
    threads_image_put(t, THREADS_NODE + 16, THREADS_HEAP + THREADS_THREAD);
    threads_image_put_object(t, THREADS_THREAD, CLASS_VIRTUAL_THREAD);
    threads_image_put(t, THREADS_THREAD + 16, THREADS_ID);
    threads_image_put(t, THREADS_THREAD + 48, 4);
    threads_image_put(t, THREADS_THREAD + 56, THREADS_HEAP + THREADS_CONT);
    threads_image_put_object(t, THREADS_CONT, CLASS_CONTINUATION);
    threads_image_put(t, THREADS_CONT + 16, THREADS_HEAP + THREADS_CHUNK);
    put_chunk(t, THREADS_CHUNK, 3, THREADS_HEAP + THREADS_PARENT);
    put_chunk(t, THREADS_PARENT, 5, 0);
}

static void make_monitor(struct threads_image *t)
{
    threads_image_put(t, THREADS_THREAD + 72, THREADS_HEAP + THREADS_WAITER);
    threads_image_put(t, THREADS_WAITER + 24, THREADS_HEAP + THREADS_HANDLES);
    threads_image_put(t, THREADS_WAITER + 32, THREADS_HEAP + THREADS_MONITOR);
    threads_image_put(t, THREADS_HANDLES, THREADS_HEAP + THREADS_THREAD);
    threads_image_put(t, THREADS_HANDLES + 8, THREADS_HEAP + THREADS_LOCKED);
    threads_image_put(t, THREADS_MONITOR + 8, THREADS_HEAP + THREADS_HANDLES + 8);
    threads_image_put(t, THREADS_MONITOR + 16, THREADS_OWNER_ID);
    threads_image_put(t, THREADS_LOCKED, 2); /* the lock is a monitor */
    threads_image_put_object(t, THREADS_LOCKED, CLASS_MAP);
}

void threads_image_tell_pauses(struct threads_image *t)
{
    t->vm.locks.pauses =
        (struct unwind_pauses){ .collections = THREADS_HEAP + THREADS_COLLECTIONS,
                                .collects = THREADS_HEAP + THREADS_COLLECTS,
                                .compact_from = THREADS_HEAP + THREADS_COMPACT_FROM,
                                .compact_to = THREADS_HEAP + THREADS_COMPACT_TO };
}

struct threads_image *threads_image_new(void)
{
    struct threads_image *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    memory_init(&t->vm.memory, read_image, t);
    make_vm(t);
    make_layouts(t);
    make_code(t);
    make_heap(t);
    make_monitor(t);
    t->batch.is_virtual = true;
    return t;
}

struct threads_image *threads_image_free(struct threads_image *t)
{
    if (t)
        free(t->vm.thread_reader);
    free(t);
    return NULL;
}
