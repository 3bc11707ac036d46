/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a survey. */
#include "capture/looks_survey_impl.h"

#include "base/text.h"

void survey_write_code(const struct survey *s, uint32_t function, char out[WAITS_CODE_BYTES])
{
    const struct frame_table *table = s->l->o.frames;
    const struct function *f = frame_table_get_function(table, function);
    struct span class_name = frame_table_get_string(table, f->class_name),
                name = frame_table_get_string(table, f->name);
    char text[2 * WAITS_CODE_BYTES];

    for (size_t i = 0; i < class_name.n; i++) {
        if (class_name.p[i] == '.') {
            class_name = span_from(class_name, i + 1);
            i = 0;
        }
    }
    if (class_name.n)
        snprintf(text, sizeof(text), "%.*s.%.*s", (int)MIN(class_name.n, (size_t)WAITS_CODE_BYTES),
                 class_name.p, (int)MIN(name.n, (size_t)WAITS_CODE_BYTES), name.p);
    else
        snprintf(text, sizeof(text), "%.*s", (int)MIN(name.n, (size_t)WAITS_CODE_BYTES), name.p);
    text_clean_into(span_of(text), out, WAITS_CODE_BYTES);
}
