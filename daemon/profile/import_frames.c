/* SPDX-License-Identifier: Apache-2.0 */
/* Finds or adds the frames of a profile in a frame table. */
#include "profile/import_frames.h"

int frame_importer_init(struct frame_importer *f, const struct profile *p,
                        struct frame_table *table)
{
    *f = (struct frame_importer){
        .p = p,
        .table = table,
        .strings = calloc((size_t)intern_count(p->strings) + 1, sizeof(uint32_t)),
        .functions = calloc(p->function_count + 1, sizeof(uint32_t)),
        .frames = calloc(p->frame_count + 1, sizeof(uint32_t)),
    };
    return f->strings && f->functions && f->frames ? 0 : -ENOMEM;
}

void frame_importer_deinit(struct frame_importer *f)
{
    free(f->strings);
    free(f->functions);
    free(f->frames);
}

int frame_import_string(void *importer, uint32_t *string)
{
    struct frame_importer *f = importer;
    uint32_t old = *string;
    int r = 0;

    if (!f->strings[old]) {
        r = frame_table_string(f->table, intern_get(f->p->strings, old), string);
        if (r == 0)
            f->strings[old] = *string + 1;
    } else
        *string = f->strings[old] - 1;
    return r;
}

static int import_module(struct frame_importer *f, struct module to, uint32_t *ret)
{
    int r = module_each_string(&to, frame_import_string, f);

    return r == 0 ? frame_table_module(f->table, &to, ret) : r;
}

static int import_route(struct frame_importer *f, uint32_t route, uint32_t function)
{
    int r = route && route != FUNCTION_ROUTE_NONE ? frame_import_string(f, &route) : 0;

    if (r == 0 && route)
        frame_table_set_route(f->table, function, route);
    return r;
}

static int import_function(struct frame_importer *f, uint32_t function, uint32_t *ret)
{
    struct function to = f->p->functions[function];
    int r = 0;

    if (!f->functions[function]) {
        r = import_module(f, f->p->modules[to.module], &to.module) ?:
            function_each_string(&to, frame_import_string, f) ?:
            frame_table_function(f->table, &to, ret);
        if (r == 0 && f->p->routes)
            r = import_route(f, f->p->routes[function], *ret);
        if (r == 0)
            f->functions[function] = *ret + 1;
    } else
        *ret = f->functions[function] - 1;
    return r;
}

int frame_import(struct frame_importer *f, uint32_t frame, uint32_t *ret)
{
    struct frame to = f->p->frames[frame];
    int r = 0;

    if (!f->frames[frame]) {
        r = import_function(f, to.function, &to.function) ?: frame_table_frame(f->table, &to, ret);
        if (r == 0)
            f->frames[frame] = *ret + 1;
    } else
        *ret = f->frames[frame] - 1;
    return r;
}
