/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON body of POST /api/v1/captures, and points in time. For any input, items are valid text
 * within it, and every refusal has a sentence of valid text. */
#include "base/text.h"
#include "serve/body.h"
#include "serve/params/params.h"
#include "serve/params/time_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void try_body(struct span text)
{
    struct span unknown = SPAN_NULL;
    struct error err = ERROR_NULL;
    struct query q = { 0 };
    struct params p;
    int r = body_parse(text, &q, &err);

    if (r < 0) {
        check(err.msg[0] || r == -ENOMEM);
        return;
    }
    for (size_t i = 0; i < q.count; i++) {
        check(text_is_utf8(q.items[i].name) && text_is_utf8(q.items[i].value));
        check(q.items[i].name.p[q.items[i].name.n] == '\0');
        check(strlen(q.items[i].value.p) == q.items[i].value.n);
    }
    r = params_parse(&q, PARAMS_CAPTURE | PARAMS_RENDER, &p, &unknown, &err);
    check(r == 0 || err.msg[0] || r == -ENOMEM);
    if (r == 0)
        check(p.capture.duration_ns >= NSEC_PER_SEC / 10 &&
              p.capture.duration_ns <= 3600 * NSEC_PER_SEC);
    params_deinit(&p);
    query_deinit(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size };
    uint64_t now = UINT64_C(1767323045) * NSEC_PER_SEC, t = 0;

    try_body(text);
    if (time_parse(text, now, &t)) {
        check(t <= INT64_MAX);
        check(size && (data[0] != '-' || t <= now));
    }
    return 0;
}
