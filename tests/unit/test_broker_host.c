/* SPDX-License-Identifier: Apache-2.0 */
/* broker: what it tells of the node, and what of it may be asked by name. */
#include "broker_fixture.h"

#define CONFIG_ID "f1a3ed0000000000000000000000000000000000000000000000000000000001"

START_TEST(container_config_takes_ids_only)
{
    static const char *const BAD[] = {
        "../../../../../../../etc/passwd",
        "../../../../etc/../etc/../etc/../etc/../etc/../etc/../etc/passwd",
        "F1A3ED0000000000000000000000000000000000000000000000000000000001",
        "f1a3ed000000000000000000000000000000000000000000000000000000000",
        "f1a3ed00000000000000000000000000000000000000000000000000000000011",
        "f1a3ed000000000000000000000000000000000000000000000000000000000/",
        "",
    };
    static const char FOLDER_OF_ID[] =
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" CONFIG_ID;
    struct error err = ERROR_NULL;
    char path[256];
    int fd = -1;

    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        ck_assert_int_eq(broker_container_config(fx.b, BAD[i], &fd, &err), -EINVAL);
    ck_assert_int_eq(broker_container_config(fx.b, CONFIG_ID, &fd, &err), BROKER_ABSENT);
    for (const char *p = FOLDER_OF_ID + 5; (p = strchr(p, '/')); p++) {
        snprintf(path, sizeof(path), "%.*s", (int)(p - FOLDER_OF_ID), FOLDER_OF_ID);
        mkdir(path, 0755);
    }
    ck_assert_int_eq(mkdir(FOLDER_OF_ID, 0755), 0);
    snprintf(path, sizeof(path), "%s/config.json", FOLDER_OF_ID);
    write_file(path, "{}", 2);
    ck_assert_msg(broker_container_config(fx.b, CONFIG_ID, &fd, &err) == 0, "%s", err.msg);
    ck_assert(file_is(fd, "{}"));
    close_fd(fd);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(broker_container_config(fx.b, CONFIG_ID, &fd, &err), -EPERM);
    unlink(path);
    rmdir(FOLDER_OF_ID);
}
END_TEST

START_TEST(the_host_tells_about_itself)
{
    struct error err = ERROR_NULL;
    struct broker_facts f;
    char text[64];
    int fd = -1, r;

    facts_once_loaded(fx.b, &f);
    ck_assert_uint_ge(f.kernel_version, 5u << 16);
    ck_assert_uint_eq(f.cpus, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_uint_ne(f.capabilities, 0);
    ck_assert_uint_eq(f.capabilities & 1, 0); /* CAP_CHOWN is not on the list */
    ck_assert(f.bpf_loaded == (f.bpf_problem[0] == '\0'));
    ck_assert(f.sideband == (f.sideband_problem[0] == '\0'));
    ck_assert_int_eq(broker_kallsyms(fx.b, &fd, &err), 0);
    ck_assert_int_gt(read(fd, text, sizeof(text)), 10);
    ck_assert(f.kallsyms == (memcmp(text, "0000000000000000", 16) != 0));
    close_fd(fd);
    fd = -1;
    r = broker_container_logs(fx.b, &fd, &err);
    ck_assert(r == 0 || r == BROKER_ABSENT);
    close_fd(fd);
}
END_TEST

/* What the broker gives of flamed's configuration begins with @text. */
static void expect_config(const char *text)
{
    struct error err = ERROR_NULL;
    char got[64] = "";
    int fd = -1;

    ck_assert_msg(broker_config(fx.b, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_ge(read(fd, got, sizeof(got) - 1), 0);
    ck_assert_str_eq(got, text);
    close(fd);
}

START_TEST(gives_the_configuration_as_it_is_now)
{
    static char big[(256 << 10) + 1];
    struct error err = ERROR_NULL;
    char path[64], fresh[80];
    int fd = -1;

    snprintf(path, sizeof(path), FIXTURE_CONFIG, getpid());
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    unlink(path);
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), BROKER_ABSENT);
    write_file(path, "one", 3);
    expect_config("one");
    write_file(fresh, "two", 3); /* as editors do */
    ck_assert_int_eq(rename(fresh, path), 0);
    expect_config("two");
    write_file(fresh, "three", 5); /* as Kubernetes does */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(fresh, path), 0);
    expect_config("three");
    write_file(fresh, big, sizeof(big));
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), -EFBIG);
    unlink(path);
    unlink(fresh);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), -EINVAL); /* and does not wait for a writer */
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), -EINVAL);
    rmdir(path);
    ck_assert(!broker_lost(fx.b));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_host");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_with_client, fixture_stop);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, container_config_takes_ids_only);
    tcase_add_test(tc, the_host_tells_about_itself);
    tcase_add_test(tc, gives_the_configuration_as_it_is_now);
    return suite_run_case("broker_host", tc);
}
