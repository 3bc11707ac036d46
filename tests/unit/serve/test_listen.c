/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that serve/ listens on: only loopback, and a Unix socket. */
#include "suite.h"

#include "base/cleanup.h"
#include "serve/serve.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct listen_rights NO_RIGHTS;

static const struct {
    const char *address;
    int r;
} ADDRESSES[] = {
    { "127.0.0.1:0", 0 },
    { "127.1.2.3:0", 0 },
    { "localhost:0", 0 },
    { "[::1]:0", 0 },
    { "0.0.0.0:0", -EACCES },
    { "192.0.2.1:0", -EACCES },
    { "[::]:0", -EACCES },
    { "[2001:db8::1]:0", -EACCES },
    { "[::ffff:192.0.2.1]:0", -EACCES },
    { ":7979", -EACCES },
    { "*:7979", -EACCES },
    { "example.com:80", -EINVAL },
    { "127.0.0.1", -EINVAL },
    { "127.0.0.1:", -EINVAL },
    { "127.0.0.1:65536", -EINVAL },
    { "127.0.0.1:-1", -EINVAL },
    { "127.0.0.1:http", -EINVAL },
    { "::1:7979", -EINVAL },
    { "[::1:7979", -EINVAL },
    { "[127.0.0.1]:7979", -EINVAL },
    { "127.1:7979", -EINVAL },
    { "", -EINVAL },
    { "unix:", -EINVAL },
    { "unix:relative", -EINVAL },
    { "unix:/", -EINVAL },
    { "unix:/nonexistent/a-path-that-is-longer-than-the-hundred-and-seven-bytes"
      "-which-the-address-of-a-socket-has-room-for-whatever-its-file-system-says",
      -ENAMETOOLONG },
};

START_TEST(listens_on_loopback_alone)
{
    _cleanup_close_ int fd = -1;
    struct error err = ERROR_NULL;
    int r = listen_open(ADDRESSES[_i].address, &NO_RIGHTS, &fd, &err);

    if (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT) /* a machine without IPv6 */
        return;
    ck_assert_msg(r == ADDRESSES[_i].r, "%s: %s", ADDRESSES[_i].address, err.msg);
    if (r < 0)
        ck_assert_msg(err.msg[0] && (r != -EACCES || strstr(err.msg, "loopback")), "%s", err.msg);
    else
        ck_assert_int_ge(fd, 0);
}
END_TEST

static const struct {
    const char *address;
    bool tls, authentication;
    int r;
    const char *says;
} SECURED[] = {
    { "0.0.0.0:0", true, true, 0, NULL },
    { "https://0.0.0.0:0", true, true, 0, NULL },
    { "https://127.0.0.1:0", true, false, 0, NULL },
    { "https://127.0.0.1:0", false, true, -EINVAL, "tls_server_config" },
    { "0.0.0.0:0", true, false, -EACCES, "a rule under access" },
    { "0.0.0.0:0", false, true, -EACCES, "tls_server_config" },
    { ":0", true, true, -EINVAL, "0.0.0.0:PORT" },
    { "https://unix:/x", true, true, -EINVAL, NULL },
    { "https://https://127.0.0.1:0", true, true, -EINVAL, NULL },
};

START_TEST(listens_elsewhere_with_tls_and_authentication)
{
    const struct listen_rights rights = { SECURED[_i].tls, SECURED[_i].authentication };
    const char *address = SECURED[_i].address;
    _cleanup_close_ int fd = -1;
    struct error err = ERROR_NULL;
    int r = listen_open(address, &rights, &fd, &err);

    ck_assert_msg(r == SECURED[_i].r, "%s: %d %s", address, r, err.msg);
    ck_assert_int_eq(listen_check(address, &rights, NULL), r);
    if (r == 0)
        ck_assert_int_eq(listen_is_public(fd), strstr(address, "127.0.0.1") == NULL);
    if (SECURED[_i].says)
        ck_assert_msg(strstr(err.msg, SECURED[_i].says) != NULL, "%s", err.msg);
}
END_TEST

/* A client of localhost may use either address: no other program may hold one of them. */
START_TEST(has_both_addresses_of_localhost)
{
    static const char *const BEGIN[] = { "127.0.0.1:0", "[::1]:0" };
    int fds[2] = { -1, -1 }, third = -1, r = -EADDRINUSE;
    struct error err = ERROR_NULL;

    for (int i = 0; r == -EADDRINUSE && i < 20;
         i++) { /* another program may have that port on one address */
        close_fd(fds[0]);
        r = listen_open(BEGIN[_i], &NO_RIGHTS, &fds[0], &err);
        if (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT) /* a machine without IPv6 */
            return;
        ck_assert_msg(r == 0, "%s", err.msg);
        r = listen_open_twin(fds, 1, 0, &fds[1], &err);
    }
    if (r != LISTEN_NONE) {
        ck_assert_msg(r == 0, "%s", err.msg);
        ck_assert(listen_is_at(fds[1], BEGIN[!_i]));
        ck_assert(!listen_is_at(fds[0], BEGIN[!_i]));
        ck_assert(!listen_is_public(fds[1]));
        ck_assert_int_eq(listen_open_twin(fds, 2, 0, &third, &err), LISTEN_NONE);
        ck_assert_int_eq(listen_open_twin(fds, 2, 1, &third, &err), LISTEN_NONE);
        ck_assert_int_eq(listen_open_twin(fds, 1, 0, &third, &err), -EADDRINUSE);
        ck_assert_msg(strstr(err.msg, "is localhost, too"), "%s", err.msg);
        close(fds[1]);
    }
    close(fds[0]);
    ck_assert_int_eq(listen_open("127.1.2.3:0", &NO_RIGHTS, &fds[0], &err), 0);
    ck_assert_int_eq(listen_open_twin(fds, 1, 0, &third, &err), LISTEN_NONE);
    close(fds[0]);
}
END_TEST

START_TEST(replaces_a_stale_socket_only)
{
    char folder[] = "/tmp/test_listen.XXXXXX", address[96], path[80];
    struct error err = ERROR_NULL;
    int first = -1, second = -1;
    struct group *group = getgrnam("flamed");
    struct stat st;
    FILE *f;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/sub/s", folder);
    snprintf(address, sizeof(address), "unix:%s", path);
    ck_assert_msg(listen_open(address, &NO_RIGHTS, &first, &err) == 0, "%s",
                  err.msg); /* it makes the folder, too */
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    if (group && geteuid() == 0)
        ck_assert_uint_eq(st.st_gid, group->gr_gid);

    ck_assert_int_eq(listen_open(address, &NO_RIGHTS, &second, &err), -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(err.msg, "another program"));
    close(first); /* as after a kill: the file stays */
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_msg(listen_open(address, &NO_RIGHTS, &second, &err) == 0, "%s", err.msg);
    close(second);
    unlink(path);

    f = fopen(path, "w");
    fputs("precious", f);
    fclose(f);
    ck_assert_int_eq(listen_open(address, &NO_RIGHTS, &second, &err), -EEXIST);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 8);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(listen_open(address, &NO_RIGHTS, &second, &err), -EEXIST);
    unlink(path);
    snprintf(path, sizeof(path), "%s/sub", folder);
    rmdir(path);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("listen");

    tcase_add_loop_test(tc, listens_on_loopback_alone, 0, ARRAY_SIZE(ADDRESSES));
    tcase_add_loop_test(tc, listens_elsewhere_with_tls_and_authentication, 0,
                        (int)ARRAY_SIZE(SECURED));
    tcase_add_loop_test(tc, has_both_addresses_of_localhost, 0, 2);
    tcase_add_test(tc, replaces_a_stale_socket_only);
    return suite_run_case("listen", tc);
}
