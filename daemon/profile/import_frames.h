/* SPDX-License-Identifier: Apache-2.0 */
/* Copies frames and strings of a profile into a frame table, each once. Thread: the owner's. */
#pragma once

#include "profile/each_string.h"

struct frame_importer {
    const struct profile *p;   /* borrowed */
    struct frame_table *table; /* borrowed */
    /* Id of the table + 1, by id of the profile; 0: not imported yet. */
    uint32_t *strings, *functions, *frames;
};
/* 0 or -ENOMEM; @f needs frame_importer_deinit() in every case. */
int frame_importer_init(struct frame_importer *f, const struct profile *p,
                        struct frame_table *table);
void frame_importer_deinit(struct frame_importer *f);
/* Find or add an entry of the table. 0; -ENOSPC, -ENOMEM as frame_table_frame(). */
int frame_import(struct frame_importer *f, uint32_t frame, uint32_t *ret);
int frame_import_string(void *importer, uint32_t *string); /* Works as string_fn. */
