/* SPDX-License-Identifier: Apache-2.0 */
/* The format and the encoding of an answer, by the client's Accept headers. */
#include "suite.h"

#include "serve/params/negotiate.h"

static const struct {
    const char *accept, *format; /* accept NULL: no header; format NULL: none is acceptable */
} ACCEPTS[] = {
    { NULL, "html" },
    { "", "html" },
    { "*/*", "html" },
    { "text/html", "html" },
    { "text/*", "html" },
    { "text/plain", "collapsed" },
    { "TEXT/PLAIN", "collapsed" },
    { "application/json", "json" },
    { "application/*", "json" },
    { "application/json;q=0.5, text/plain;q=0.9", "collapsed" },
    { "text/html;q=0.1, */*;q=0.5", "collapsed" },
    { "text/html;q=0, */*", "collapsed" },
    { "application/json, text/plain, */*", "json" },
    { "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "html" },
    { "image/png", NULL },
    { "text/html;q=0", NULL },
    { "text/plain;charset=utf-8", "collapsed" },
    { ", ,;q=1,text/plain", "collapsed" },
    { "application/json;q=nonsense", NULL },
};

START_TEST(chooses_a_format)
{
    size_t count;
    const struct render_format *formats = render_formats(&count);
    const struct render_format *f = negotiate_format(span_of(ACCEPTS[_i].accept), formats, count);

    if (ACCEPTS[_i].format) {
        ck_assert_msg(f != NULL, "%s", ACCEPTS[_i].accept);
        ck_assert_msg(strcmp(f->name, ACCEPTS[_i].format) == 0, "%s: %s", ACCEPTS[_i].accept,
                      f->name);
    } else {
        ck_assert_msg(f == NULL, "%s", ACCEPTS[_i].accept);
    }
}
END_TEST

START_TEST(chooses_a_coding)
{
    static const struct {
        const char *accept;
        enum content_coding coding;
    } CASES[] = {
        { NULL, CODING_IDENTITY },
        { "", CODING_IDENTITY },
        { "gzip, deflate, br, zstd", CODING_GZIP },
        { "GZIP", CODING_GZIP },
        { "deflate", CODING_DEFLATE },
        { "gzip;q=0", CODING_IDENTITY },
        { "gzip;q=0.5, deflate;q=0.9", CODING_DEFLATE },
        { "br", CODING_IDENTITY },
        { "*", CODING_GZIP },
        { "*;q=0", CODING_IDENTITY },
        { "identity, gzip;q=0.5", CODING_IDENTITY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        ck_assert_msg(negotiate_coding(span_of(CASES[i].accept)) == CASES[i].coding, "%s",
                      CASES[i].accept);
}
END_TEST

static const struct {
    const char *accept;
    bool openmetrics;
} SCRAPERS[] = {
    { NULL, false },
    { "*/*", false },
    { "application/*", false },
    { "application/openmetrics-text", false },
    { "application/openmetrics-text; version=0.0.1", false },
    { "application/openmetrics-text; version=1.0.0", true },
    { "Application/OpenMetrics-Text;Version=1.0.0; charset=utf-8", true },
    { "application/openmetrics-text;version=1.0.0;q=0", false },
    { "application/openmetrics-text;version=1.0.0;q=0.4,text/plain", false },
    { "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0", true },
    /* Prometheus 2.42 and 3 */
    { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75"
      ",text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      true },
    { "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
      "application/openmetrics-text;version=0.0.1;q=0.5,"
      "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0."
      "2",
      true },
    /* The same with protobuf or the text first. */
    { "text/plain;version=0.0.4;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5", false },
};

START_TEST(chooses_openmetrics)
{
    ck_assert_msg(negotiate_openmetrics(span_of(SCRAPERS[_i].accept)) == SCRAPERS[_i].openmetrics,
                  "%s", SCRAPERS[_i].accept);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("negotiate");

    tcase_add_loop_test(tc, chooses_a_format, 0, ARRAY_SIZE(ACCEPTS));
    tcase_add_test(tc, chooses_a_coding);
    tcase_add_loop_test(tc, chooses_openmetrics, 0, ARRAY_SIZE(SCRAPERS));
    return suite_run_case("negotiate", tc);
}
