/* SPDX-License-Identifier: Apache-2.0 */
/* profile/merged_names.h: numbers that change with each start are removed, numbers that a
 * programmer chose stay. */
#include "suite.h"

#include "profile/merged_names.h"

#include "base/cleanup.h"

struct name_case {
    const char *in, *out;
};

static const struct name_case CLASSES[] = {
    { "shop.Cart", "shop.Cart" },
    { "shop.Cart$1", "shop.Cart$1" },
    { "shop.Cart$Line2", "shop.Cart$Line2" },
    { "shop.Utf8", "shop.Utf8" },
    { "shop.Cart$$Lambda", "shop.Cart$$Lambda" },
    { "shop.Cart$$Lambda$14", "shop.Cart$$Lambda" },
    { "com.sun.proxy.$Proxy7", "jdk.proxy.$Proxy" },
    { "jdk.proxy2.$Proxy41", "jdk.proxy.$Proxy" },
    { "jdk.proxy3.Own", "jdk.proxy3.Own" },
    { "jdk.proxy", "jdk.proxy" },
    { "shop.$Proxy12", "shop.$Proxy" },
    { "jdk.internal.reflect.GeneratedMethodAccessor12",
      "jdk.internal.reflect.GeneratedMethodAccessor" },
    { "shop.Cart$$SpringCGLIB$$0", "shop.Cart$$SpringCGLIB" },
    { "shop.Cart$$SpringCGLIB$$FastClass$$1", "shop.Cart$$SpringCGLIB$$FastClass" },
    { "shop.Cart$$EnhancerBySpringCGLIB$$1a2b3c4d", "shop.Cart$$EnhancerBySpringCGLIB" },
    { "shop.Cart$$FastClassByGuice$$123456", "shop.Cart$$FastClassByGuice" },
    { "shop.Cart$$EnhancerByCGLIB$$1a2b3c4d$$FastClassByCGLIB$$5e6f",
      "shop.Cart$$EnhancerByCGLIB$$FastClassByCGLIB" },
    { "shop.Cart$$Bad", "shop.Cart$$Bad" },
    { "shop.Cart$$Bad$$Cafe", "shop.Cart$$Bad$$Cafe" },
    { "shop.Cart$ByteBuddy$x1Y2z3", "shop.Cart$ByteBuddy" },
    { "shop.Cart$MockitoMock$12345$auxiliary$AbCd", "shop.Cart$MockitoMock$auxiliary" },
    { "shop.Cart$HibernateProxy$AbC123", "shop.Cart$HibernateProxy" },
    { "shop.Cart_$$_jvst1a2_0", "shop.Cart_$$_jvst" },
    { "shop.Cart_$$_javassist_12", "shop.Cart_$$_javassist" },
    { "shop.Cart$Access4JacksonDeserializer1a2b3c", "shop.Cart$Access4JacksonDeserializer" },
    { "Script12", "Script" },
    { "Script12$_run_closure1", "Script$_run_closure1" },
    { "Script", "Script" },
    { "Script1x", "Script1x" },
    { "Scripts12", "Scripts12" },
    { "shop$total__1234", "shop$total__" },
    { "12", "12" },
    { "$$0", "$$0" },
    { "a$$0", "a" },
    { "", "" },
};

START_TEST(merges_classes)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 1000);
    merged_class(span_of(CLASSES[_i].in), &out);
    ck_assert_str_eq(out.p ? out.p : "", CLASSES[_i].out);
}
END_TEST

static const struct name_case METHODS[] = {
    { "run", "run" },
    { "step2", "step2" },
    { "<init>", "<init>" },
    { "access$100", "access$100" },
    { "lambda$total$3", "lambda$total" },
    { "lambda$total$1a2b3c4d$1", "lambda$total" },
    { "lambda$new$0", "lambda$new" },
    { "lambda$cafe$0", "lambda$cafe" },
    { "lambda$a1b2c3d4$0", "lambda$a1b2c3d4" },
    { "main$lambda$3", "main$lambda" },
    { "main$lambda-3", "main$lambda" },
    { "main$lambda$3$lambda$2", "main$lambda$lambda" },
    { "load$suspendImpl", "load" },
    { "load$default", "load$default" },
    { "$anonfun$main$1", "$anonfun$main" },
    { "$anonfun$main$1$adapted", "$anonfun$main$adapted" },
    { "apply$mcII$sp", "apply" },
    { "$plus$plus", "++" },
    { "$colon$colon$colon", ":::" },
    { "is$plussed", "is$plussed" },
    { "CGLIB$total$12", "CGLIB$total" },
    { "CGLIB$STATICHOOK5", "CGLIB$STATICHOOK" },
    { "$", "$" },
    { "$suspendImpl", "$suspendImpl" },
    { "", "" },
};

START_TEST(merges_methods)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 1000);
    merged_method(span_of(METHODS[_i].in), &out);
    ck_assert_str_eq(out.p ? out.p : "", METHODS[_i].out);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("merged names");

    tcase_add_loop_test(tc, merges_classes, 0, ARRAY_SIZE(CLASSES));
    tcase_add_loop_test(tc, merges_methods, 0, ARRAY_SIZE(METHODS));
    return suite_run_case("merged_names", tc);
}
