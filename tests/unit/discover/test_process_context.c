/* SPDX-License-Identifier: Apache-2.0 */
/* discover: the context that tracers publish of a process, and hostile contents in its place. */
#include "suite.h"

#include "context_message.h"
#include "discover/process_context.h"

static struct buf resource, message, out;

static void set_up(void)
{
    buf_init(&resource, 1 << 20);
    buf_init(&message, 1 << 20);
    buf_init(&out, 1 << 20);
}

static void tear_down(void)
{
    buf_deinit(&resource);
    buf_deinit(&message);
    buf_deinit(&out);
}

/* Returns the attributes read, with '|' in place of NUL. */
static const char *attributes(void)
{
    buf_clear(&message);
    buf_clear(&out);
    add_field(&message, 1, buf_span(&resource));
    ck_assert_int_eq(process_context_attributes(buf_span(&message), &out), 0);
    for (size_t i = 0; i < out.n; i++)
        out.p[i] = out.p[i] ? out.p[i] : '|';
    return out.p ? out.p : "";
}

START_TEST(reads_what_names_a_service)
{
    add_attribute(&resource, "telemetry.sdk.name", SPAN("opentelemetry"));
    add_attribute(&resource, "service.version", SPAN("2.4"));
    add_attribute(&resource, "service.name", SPAN("shop"));
    add_attribute(&resource, "service.name", SPAN("twice"));
    add_attribute(&resource, "db.password", SPAN("hunter2"));
    add_attribute(&resource, "service.instance.id", SPAN("i"));
    add_attribute(&resource, "deployment.environment.name", SPAN("prod"));
    add_field(&resource, 3, SPAN("whatever"));
    buf_add(&resource,
            "\x10\x96\x01\x21"
            "12345678\x2d"
            "1234",
            17);
    ck_assert_str_eq(attributes(), "service.name=shop|service.version=2.4|service.instance.id=i|"
                                   "deployment.environment.name=prod|");
}
END_TEST

START_TEST(leaves_out_what_says_nothing)
{
    char longest[PROCESS_CONTEXT_VALUE_MAX + 1];

    memset(longest, 'a', sizeof(longest));
    add_attribute(&resource, "service.name", SPAN("unknown_service:java"));
    add_attribute(&resource, "service.namespace", (struct span){ "a\0b", 3 });
    add_attribute(&resource, "service.instance.id", (struct span){ longest, sizeof(longest) });
    add_attribute(&resource, "deployment.environment", SPAN(""));
    ck_assert_str_eq(attributes(), "");
}
END_TEST

/* dd-java-agent 1.68.1 gives the version of Java in place of the service's. */
START_TEST(takes_no_version_of_datadogs_tracer)
{
    add_attribute(&resource, "service.name", SPAN("shop"));
    add_attribute(&resource, "service.version", SPAN("17.0.15"));
    add_attribute(&resource, "telemetry.sdk.name", SPAN("dd-trace-java"));
    ck_assert_str_eq(attributes(), "service.name=shop|");
}
END_TEST

/* A message with a cut, a wrong length or a wrong type yields nothing. */
START_TEST(refuses_what_is_broken)
{
    static const char *const BROKEN[] = {
        "\x0a", /* no length */
        "\x0a\x05"
        "abc",                                          /* longer than the message */
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", /* more than 64 bits */
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", /* the largest length */
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
        "\x0b\x0c", /* a group */
        "\x02\x01"
        "a", /* field 0 */
        "\x09"
        "1234567",
        "\x0d"
        "123",
        "\x08",
        "\x0a\x03\x0a\x05"
        "a", /* a field that reaches out of its parent */
    };

    for (size_t i = 0; i < ARRAY_SIZE(BROKEN); i++)
        ck_assert_msg(process_context_attributes(span_of(BROKEN[i]), &out) == -EBADMSG, "%zu", i);
    add_attribute(&resource, "service.name", SPAN("shop"));
    attributes();
    buf_clear(&out);
    for (size_t n = 1; n < message.n; n++)
        ck_assert_msg(process_context_attributes((struct span){ message.p, n }, &out) == -EBADMSG,
                      "%zu", n);
    ck_assert_uint_eq(out.n, 0);
    ck_assert_int_eq(process_context_attributes(SPAN_NULL, &out), 0);
}
END_TEST

START_TEST(has_a_limit_of_attributes)
{
    add_attribute(&resource, "service.name", SPAN("shop"));
    for (int i = 1; i < PROCESS_CONTEXT_ATTRIBUTES_MAX; i++)
        add_attribute(&resource, "k", SPAN("v"));
    ck_assert_str_eq(attributes(), "service.name=shop|");
    add_attribute(&resource, "k", SPAN("v"));
    buf_clear(&message);
    buf_clear(&out);
    add_field(&message, 1, buf_span(&resource));
    ck_assert_int_eq(process_context_attributes(buf_span(&message), &out), -E2BIG);
    ck_assert_uint_eq(out.n, 0);
}
END_TEST

/* Appends attribute @key of the process, a list of @values. */
static void add_list(const char *key, const char *const *values, size_t count)
{
    _cleanup_buf_ struct buf any = BUF_NULL, list = BUF_NULL, pair = BUF_NULL;

    buf_init(&any, 1 << 20);
    buf_init(&list, 1 << 20);
    buf_init(&pair, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&any);
        add_field(&any, 1, span_of(values[i]));
        add_field(&list, 1, buf_span(&any));
    }
    buf_clear(&any);
    add_field(&any, 5, buf_span(&list));
    add_field(&pair, 1, span_of(key));
    add_field(&pair, 2, buf_span(&any));
    add_field(&message, 2, buf_span(&pair));
}

static void add_schema(const char *schema)
{
    _cleanup_buf_ struct buf any = BUF_NULL, pair = BUF_NULL;

    buf_init(&any, 1 << 20);
    buf_init(&pair, 1 << 20);
    add_field(&any, 1, span_of(schema));
    add_field(&pair, 1, SPAN("threadlocal.schema_version"));
    add_field(&pair, 2, buf_span(&any));
    add_field(&message, 2, buf_span(&pair));
}

#define ADD_KEYS(...)                                                                              \
    add_list("threadlocal.attribute_key_map", (const char *const[]){ __VA_ARGS__ },                \
             ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

static void check_record(bool known, size_t count, const struct thread_record_text *texts)
{
    struct thread_record r = { 0 };

    ck_assert_int_eq(process_context_record(buf_span(&message), &r), 0);
    ck_assert_int_eq(r.known, known);
    ck_assert_uint_eq(r.text_count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(r.texts[i].index, texts[i].index);
        ck_assert_uint_eq(r.texts[i].text, texts[i].text);
    }
}

START_TEST(reads_the_keys_of_records)
{
    static const struct thread_record_text TEXTS[] = { { 0, CONTEXT_ROOT },
                                                       { 3, CONTEXT_NAME },
                                                       { 4, CONTEXT_NAME_MORE } };

    ADD_KEYS("datadog.local_root_span_id", "user.id", "http_route", "http.request.method",
             "http.route", "http.method");
    check_record(false, 0, NULL); /* of no known form */
    add_schema("tlsdesc_v1_dev");
    check_record(true, 3, TEXTS);
    add_schema("tls_v1");
    check_record(true, 3, TEXTS);
    add_schema("go_pprof_labels_v1");
    check_record(false, 0, NULL);
}
END_TEST

START_TEST(refuses_broken_keys_of_records)
{
    static const char *many[300];
    struct thread_record r = { 0 };

    add_schema("tls_v1");
    for (size_t i = 0; i < ARRAY_SIZE(many); i++)
        many[i] = i == 255 ? "http.route" : "k";
    add_list("threadlocal.attribute_key_map", many, 256);
    check_record(true, 1, (const struct thread_record_text[]){ { 255, CONTEXT_NAME_MORE } });
    for (size_t n = message.n - 1; n > message.n - 200; n--)
        ck_assert_int_eq(process_context_record((struct span){ message.p, n }, &r), -EBADMSG);
    ck_assert(!r.known && !r.text_count);
    buf_clear(&message);
    add_list("threadlocal.attribute_key_map", many, 257);
    ck_assert_int_eq(process_context_record(buf_span(&message), &r), -EBADMSG);
}
END_TEST

struct raw_header {
    char signature[8];
    uint32_t version, bytes;
    uint64_t published_ns, address;
};

static int header_of(const char *signature, uint32_t version, uint32_t bytes,
                     struct process_context_header *ret)
{
    struct raw_header raw = { .version = version, .bytes = bytes, .published_ns = 7, .address = 9 };

    _Static_assert(sizeof(raw) == PROCESS_CONTEXT_HEADER_BYTES, "as published");
    memcpy(raw.signature, signature, sizeof(raw.signature));
    return process_context_header((const uint8_t *)&raw, ret);
}

START_TEST(reads_headers)
{
    struct process_context_header h;

    ck_assert_int_eq(header_of("OTEL_CTX", 2, PROCESS_CONTEXT_BYTES_MAX, &h), 0);
    ck_assert_uint_eq(h.published_ns, 7);
    ck_assert_uint_eq(h.address, 9);
    ck_assert_uint_eq(h.bytes, PROCESS_CONTEXT_BYTES_MAX);
    ck_assert_int_eq(header_of("OTEL_CTX", 2, PROCESS_CONTEXT_BYTES_MAX + 1, &h), -EBADMSG);
    ck_assert_int_eq(header_of("OTEL_CTX", 1, 8, &h), -EBADMSG);
    ck_assert_int_eq(header_of("OTEL_CTX", 3, 8, &h), -EBADMSG);
    ck_assert_int_eq(header_of("OTEL_CTY", 2, 8, &h), -EBADMSG);
}
END_TEST

START_TEST(knows_the_mapping_by_its_name)
{
    ck_assert(process_context_path(SPAN("/memfd:OTEL_CTX")));
    ck_assert(process_context_path(SPAN("[anon:OTEL_CTX]")));
    ck_assert(process_context_path(SPAN("[anon_shmem:OTEL_CTX]")));
    ck_assert(!process_context_path(SPAN("/srv/memfd:OTEL_CTX")));
    ck_assert(!process_context_path(SPAN("[anon:OTEL]")));
    ck_assert(!process_context_path(SPAN_NULL));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("process_context");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, reads_what_names_a_service);
    tcase_add_test(tc, leaves_out_what_says_nothing);
    tcase_add_test(tc, takes_no_version_of_datadogs_tracer);
    tcase_add_test(tc, refuses_what_is_broken);
    tcase_add_test(tc, has_a_limit_of_attributes);
    tcase_add_test(tc, reads_the_keys_of_records);
    tcase_add_test(tc, refuses_broken_keys_of_records);
    tcase_add_test(tc, reads_headers);
    tcase_add_test(tc, knows_the_mapping_by_its_name);
    return suite_run_case("process_context", tc);
}
