/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a profile, found or added in a frame table. */
#include "profile/profile.h"

struct translator {
    const struct profile *p;
    struct frame_table *table;
};

static int translate_string(struct translator *t, uint32_t id, uint32_t *ret)
{
    return frame_table_string(t->table, intern_get(t->p->strings, id), ret);
}

static int translate_function(struct translator *t, const struct function *from, uint32_t *ret)
{
    const struct module *module = &t->p->modules[from->module];
    struct module module_copy = { 0 };
    struct function f = { 0 };
    int r;

    r = translate_string(t, module->path, &module_copy.path);
    if (r == 0)
        r = translate_string(t, module->build_id, &module_copy.build_id);
    if (r == 0)
        r = frame_table_module(t->table, &module_copy, &f.module);
    if (r == 0)
        r = translate_string(t, from->class_name, &f.class_name);
    if (r == 0)
        r = translate_string(t, from->name, &f.name);
    if (r == 0)
        r = translate_string(t, from->signature, &f.signature);
    if (r == 0)
        r = translate_string(t, from->file, &f.file);
    return r < 0 ? r : frame_table_function(t->table, &f, ret);
}

int profile_frame_into(const struct profile *p, struct frame_table *table, uint32_t frame,
                       uint32_t *ret)
{
    struct translator t = { p, table };
    struct frame f = p->frames[frame];
    int r = translate_function(&t, &p->functions[f.function], &f.function);

    return r < 0 ? r : frame_table_frame(table, &f, ret);
}

int profile_frames_into(const struct profile *p, struct frame_table *table, uint32_t *ret_ids)
{
    int r = 0;

    for (uint32_t i = 0; i < p->frame_count && r == 0; i++)
        r = profile_frame_into(p, table, i, &ret_ids[i]);
    return r;
}
