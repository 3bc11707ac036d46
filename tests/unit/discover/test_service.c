/* SPDX-License-Identifier: Apache-2.0 */
/* discover: a JVM's service, by its options, its environment, and facts of the node. */
#include "suite.h"

#include "base/text.h"
#include "discover/discover.h"
#include "discover/service.h"

#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static const struct {
    struct span options, words;
    const char *name, *version, *environment, *instance;
    enum service_source source;
} WORD_CASES[] = {
    { TEXT(""), TEXT(""), "", "", "", "", SERVICE_UNKNOWN },
    { TEXT("-Xmx1g\0-Dotel.service.name=shop"), TEXT(""), "shop", "", "", "", SERVICE_PROPERTY },
    { TEXT("-Ddd.service=shop\0-Ddd.version=2.4.1\0-Ddd.env=prod"), TEXT(""), "shop", "2.4.1",
      "prod", "", SERVICE_PROPERTY },
    { TEXT(""), TEXT("OTEL_SERVICE_NAME=shop\0"), "shop", "", "", "", SERVICE_ENVIRON },
    { TEXT(""), TEXT("DD_SERVICE=shop\0DD_ENV=prod\0DD_VERSION=7\0"), "shop", "7", "prod", "",
      SERVICE_ENVIRON },
    { TEXT(""),
      TEXT("OTEL_RESOURCE_ATTRIBUTES=service.name=shop, service.version=2.4.1,"
           "deployment.environment.name=prod,service.instance.id=a-1,other=x,"
           "service.namespace=web\0"),
      "shop", "2.4.1", "prod", "a-1", SERVICE_ENVIRON },
    /* A name counts more than an attribute, and an option more than the environment. */
    { TEXT(""), TEXT("OTEL_RESOURCE_ATTRIBUTES=service.name=no\0OTEL_SERVICE_NAME=shop\0"), "shop",
      "", "", "", SERVICE_ENVIRON },
    { TEXT("-Dotel.resource.attributes=service.name=shop"), TEXT("OTEL_SERVICE_NAME=no\0"), "shop",
      "", "", "", SERVICE_PROPERTY },
    { TEXT("-Ddd.service=shop"), TEXT("OTEL_SERVICE_NAME=no\0DD_VERSION=3\0"), "shop", "3", "", "",
      SERVICE_PROPERTY },
    /* Options in JAVA_TOOL_OPTIONS. */
    { TEXT(""), TEXT("-Dotel.service.name=shop\0"), "shop", "", "", "", SERVICE_PROPERTY },
    /* Percent signs, blanks, empty values, and characters with a meaning in HTML. */
    { TEXT(""), TEXT("OTEL_RESOURCE_ATTRIBUTES=service.name=a%2Cb%zz%\0"), "a,b%zz%", "", "", "",
      SERVICE_ENVIRON },
    { TEXT(""), TEXT("OTEL_SERVICE_NAME=  \0DD_SERVICE=shop\0"), "shop", "", "", "",
      SERVICE_ENVIRON },
    { TEXT(""), TEXT("OTEL_SERVICE_NAME=a\x1b[31m\0"), "a\xef\xbf\xbd[31m", "", "", "",
      SERVICE_ENVIRON },
    { TEXT(""), TEXT("OTEL_RESOURCE_ATTRIBUTES=,,=,service.name,service.name=\0"), "", "", "", "",
      SERVICE_UNKNOWN },
};

START_TEST(reads_what_a_process_says)
{
    struct service s;

    service_of_words(SPAN_NULL, WORD_CASES[_i].options, WORD_CASES[_i].words, &s);
    ck_assert_str_eq(s.name, WORD_CASES[_i].name);
    ck_assert_str_eq(s.version, WORD_CASES[_i].version);
    ck_assert_str_eq(s.environment, WORD_CASES[_i].environment);
    ck_assert_str_eq(s.instance, WORD_CASES[_i].instance);
    ck_assert_str_eq(s.space, s.instance[0] ? "web" : "");
    ck_assert_int_eq(s.source, WORD_CASES[_i].source);
}
END_TEST

static const struct {
    struct span published, words;
    const char *repository, *revision;
} SOURCE_CASES[] = {
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=https://host/shop\0DD_GIT_COMMIT_SHA=0a1b2c\0"),
      "https://host/shop", "0a1b2c" },
    { TEXT("vcs.ref.head.revision=1\0vcs.repository.url.full=https://host/a@b\0"),
      TEXT("DD_GIT_COMMIT_SHA=2\0"), "", "1" },
    { TEXT(""),
      TEXT("OTEL_RESOURCE_ATTRIBUTES=vcs.repository.url.full=https%3A//me:p%40ss@host:8443/a/b,"
           "vcs.ref.head.revision=main\0"),
      "https://host:8443/a/b", "main" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=git@host:shop/cart.git?token=1#x\0"),
      "host:shop/cart.git", "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=https://me@\0"), "", "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=://\0"), "", "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=@\0DD_GIT_COMMIT_SHA=\0"), "", "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=a:/\0"), "a:/", "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=https://me:p/@ss@host/shop\0"), "", "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=https://me:p?s#s@host/shop\0"), "https://host/shop",
      "" },
    { TEXT(""), TEXT("DD_GIT_REPOSITORY_URL=https://host/shop?to=me@host\0"), "", "" },
};

/* Users and passwords in an address are dropped. */
START_TEST(reads_where_the_source_code_is)
{
    struct service s;

    service_of_words(SOURCE_CASES[_i].published, SPAN_NULL, SOURCE_CASES[_i].words, &s);
    ck_assert_str_eq(s.repository, SOURCE_CASES[_i].repository);
    ck_assert_str_eq(s.revision, SOURCE_CASES[_i].revision);
}
END_TEST

START_TEST(drops_a_long_address)
{
    static const char BEGIN[] = "DD_GIT_REPOSITORY_URL=https://";
    char text[sizeof(BEGIN) + 2 * SERVICE_NAME_BYTES];
    struct service s;

    for (size_t n = 0; n <= 2 * SERVICE_NAME_BYTES - 8; n++) {
        memset(text, 's', sizeof(text));
        memcpy(text, BEGIN, sizeof(BEGIN) - 1);
        memcpy(text + sizeof(BEGIN) - 1 + n, "@host/x", sizeof("@host/x"));
        service_of_words(SPAN_NULL, SPAN_NULL, span_of(text), &s);
        ck_assert_msg(!s.repository[0] || strcmp(s.repository, "https://host/x") == 0, "%s",
                      s.repository);
    }
}
END_TEST

static const struct {
    struct span published, options, words;
    const char *name, *version, *environment;
    enum service_source source;
} PUBLISHED_CASES[] = {
    { TEXT("service.name=shop\0service.version=7\0"), TEXT("-Dotel.service.name=no"),
      TEXT("DD_SERVICE=no\0DD_VERSION=6\0DD_ENV=prod\0"), "shop", "7", "prod", SERVICE_CONTEXT },
    /* Percent signs stay as they are. */
    { TEXT("service.name=a%2Cb=c\0"), TEXT(""), TEXT(""), "a%2Cb=c", "", "", SERVICE_CONTEXT },
    /* An empty name counts as none. */
    { TEXT("service.version=7\0service.name= \0"), TEXT(""), TEXT("OTEL_SERVICE_NAME=shop\0"),
      "shop", "7", "", SERVICE_ENVIRON },
    { TEXT("service.version=7\0"), TEXT("-Ddd.service=shop\0-Ddd.version=6"), TEXT(""), "shop", "7",
      "", SERVICE_PROPERTY },
};

START_TEST(takes_first_what_is_published)
{
    struct service s;

    service_of_words(PUBLISHED_CASES[_i].published, PUBLISHED_CASES[_i].options,
                     PUBLISHED_CASES[_i].words, &s);
    ck_assert_str_eq(s.name, PUBLISHED_CASES[_i].name);
    ck_assert_str_eq(s.version, PUBLISHED_CASES[_i].version);
    ck_assert_str_eq(s.environment, PUBLISHED_CASES[_i].environment);
    ck_assert_int_eq(s.source, PUBLISHED_CASES[_i].source);
    ck_assert_str_ne(service_source_name(s.source), "");
}
END_TEST

START_TEST(cuts_a_long_name_between_characters)
{
    char words[400] = "OTEL_SERVICE_NAME=";
    struct service s;

    for (size_t i = 0; i < 180; i++)
        memcpy(words + strlen("OTEL_SERVICE_NAME=") + 2 * i, "\xc3\xa4", 2);
    service_of_words(SPAN_NULL, SPAN_NULL,
                     (struct span){ words, strlen("OTEL_SERVICE_NAME=") + 360 }, &s);
    ck_assert_uint_lt(strlen(s.name), sizeof(s.name));
    ck_assert(text_is_utf8(span_of(s.name)));
    ck_assert(span_ends_with(span_of(s.name), "..."));
}
END_TEST

static const struct {
    struct span (*of)(struct span);
    const char *in, *out;
} NAME_CASES[] = {
    { service_workload, "checkout-7d9f8b6c5d-x2x4z", "checkout" },
    { service_workload, "check-out-7d9f8b6c5d-x2x4z", "check-out" },
    { service_workload, "node-agent-x2x4z", "node-agent" },  /* a DaemonSet */
    { service_workload, "backup-29840123-x2x4z", "backup" }, /* a CronJob */
    { service_workload, "db-0", "db" },
    { service_workload, "db-12", "db" },
    { service_workload, "my-pod", "my-pod" },
    { service_workload, "alone", "alone" },
    { service_workload, "-x2x4z", "-x2x4z" },
    { service_workload, "", "" },
    { service_unit, "/system.slice/shop.service", "shop" },
    { service_unit, "/system.slice/system-shop.slice/shop@1.service", "shop@1" },
    { service_unit, "/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service",
      "shop" },
    { service_unit, "/user.slice/user-1000.slice/session-3.scope", "" },
    { service_unit, "/", "" },
    { service_program, "com.acme.Shop", "Shop" },
    { service_program, "/srv/shop-2.4.jar", "shop-2.4" },
    { service_program, "com.acme.shop/com.acme.Shop", "Shop" },
    { service_program, "", "" },
};

START_TEST(takes_names_apart)
{
    struct span out = NAME_CASES[_i].of(span_of(NAME_CASES[_i].in));

    ck_assert_msg(span_eq_str(out, NAME_CASES[_i].out), "%s: %.*s", NAME_CASES[_i].in, (int)out.n,
                  out.p ? out.p : "");
}
END_TEST

START_TEST(asks_the_node_where_a_process_says_nothing)
{
    char cgroup[] = "/system.slice/unit.service", main[] = "com.acme.Main";
    struct process p = { .main = main, .cgroup = cgroup };
    struct service said = { .name = "said", .version = "2", .source = SERVICE_ENVIRON }, s;

    service_of_process(&p, &s);
    ck_assert_str_eq(s.name, "unit");
    ck_assert_int_eq(s.source, SERVICE_UNIT);
    memset(p.container.id, 'a', 64);
    service_of_process(&p, &s);
    ck_assert_str_eq(s.name, "Main"); /* a unit of the runtime does not name the container */
    ck_assert_str_eq(s.version, "");
    memcpy(p.container.name, "box", 4);
    memcpy(p.container.image_version, "1.4", 4);
    service_of_process(&p, &s);
    ck_assert_str_eq(s.name, "box");
    ck_assert_str_eq(s.version, "1.4");
    ck_assert_int_eq(s.version_source, VERSION_OF_IMAGE);
    memcpy(p.container.pod_name, "web-0", 6);
    service_of_process(&p, &s);
    ck_assert_str_eq(s.name, "web");
    ck_assert_str_eq(s.instance, "web-0");
    p.service = &said;
    service_of_process(&p, &s);
    ck_assert_str_eq(s.name, "said");
    ck_assert_str_eq(s.version, "2");
    ck_assert_int_eq(s.version_source, VERSION_OF_PROCESS);
    ck_assert_str_eq(service_source_name(s.source), "environ");
}
END_TEST

START_TEST(a_jar_has_a_version_where_nothing_else_does)
{
    char cgroup[] = "/", main[] = "app.jar";
    struct service own = { .jar = { "app.jar", { "1.2", 7 } } }, s;
    struct process p = { .main = main, .cgroup = cgroup, .service = &own };

    service_of_process(&p, &s);
    ck_assert_str_eq(s.version, "1.2");
    ck_assert_int_eq(s.version_source, VERSION_OF_JAR);
    memcpy(p.container.image_version, "1.4", 4);
    service_of_process(&p, &s);
    ck_assert_str_eq(s.version, "1.4");
    ck_assert_int_eq(s.version_source, VERSION_OF_IMAGE);
    memcpy(own.version, "2", 2);
    service_of_process(&p, &s);
    ck_assert_str_eq(s.version, "2");
    ck_assert_int_eq(s.version_source, VERSION_OF_PROCESS);
    ck_assert_uint_eq(s.jar.facts.identity, 7);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("service");

    tcase_add_loop_test(tc, reads_where_the_source_code_is, 0, ARRAY_SIZE(SOURCE_CASES));
    tcase_add_test(tc, drops_a_long_address);
    tcase_add_loop_test(tc, reads_what_a_process_says, 0, ARRAY_SIZE(WORD_CASES));
    tcase_add_loop_test(tc, takes_first_what_is_published, 0, ARRAY_SIZE(PUBLISHED_CASES));
    tcase_add_test(tc, cuts_a_long_name_between_characters);
    tcase_add_loop_test(tc, takes_names_apart, 0, ARRAY_SIZE(NAME_CASES));
    tcase_add_test(tc, asks_the_node_where_a_process_says_nothing);
    tcase_add_test(tc, a_jar_has_a_version_where_nothing_else_does);
    return suite_run_case("service", tc);
}
