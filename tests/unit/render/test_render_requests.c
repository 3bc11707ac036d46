/* SPDX-License-Identifier: Apache-2.0 */
/* render/: operations of samples without a tracer, which their stacks name. */
#include "suite.h"

#include "base/cleanup.h"
#include "render/jfr/jfr.h"
#include "render/proto/otlp.pb-c.h"
#include "render/proto/pprof.pb-c.h"
#include "tests/unit/profile/recorded.h"

#include <zlib.h>

#define ROUTE "GET /orders/{id}"
#define METHOD "shop.Cart.add()"
#define TRACED "POST /bills"

static struct profile *profile;
static struct view *view;
static unsigned routes, methods, traced, others; /* samples by their operations */

static void add_sample(const char *class_name, const char *method, enum profile_context_state state,
                       uint32_t count)
{
    struct profile_context c = { .state = state, .trace_low = 1, .span = 2, .root = 2 };
    struct profile_sample s = { .thread = main_thread, .count = count };
    uint32_t frames[2], context, route = recorded_string(ROUTE);

    frames[0] = recorded_frame(class_name, method, FRAME_C2, 0);
    frames[1] = recorded_frame("org.springframework.web.method.support.InvocableHandlerMethod",
                               "doInvoke", FRAME_C2, 0);
    if (strcmp(class_name, "shop.Orders") == 0)
        frame_table_set_route(table, frame_table_get(table, frames[0])->function, route);
    ck_assert_int_eq(record_context(rec, main_thread, &c,
                                    state == PROFILE_CONTEXT_NAMED ? SPAN(TRACED) : SPAN_NULL, 0,
                                    &context),
                     0);
    s.context = context;
    ck_assert_int_eq(record_sample(rec, &s, frames, 2), 0);
}

static void setup(void)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    struct view_opts o = { .exact = true };

    recorded_setup();
    routes = methods = traced = others = 0;
    add_sample("shop.Orders", "get", PROFILE_CONTEXT_NO_TRACER, 2);
    add_sample("shop.Cart", "add", PROFILE_CONTEXT_NO_TRACER, 3);
    add_sample("java.lang.Thread", "run", PROFILE_CONTEXT_NO_TRACER, 5);
    add_sample("shop.Orders", "get", PROFILE_CONTEXT_NAMED, 7);
    ck_assert_int_eq(record_finish(rec, &meta, &profile), 0);
    ck_assert_int_eq(view_new(profile, &o, &view, NULL), 0);
}

static void teardown(void)
{
    view_free(view);
    profile_unref(profile);
    recorded_teardown();
}

static struct span render(const char *format, struct buf *out)
{
    struct render_opts o = { .version = "1.2.3" };

    buf_init(out, RENDER_MAX_BYTES);
    ck_assert_int_eq(render_format_find(span_of(format))->render(view, &o, out, NULL), 0);
    return buf_span(out);
}

static void count(const char *operation, int64_t samples)
{
    unsigned *to = strcmp(operation, ROUTE) == 0    ? &routes
                   : strcmp(operation, METHOD) == 0 ? &methods
                   : strcmp(operation, TRACED) == 0 ? &traced
                                                    : &others;

    *to += (unsigned)samples;
}

static void check_counts(void)
{
    ck_assert_uint_eq(routes, 2);
    ck_assert_uint_eq(methods, 3);
    ck_assert_uint_eq(others, 5);
    ck_assert_uint_eq(traced, 7);
}

START_TEST(pprof_has_labels)
{
    static unsigned char raw[1 << 16];
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct span gz = render("pprof", &out);
    z_stream z = { .next_in = (unsigned char *)gz.p,
                   .avail_in = (unsigned)gz.n,
                   .next_out = raw,
                   .avail_out = sizeof(raw) };
    Pprof__Profile *p;

    ck_assert_int_eq(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    p = pprof__profile__unpack(NULL, z.total_out, raw);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < p->n_sample; i++) {
        const Pprof__Sample *s = p->sample[i];
        const char *operation = "";

        for (size_t k = 0; k < s->n_label; k++) {
            if (strcmp(p->string_table[s->label[k]->key], "operation") == 0)
                operation = p->string_table[s->label[k]->str];
        }
        count(operation, s->value[0]);
    }
    pprof__profile__free_unpacked(p, NULL);
    check_counts();
}
END_TEST

static const char *operation_of(const Otlp__ProfilesDictionary *d, const Otlp__Sample *s)
{
    for (size_t i = 0; i < s->n_attribute_indices; i++) {
        const Otlp__KeyValueAndUnit *a = d->attribute_table[s->attribute_indices[i]];

        if (strcmp(d->string_table[a->key_strindex], "flamed.operation") == 0)
            return a->value->string_value;
    }
    return "";
}

START_TEST(otlp_has_attributes)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct span s = render("otlp", &out);
    Otlp__ProfilesData *d = otlp__profiles_data__unpack(NULL, s.n, (const uint8_t *)s.p);
    const Otlp__Profile *p;

    ck_assert_ptr_nonnull(d);
    p = d->resource_profiles[0]->scope_profiles[0]->profiles[0];
    for (size_t i = 0; i < p->n_samples; i++)
        count(operation_of(d->dictionary, p->samples[i]),
              p->samples[i]->n_timestamps_unix_nano ? (int64_t)p->samples[i]->n_timestamps_unix_nano
                                                    : p->samples[i]->values[0]);
    otlp__profiles_data__free_unpacked(d, NULL);
    check_counts();
}
END_TEST

START_TEST(jfr_has_events)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct span s = render("jfr", &out);

    ck_assert_ptr_nonnull(memmem(s.p, s.n, ROUTE, strlen(ROUTE)));
    ck_assert_ptr_nonnull(memmem(s.p, s.n, METHOD, strlen(METHOD)));
    ck_assert_ptr_nonnull(memmem(s.p, s.n, TRACED, strlen(TRACED)));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("render_requests");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pprof_has_labels);
    tcase_add_test(tc, otlp_has_attributes);
    tcase_add_test(tc, jfr_has_events);
    return suite_run_case("render_requests", tc);
}
