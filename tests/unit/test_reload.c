/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/reload.c: a configuration that is missing at a reload. */
#include "suite.h"

#include "access/access_rules.h"
#include "broker_client/broker.h"
#include "reload.h"

#include <sys/mman.h>
#include <unistd.h>

static const char TEXT[] = "access:\n  - {name: guest, user: 1000, role: health}\n";
static const char *file; /* the text of the configuration now; NULL: it is missing */
static struct access_rules *in_force;
static unsigned applied; /* number of reloads that changed the rules */
static char problem[ENGINE_PROBLEM_BYTES];

int __wrap_engine_open_config(struct engine *e, enum tls_file which, int *ret_fd,
                              struct error *err);
int __wrap_engine_open_config(struct engine *e, enum tls_file which, int *ret_fd, struct error *err)
{
    (void)e;
    (void)which;
    (void)err;
    if (!file)
        return BROKER_ABSENT;
    *ret_fd = memfd_create("flamed.yaml", MFD_CLOEXEC);
    ck_assert_int_eq(write(*ret_fd, file, strlen(file)), (int)strlen(file));
    return 0;
}

int __wrap_engine_set_rules(struct engine *e, struct rules *rules, struct error *err);
int __wrap_engine_set_rules(struct engine *e, struct rules *rules, struct error *err)
{
    (void)e;
    (void)err;
    rules_free(rules);
    applied++;
    return 0;
}

void __wrap_engine_set_problem(struct engine *e, enum engine_problem which, const char *sentence);
void __wrap_engine_set_problem(struct engine *e, enum engine_problem which, const char *sentence)
{
    (void)e;
    if (which == ENGINE_PROBLEM_CONFIG)
        snprintf(problem, sizeof(problem), "%s", sentence);
}

void __wrap_serve_set_access(struct serve *s, struct access_rules *rules);
void __wrap_serve_set_access(struct serve *s, struct access_rules *rules)
{
    (void)s;
    access_rules_free(in_force);
    in_force = rules;
}

const struct access_rules *__wrap_serve_access(const struct serve *s);
const struct access_rules *__wrap_serve_access(const struct serve *s)
{
    (void)s;
    return in_force;
}

static void again(struct reload *r, const char *text)
{
    file = text;
    reload_config(r, NULL);
}

/* An editor or a deployment may take the file away for a moment: rules that narrow rights stay. */
START_TEST(a_file_that_is_gone_is_a_mistake)
{
    struct config c;
    struct reload r = { .config = &c };

    ck_assert_int_eq(config_init(&c), 0);
    applied = 0;
    again(&r, NULL); /* flamed was started without one */
    ck_assert_uint_eq(applied, 1);
    ck_assert_str_eq(problem, "");
    again(&r, TEXT);
    ck_assert_uint_eq(applied, 2);
    ck_assert_ptr_nonnull(in_force);
    again(&r, NULL);
    ck_assert_uint_eq(applied, 2);
    ck_assert_ptr_nonnull(in_force);
    ck_assert_msg(strstr(problem, "there is no configuration"), "%s", problem);
    again(&r, ""); /* it is empty on purpose */
    ck_assert_uint_eq(applied, 3);
    ck_assert_str_eq(problem, "");
    config_deinit(&c);
}
END_TEST

/* At a start with a file. */
START_TEST(a_file_of_the_start_is_missed)
{
    struct config c;
    struct reload r = { .config = &c };
    struct error err = ERROR_NULL;
    int fd = memfd_create("flamed.yaml", MFD_CLOEXEC);

    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_int_eq(write(fd, TEXT, strlen(TEXT)), (int)strlen(TEXT));
    ck_assert_msg(config_parse_fd(fd, 0, &c, &err) == 0, "%s", err.msg);
    close(fd);
    applied = 0;
    again(&r, NULL);
    ck_assert_uint_eq(applied, 0);
    ck_assert_msg(strstr(problem, "there is no configuration"), "%s", problem);
    config_deinit(&c);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("reload");

    tcase_add_test(tc, a_file_that_is_gone_is_a_mistake);
    tcase_add_test(tc, a_file_of_the_start_is_missed);
    return suite_run_case("reload", tc);
}
