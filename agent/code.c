/* SPDX-License-Identifier: Apache-2.0 */
/* Writes compiled code: its address, and its methods at each pc. Others may change the file at any
 * time, so no number that was written there is read again. */
#include "agent/session.h"

#define PCS_MAX 65536 /* pcs of one piece of code */
#define FRAMES_MAX 64 /* frames at one pc */

static const struct jvmti_inline *inline_record(const void *info)
{
    const struct jvmti_cmlr *r = info;

    for (int i = 0; r && i < 8; i++, r = r->next) {
        if (r->kind == JVMTI_CMLR_INLINE && r->major == 1)
            return (const struct jvmti_inline *)r;
    }
    return NULL;
}

static uint32_t frames_of(const struct jvmti_pc *pc)
{
    return pc->frame_count < 0            ? 0
           : pc->frame_count > FRAMES_MAX ? FRAMES_MAX
                                          : (uint32_t)pc->frame_count;
}

void write_load(jvmti_env *env, jvmti_id method, const char *code, int32_t code_bytes,
                const void *info, uint64_t time_ns)
{
    const struct jvmti_inline *in = inline_record(info);
    int32_t count = in ? in->pc_count : 0, fit = 0;
    uint32_t bytes = sizeof(struct stream_load);
    uint16_t flags = session.header->state == STREAM_REPLAYING ? STREAM_FLAG_REPLAYED : 0;
    struct stream_load *l;
    char *p;

    session.asked = 0;
    introduce(env, method, time_ns);
    for (; fit < count && fit < PCS_MAX; fit++) {
        uint32_t frames = frames_of(&in->pcs[fit]);
        uint32_t more = (uint32_t)(sizeof(struct stream_pc) + frames * sizeof(struct stream_frame));

        if (bytes + more > STREAM_RECORD_MAX)
            break;
        bytes += more;
        for (uint32_t i = 0; i < frames; i++)
            introduce(env, in->pcs[fit].methods[i], time_ns);
    }
    if (fit < count)
        flags |= STREAM_FLAG_CUT;
    l = reserve(bytes, STREAM_LOAD, flags, time_ns);
    if (!l)
        return;
    l->address = (uint64_t)(uintptr_t)code;
    l->code_bytes = (uint32_t)code_bytes;
    l->method = known(method);
    l->pc_count = (uint32_t)fit;
    l->zero = 0;
    p = (char *)(l + 1);
    for (int32_t i = 0; i < fit; i++) {
        const struct jvmti_pc *from = &in->pcs[i];
        struct stream_pc *pc = (struct stream_pc *)p;
        struct stream_frame *f = (struct stream_frame *)(pc + 1);
        const uint32_t frames = frames_of(from);

        pc->offset = (uint32_t)((const char *)from->pc - code);
        pc->frame_count = frames;
        for (uint32_t k = 0; k < frames; k++) {
            f[k].method = known(from->methods[k]);
            f[k].bci = from->bcis[k];
        }
        p = (char *)(f + frames);
    }
    commit(bytes);
    session.loads++;
}
