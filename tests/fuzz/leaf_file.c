/* SPDX-License-Identifier: Apache-2.0 */
#include "leaf_file.h"

#include "base/cleanup.h"
#include "hotspot/leaf/feature.h"

enum {
    TRAPS,
    HANDLERS,
    TABLES,
    RECORDS,
    CHAINS,
    FRAMES,
    METHODS,
    SPANS,
    CALLS,
    NAMES,
    INVOKES,
    SIGNS,
    CONSTANTS,
    PARTS
};

static const size_t SIZES[PARTS] = {
    sizeof(struct leaf_way),
    sizeof(struct leaf_way),
    sizeof(uint32_t),
    sizeof(struct leaf_record),
    sizeof(struct leaf_chain),
    sizeof(struct leaf_frame),
    sizeof(struct leaf_method),
    sizeof(struct leaf_span),
    sizeof(struct leaf_file_call),
    sizeof(struct leaf_file_name),
    sizeof(struct leaf_invoke),
    sizeof(struct leaf_sign),
    1,
};

void leaf_file_deinit(struct leaf_file *f)
{
    for (size_t i = 0; i < PARTS; i++)
        free(f->parts[i]);
    free(f->instructions);
}

/* Makes flags valid: a byte other than 0 and 1 is no `bool` of C. */
static void make_true(struct leaf_file *f)
{
    struct leaf_method *m = f->parts[METHODS];

    for (size_t i = 0; i < f->in.method_count; i++) {
        uint8_t byte;

        memcpy(&byte, &m[i].known, 1);
        m[i].known = byte & 1;
        memcpy(&byte, &m[i].resolved, 1);
        m[i].resolved = byte & 1;
    }
}

static bool decode(struct leaf_file *f, struct span code, size_t calls)
{
    struct leaf_graph g;

    f->instructions = calloc(code.n + 1, sizeof(*f->instructions));
    if (!f->instructions)
        return false;
    f->in.instructions = f->instructions;
    f->in.code = code;
    f->in.instruction_count = f->in.aarch64 ? leaf_decode_aarch64(code, f->instructions, code.n)
                                            : leaf_decode(code, f->instructions, code.n);
    g = (struct leaf_graph){ .instructions = f->instructions,
                             .instruction_count = f->in.instruction_count };
    for (size_t c = 0; c < calls; c++) {
        uint32_t i = leaf_instruction_at(&g, f->calls[c].at);

        if (i != LEAF_NONE && f->instructions[i].flow == LEAF_CALL && f->calls[c].flow <= LEAF_TRAP)
            f->instructions[i].flow = (uint8_t)f->calls[c].flow;
    }
    return true;
}

bool leaf_file_parse(struct span file, struct leaf_file *ret)
{
    uint32_t counts[PARTS];
    bool aarch64;

    *ret = (struct leaf_file){ 0 };
    aarch64 = span_take_str(&file, "LARM");
    if (!aarch64 && !span_take_str(&file, "LEAF"))
        return false;
    for (size_t i = 0; i < PARTS; i++) {
        if (!span_take_u32(&file, &counts[i]) || counts[i] > LEAF_FILE_ENTRIES_MAX)
            return false;
    }
    for (size_t i = 0; i < PARTS; i++) {
        struct span part;

        ret->parts[i] = malloc(counts[i] * SIZES[i] + 1);
        if (!ret->parts[i] || !span_take_bytes(&file, counts[i] * SIZES[i], &part))
            return false;
        memcpy(ret->parts[i], part.p, part.n);
    }
    ret->in = (struct leaf_input){
        .aarch64 = aarch64,
        .ways = { ret->parts[TRAPS], counts[TRAPS], ret->parts[HANDLERS], counts[HANDLERS],
                  ret->parts[TABLES], counts[TABLES] },
        .records = ret->parts[RECORDS],
        .record_count = counts[RECORDS],
        .chains = ret->parts[CHAINS],
        .chain_count = counts[CHAINS],
        .frames = ret->parts[FRAMES],
        .frame_count = counts[FRAMES],
        .methods = ret->parts[METHODS],
        .method_count = counts[METHODS],
        .spans = ret->parts[SPANS],
        .span_count = counts[SPANS],
        .invokes = ret->parts[INVOKES],
        .invoke_count = counts[INVOKES],
        .signs = ret->parts[SIGNS],
        .sign_count = counts[SIGNS],
        .constants = { ret->parts[CONSTANTS], counts[CONSTANTS] },
    };
    ret->calls = ret->parts[CALLS];
    ret->names = ret->parts[NAMES];
    make_true(ret);
    return counts[NAMES] == counts[METHODS] && decode(ret, file, counts[CALLS]);
}

static bool is_part(uint32_t first, uint32_t count, size_t all)
{
    return first <= all && count <= all - first;
}

bool leaf_input_is_whole(const struct leaf_input *in)
{
    if (in->method_count == 0) /* the first method is the compiled one */
        return false;
    for (size_t i = 0; i < in->record_count; i++) {
        if (in->records[i].chain >= in->chain_count)
            return false;
    }
    for (size_t i = 0; i < in->chain_count; i++) {
        if (!is_part(in->chains[i].first, in->chains[i].count, in->frame_count) ||
            in->chains[i].count == 0 || in->chains[i].count > LEAF_DEPTH_MAX)
            return false;
    }
    for (size_t i = 0; i < in->sign_count; i++) {
        if (in->signs[i].key >> LEAF_FEATURE_VALUE_BITS >= LEAF_FEATURE_KINDS)
            return false;
    }
    for (size_t i = 0; i < in->frame_count; i++) {
        if (in->frames[i].method >= in->method_count)
            return false;
    }
    for (size_t i = 0; i < in->method_count; i++) {
        const struct leaf_method *m = &in->methods[i];

        if (!is_part(m->first, m->count, in->span_count) ||
            (m->resolved &&
             (!is_part(m->signs, m->sign_count, in->sign_count) ||
              !is_part(m->invokes, m->known ? m->invoke_count : 0, in->invoke_count))))
            return false;
    }
    for (size_t i = 0; i < in->invoke_count; i++) {
        if (in->invokes[i].target != LEAF_NONE && in->invokes[i].target >= in->method_count)
            return false;
    }
    return true;
}
