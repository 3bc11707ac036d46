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

int main(void)
{
    TCase *tc = tcase_create("negotiate");

    tcase_add_loop_test(tc, chooses_a_format, 0, ARRAY_SIZE(ACCEPTS));
    tcase_add_test(tc, chooses_a_coding);
    return suite_run_case("negotiate", tc);
}
