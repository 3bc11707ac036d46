/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of tracepoints, and the descriptions of fields in tracefs: an accepted filter leads on
 * from each test, reads within bounds, and runs. */
#include "../unit/sample/point_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_test(const struct point_filter *f, uint32_t i)
{
    const struct point_test *t = &f->tests[i];

    if (t->on_true <= i || t->on_false <= i ||
        (t->on_true >= f->test_count && t->on_true < POINT_TAKE) ||
        (t->on_false >= f->test_count && t->on_false < POINT_TAKE))
        abort();
    if (t->source == POINT_TEXT ? t->value >= POINT_TEXTS_MAX
                                : t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
        abort();
}

/* The input: the filter's line, followed by the description. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct point_filter filter;
    static uint8_t event[1 << 18]; /* an offset and bytes of 16 bits each */
    static struct point_room room;
    struct span format = { (const char *)data, size }, line;
    struct error err = ERROR_NULL;
    int r;

    if (!span_take_until(&format, '\n', &line))
        return 0;
    r = point_filter_translate(line, format, &filter, &err);
    if ((r != 0 && r != -EINVAL) || (r == 0) != (err.msg[0] == '\0'))
        abort();
    if (r < 0)
        return 0;
    if (filter.test_count == 0 || filter.test_count > POINT_TESTS_MAX)
        abort();
    for (uint32_t i = 0; i < filter.test_count; i++)
        check_test(&filter, i);
    memcpy(event, data, MIN(size, sizeof(event)));
    point_takes(event, &filter, &room);
    return 0;
}
