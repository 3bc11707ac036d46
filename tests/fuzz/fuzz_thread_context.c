/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps to a thread's request, through memory with any contents, by a path and offsets with any
 * values that the broker accepts. The walk always ends after a bounded number of reads, and no text
 * exceeds its buffer.
 */
#include "hotspot/vm.h"
#include "unwind/context_path.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAP UINT64_C(0x10000)
#define HEAP_BYTES 4096
#define HEAD_BYTES 32
#define STEP_BYTES 6
/* Each step reads a bounded number of entries, with a bounded number of reads each. */
#define READS_MAX (CONTEXT_STEPS_MAX * (CONTEXT_PROBES_MAX * 8 + 32) + CONTEXT_MOVES_MAX)

struct heap {
    uint8_t bytes[HEAP_BYTES];
    struct hotspot_vm vm;
    unsigned reads;
};

static ssize_t read_heap(void *cookie, uint64_t address, void *buf, size_t n)
{
    struct heap *h = cookie;

    if (address < HEAP || address - HEAP >= HEAP_BYTES)
        return -EIO;
    n = MIN(n, HEAP_BYTES - (size_t)(address - HEAP));
    memcpy(buf, h->bytes + (address - HEAP), n);
    h->reads++;
    return (ssize_t)n;
}

/* Makes a path from @data, with steps of valid form. Returns how many bytes were used. */
static size_t make_path(const uint8_t *data, size_t size, struct context_path *ret)
{
    size_t at = HEAD_BYTES;
    struct context_path p = {
        .step_count = 1 + data[0] % CONTEXT_STEPS_MAX,
        .ids = data[1] % CONTEXT_IDS_KINDS,
        .mark_shift = data[2] & 63,
        .thread_locals = data[3],
        .table = data[4],
        .entry_value = data[5],
        .referent = data[6],
        .hash = data[7],
        .array_length = data[8],
        .array_base = data[9],
        .bytes_base = data[10],
        .string_value = data[11],
        .string_coder = data[12],
        .map_table = data[13],
        .node_hash = data[14],
        .node_value = data[15],
        .node_next = data[16],
    };

    if (data[2] >> 6) { /* the VM says when it moves objects */
        p.pauses.collections = HEAP + 4 * data[3];
        p.pauses.collects = HEAP + data[4];
        p.pauses.compact_from = data[2] >> 7 ? HEAP + 8 * data[5] : 0;
        p.pauses.compact_to = HEAP + 8 * data[6];
        p.thread_state = data[7];
        p.in_java = data[8];
    }
    for (unsigned i = 0; i < p.step_count && size - at >= STEP_BYTES; i++, at += STEP_BYTES) {
        const uint8_t *d = data + at;
        struct context_step *s = &p.steps[i];

        s->op = d[0] % CONTEXT_OPS;
        s->to = d[1] % CONTEXT_REGISTERS;
        s->from = d[2] % CONTEXT_REGISTERS;
        s->skip = (uint8_t)(d[3] % (p.step_count - i));
        s->offset = d[4];
        if (s->op == CONTEXT_KEY)
            s->offset = d[4] % CONTEXT_REGISTERS;
        if (s->op == CONTEXT_ATTRIBUTE)
            s->offset = d[4] % (CONTEXT_NAME_MORE + 1);
        if (s->op == CONTEXT_VARIABLE)
            s->from = d[2] % (CONTEXT_DTV_WORDS_MAX + 1);
        s->key = s->op == CONTEXT_REF || s->op == CONTEXT_SKIP || s->op == CONTEXT_RECORD ? 0
                 : s->op == CONTEXT_TEXT ? d[5] % (CONTEXT_NAME_MORE + 1)
                 : s->op == CONTEXT_WORD ? d[5] % CONTEXT_ID_WORDS
                                         : d[5];
    }
    *ret = p;
    return at;
}

static void check(const struct sample_context *c)
{
    static const uint8_t MOST[CONTEXT_TEXTS] = { [CONTEXT_TRACE] = 64,
                                                 [CONTEXT_SPAN] = 32,
                                                 [CONTEXT_ROOT] = 32,
                                                 [CONTEXT_NAME] = CONTEXT_NAME_BYTES };

    if (c->state >= CONTEXT_STATES || c->ids >= CONTEXT_IDS_KINDS || c->step >= CONTEXT_STEPS_MAX)
        abort();
    for (unsigned i = 0; i < CONTEXT_TEXTS; i++) {
        if (c->bytes[i] > MOST[i])
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct heap *h;
    struct unwind_process p = { 0 };
    struct context_path path;
    struct sample_context out;
    size_t used;

    if (size < HEAD_BYTES + STEP_BYTES)
        return 0;
    if (!h && (h = calloc(1, sizeof(*h))) != NULL)
        memory_init(&h->vm.memory, read_heap, h);
    if (!h)
        return 0;
    used = make_path(data, size, &path);
    if (!context_path_valid(&path))
        abort();
    p.vm.locks = (struct unwind_locks){
        .oop_base = data[17] & 1 ? HEAP : 0,
        .thread_object = data[18],
        .thread_handle = data[17] >> 1 & 1,
        .klass = data[19],
        .klass_bytes = data[17] & 4 ? 4 : 8,
        .oop_bytes = data[17] & 8 ? 4 : 8,
        .oop_shift = data[17] >> 4 & 3,
        .coloured = data[17] >> 6 & 1,
        .compact = data[17] >> 7,
    };
    if (data[17] >> 6 & 1)
        p.vm.zgc = (struct unwind_zgc){ .bad_mask = HEAP + data[16],
                                        .offset_mask = UINT32_MAX,
                                        .granules = 8,
                                        .maps = { HEAP + data[15], HEAP + data[14] },
                                        .forwarding_bytes = sizeof(struct unwind_forwarding) };
    memset(h->bytes, 0, sizeof(h->bytes));
    for (size_t i = 0; i < HEAP_BYTES && size > used; i++)
        h->bytes[i] = data[used + i % (size - used)];
    h->reads = 0;
    h->vm.layout.thread_osthread = (struct layout_field){ .offset = data[21] };
    h->vm.layout.osthread_pointer = (struct layout_field){ .offset = data[22] };
    memory_begin(&h->vm.memory);
    vm_context(&h->vm, &path, &p, HEAP + data[20], &out);
    if (h->reads > READS_MAX)
        abort();
    check(&out);
    return 0;
}
