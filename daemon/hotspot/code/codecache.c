/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code heaps. A heap consists of segments of 128 bytes. The segment map has a byte for each
 * segment: the number of segments to step back towards the start of its block. 0 marks the start of
 * a block, 255 a free segment. A block of more than 254 segments (or one merged from freed ones)
 * takes several steps. A block is a header and a CodeBlob.
 */
#include "hotspot/code/code.h"

#define OBJECT_MAX 512       /* CodeHeap is 280..344 bytes, StubQueue 48 */
#define CODES_MAX (1u << 17) /* blocks of a heap in one walk, and free ones */

static uint64_t space_field(const struct hotspot_vm *vm, const uint8_t *heap, size_t n,
                            struct layout_field space, struct layout_field field)
{
    struct layout_field f = { space.offset + field.offset, field.width, false };

    return (uint64_t)layout_get(f, heap, MIN(n, vm->layout.sizeof_CodeHeap));
}

static int code_heap_read(struct hotspot_vm *vm, uint64_t at, struct code_heap *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    struct code_heap h = { 0 };
    uint8_t heap[OBJECT_MAX];
    uint64_t log2;
    int r;

    if (l->sizeof_CodeHeap > sizeof(heap))
        return -EBADMSG;
    r = memory_read(&vm->memory, at, heap, l->sizeof_CodeHeap);
    if (r < 0)
        return r;
    h.low = space_field(vm, heap, sizeof(heap), l->code_heap_memory, l->space_low);
    h.high = space_field(vm, heap, sizeof(heap), l->code_heap_memory, l->space_high);
    h.segmap = space_field(vm, heap, sizeof(heap), l->code_heap_segmap, l->space_low);
    log2 = (uint64_t)layout_get(l->code_heap_log2_segment, heap, l->sizeof_CodeHeap);
    if (h.low == 0 || h.segmap == 0)
        return -EAGAIN;
    if (h.high <= h.low || h.high - h.low > CODE_HEAP_BYTES_MAX || h.high >= MEMORY_ADDRESS_MAX ||
        h.segmap >= MEMORY_ADDRESS_MAX || log2 < 4 || log2 > 16)
        return -EBADMSG;
    h.log2_segment = (unsigned)log2;
    *ret = h;
    return 0;
}

static int codecache_add_heap(struct hotspot_vm *vm, uint64_t at)
{
    struct code_heap *h = &vm->code.heaps[vm->code.heap_count];
    int r = code_heap_read(vm, at, h);

    if (r < 0)
        return r;
    h->at = at;
    vm->code.low = vm->code.heap_count ? MIN(vm->code.low, h->low) : h->low;
    vm->code.high = MAX(vm->code.high, h->high);
    vm->code.heap_count++;
    return 0;
}

/* Reads the one heap of JDK 8, or the array of pointers to heaps of later JDKs. */
static int codecache_read_heaps(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t array, len, data, heap;
    int r;

    if (l->code_heap_at) {
        r = memory_u64(&vm->memory, l->code_heap_at, &heap);
        if (r == 0)
            r = heap ? codecache_add_heap(vm, heap) : -EAGAIN;
        return r;
    }
    r = memory_u64(&vm->memory, l->code_heaps_at, &array);
    if (r < 0 || array == 0)
        return r < 0 ? r : -EAGAIN;
    r = field_number(vm, array, l->array_len, 4, &len)
            ?: field_u64(vm, array, l->array_data, &data);
    if (r < 0)
        return r;
    if (len == 0)
        return -EAGAIN;
    if (len > CODE_HEAPS_MAX)
        return -EBADMSG;
    for (uint64_t i = 0; r == 0 && i < len; i++) {
        r = memory_u64(&vm->memory, data + i * 8, &heap) ?: codecache_add_heap(vm, heap);
    }
    return r;
}

static int codecache_read_interpreter(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    uint8_t queue[OBJECT_MAX];
    uint64_t at, start, limit, end;
    int r = memory_u64(&vm->memory, l->interpreter_code_at, &at);

    if (r < 0 || at == 0)
        return r < 0 ? r : -EAGAIN;
    if (l->sizeof_StubQueue > sizeof(queue))
        return -EBADMSG;
    r = memory_read(&vm->memory, at, queue, l->sizeof_StubQueue);
    if (r < 0)
        return r;
    start = (uint64_t)layout_get(l->stub_queue_buffer, queue, l->sizeof_StubQueue);
    limit = (uint64_t)layout_get(l->stub_queue_limit, queue, l->sizeof_StubQueue);
    end = (uint64_t)layout_get(l->stub_queue_end, queue, l->sizeof_StubQueue);
    /* While the interpreter is generated, its buffer has the largest size that it could need. Later
     * it is cut to the used part (seen on 11, 17, 21, 25 to 28; never on 8), and the VM puts stubs
     * and adapters into the rest. */
    if (start == 0 || limit == 0 || end == 0 || (l->jdk >= 11 && end != limit))
        return -EAGAIN;
    if (limit > INT32_MAX || start < vm->code.low || start > vm->code.high ||
        limit > vm->code.high - start)
        return -EBADMSG;
    vm->code.interpreter_start = start;
    vm->code.interpreter_end = start + limit;
    return 0;
}

int codecache_open(struct hotspot_vm *vm)
{
    int r = codecache_read_heaps(vm) ?: codecache_read_interpreter(vm);

    return r == -EAGAIN ? (int)HOTSPOT_NOT_READY : r;
}

int codecache_bytes(struct hotspot_vm *vm, uint64_t *ret_committed, uint64_t *ret_max)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t committed = 0, max = 0;

    if (!layout_has(l->space_committed_low) || !layout_has(l->space_committed_high))
        return -ENOENT;
    for (size_t i = 0; i < vm->code.heap_count; i++) {
        const struct code_heap *h = &vm->code.heaps[i];
        uint64_t space = h->at + (uint64_t)l->code_heap_memory.offset;
        uint64_t low = 0, high = 0;
        int r = field_u64(vm, space, l->space_committed_low, &low);

        if (r == 0)
            r = field_u64(vm, space, l->space_committed_high, &high);
        if (r < 0)
            return r;
        if (low < h->low || high < low || high > h->high)
            return -EBADMSG;
        committed += high - low;
        max += h->high - h->low;
    }
    *ret_committed = committed;
    *ret_max = max;
    return 0;
}

/* Moves *at back to the start of the block that holds it now. A VM that frees code during a walk
 * merges the block there with the one before. Return: 0; -ENOENT: no block holds it, or one starts
 * there; -errno. */
static int rejoin(struct hotspot_vm *vm, const struct code_heap *h, uint64_t *at)
{
    uint64_t start, end;
    bool used;
    int r;

    memory_begin(&vm->memory);
    r = codecache_start(vm, h, *at, &start) ?: codecache_header(vm, h, start, &end, &used);
    if (r < 0 || start == *at || end <= *at)
        return r < 0 && r != -EBADMSG && r != -EFAULT ? r : -ENOENT;
    *at = start;
    return 0;
}

/* Reads the block at @block of @h. Return: 0 with its end and use; -EBADMSG: none starts there;
 * -errno. */
static int walked_block(struct hotspot_vm *vm, const struct code_heap *h, uint64_t block,
                        uint64_t *ret_end, bool *ret_used)
{
    uint64_t tag;
    int r = codecache_header(vm, h, block, ret_end, ret_used);

    if (r == 0 && *ret_used)
        r = memory_number(&vm->memory, h->segmap + ((block - h->low) >> h->log2_segment), 1, &tag)
                ?: (tag ? -EBADMSG : 0);
    return r == -EFAULT ? -EBADMSG : r;
}

/* Walks the blocks of @h from *at on by their lengths; *at becomes the end of the last one. Free
 * memory behind the last block is zero, or has remains of freed blocks. The segment map does not
 * mark those. The VM merges free neighbours. So there is at most one free block more than used
 * ones, and a list with more is wrong. */
static int codecache_walk(struct hotspot_vm *vm, const struct code_heap *h, uint64_t *at,
                          size_t max, codecache_block_fn fn, void *cookie)
{
    size_t n = 0, unused = 0;

    while (*at < h->high && n < max) {
        uint64_t block = *at, end;
        bool used;
        int r = walked_block(vm, h, block, &end, &used);

        if (r == -EBADMSG) {
            r = rejoin(vm, h, at);
            if (r == 0 && unused++ <= max)
                continue;
            return r == -ENOENT ? 0 : MIN(r, 0);
        }
        if (r < 0)
            return r;
        *at = end;
        if (!used && unused++ > max)
            return 0;
        if (!used)
            continue;
        r = fn(cookie, vm, block + vm->layout.sizeof_HeapBlock, end);
        if (r != 0)
            return r;
        n++;
    }
    return 0;
}

int codecache_blocks(struct hotspot_vm *vm, size_t max, codecache_block_fn fn, void *cookie)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < vm->code.heap_count; i++) {
        uint64_t at = vm->code.heaps[i].low;

        r = codecache_walk(vm, &vm->code.heaps[i], &at, max, fn, cookie);
    }
    return r;
}

struct codes {
    hotspot_code_fn fn;
    void *cookie;
    uint64_t until_ns;
    int count;
};

static int see_code(void *cookie, struct hotspot_vm *vm, uint64_t blob, uint64_t end)
{
    struct codes *c = cookie;
    struct hotspot_code code;
    int r = code_read(vm, blob, end, /* live= */ true, &code);

    if (r == -ESRCH || r == -ETIMEDOUT)
        return r;
    if (r == 0 && code.kind == HOTSPOT_CODE_STUB)
        r = stubs_each(vm, &code, c->fn, c->cookie, &c->count);
    else if (r == 0) {
        c->count++;
        r = c->fn(c->cookie, &code);
    } else {
        r = 0; /* no code, or it is being written */
    }
    if (r == 0 && c->until_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) >= c->until_ns)
        return -EINPROGRESS;
    return r;
}

/* Moves *at to the start of the block there. Since the last turn the VM may have merged it with the
 * block before, or have freed the last blocks. 0 or -errno. */
static int resume(struct hotspot_vm *vm, const struct code_heap *h, uint64_t *at)
{
    int r = *at && *at < h->high ? codecache_start(vm, h, *at, at) : 0;

    *at = r == -ENOENT ? h->high : *at ? *at : h->low;
    return r == -ENOENT ? 0 : r;
}

int hotspot_vm_codes(struct hotspot_vm *vm, struct hotspot_codes_at *at, hotspot_code_fn fn,
                     void *cookie)
{
    struct codes codes = { .fn = fn, .cookie = cookie, .until_ns = at->until_ns };
    int r = 0;

    if (vm_is_left(vm))
        return -ETIMEDOUT;
    memory_begin(&vm->memory);
    if (!at->heap && !at->block)
        stubs_update(vm);
    for (; at->heap < vm->code.heap_count; at->heap++, at->block = 0) {
        const struct code_heap *h = &vm->code.heaps[at->heap];

        r = resume(vm, h, &at->block)
                ?: codecache_walk(vm, h, &at->block, CODES_MAX, see_code, &codes);
        if (r != 0)
            return r;
    }
    return codes.count;
}
