/* SPDX-License-Identifier: Apache-2.0 */
#include "serve_fixture.h"
#include "suite.h"

#include "access/peers_impl.h"
#include "base/cleanup.h"
#include "base/log.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct fake fake;
struct serve *serve;
uint16_t port;
char socket_path[96];
struct peers *peers;
static int empty_fd = -1; /* stands for a /proc without containers */
static char folder[64];
static const struct listen_rights NO_RIGHTS;

static const char *const ALLOWED_HOSTS[] = { "other.example.com", "flamed.example.com" };

const struct serve_opts USUAL = { .allowed_hosts = ALLOWED_HOSTS,
                                  .allowed_host_count = ARRAY_SIZE(ALLOWED_HOSTS),
                                  .connections_max = 32,
                                  .captures_max = 4,
                                  .answer_max_bytes = (size_t)64 << 20,
                                  .idle_timeout_s = 20,
                                  .tcp_manages = true };

/* Makes peers for a machine with no other user, however many processes run. */
static void open_peers(void)
{
    char path[96];
    FILE *f;

    empty_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/loadavg", folder);
    f = fopen(path, "we");
    ck_assert(f && fputs("0.00 0.00 0.00 1/1 42\n", f) >= 0 && fclose(f) == 0);
    ck_assert_int_eq(peers_open(empty_fd, "no such group", &peers), 0);
    peers->cgroup_fd = close_fd(peers->cgroup_fd);
    peers->enclosed = true;
}

static void start_backend(const struct serve_opts *o, void (*init)(struct fake *))
{
    struct sockaddr_in sa;
    socklen_t n = sizeof(sa);
    struct error err = ERROR_NULL;
    struct serve_opts opts = *o;
    char address[128];
    int fds[2];

    snprintf(folder, sizeof(folder), "/tmp/test_serve.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(socket_path, sizeof(socket_path), "%s/s", folder);
    snprintf(address, sizeof(address), "unix:%s", socket_path);
    ck_assert_msg(listen_open("127.0.0.1:0", &NO_RIGHTS, &fds[0], &err) == 0, "%s", err.msg);
    ck_assert_msg(listen_open(address, &NO_RIGHTS, &fds[1], &err) == 0, "%s", err.msg);
    ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&sa, &n), 0);
    port = ntohs(sa.sin_port);
    init(&fake);
    if (!opts.peers) {
        open_peers();
        opts.peers = peers;
    }
    opts.listen_fds = fds;
    opts.listen_count = 2;
    opts.version = "1.2.3";
    ck_assert_msg(serve_start(&opts, &fake.backend, &serve, &err) == 0, "%s", err.msg);
}

void start_with(const struct serve_opts *o)
{
    start_backend(o, fake_init);
}

void start(void)
{
    start_with(&USUAL);
}

void start_full_with(const struct serve_opts *o)
{
    start_backend(o, fake_init_full);
}

void start_full(void)
{
    struct serve_opts o = USUAL;

    o.connections_max = 64;
    start_full_with(&o);
}

void start_full_by_default(void)
{
    struct serve_opts o = USUAL;

    o.tcp_manages = false;
    start_backend(&o, fake_init_full);
}

void stop(void)
{
    char path[96];

    fake_release(&fake);
    serve = serve_stop(serve);
    fake_deinit(&fake);
    peers = peers_close(peers);
    empty_fd = close_fd(empty_fd);
    unlink(socket_path);
    snprintf(path, sizeof(path), "%s/loadavg", folder);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* ---- asking ---- */

static void request_text(struct buf *b, const char *method, const char *target, const char *headers,
                         const char *body)
{
    buf_init(b, (size_t)1 << 20);
    buf_printf(b, "%s %s HTTP/1.1\r\n%s%s", method, target,
               headers && strstr(headers, "Host:") ? "" : "Host: localhost:7979\r\n",
               headers ? headers : "");
    if (body)
        buf_printf(b, "Content-Length: %zu\r\n", strlen(body));
    buf_add_str(b, "\r\n");
    if (body)
        buf_add_str(b, body);
}

int ask_body_on(int fd, const char *method, const char *target, const char *headers,
                const char *body)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    request_text(&b, method, target, headers, body);
    client_send(fd, b.p, b.n);
    return fd;
}

/* The kernel reads the ids from the calling thread. */
int connect_as(uid_t uid)
{
    int fd;

    ck_assert_int_eq(chmod(socket_path, 0666), 0);
    *strrchr(socket_path, '/') = '\0';
    ck_assert_int_eq(chmod(socket_path, 0711), 0);
    socket_path[strlen(socket_path)] = '/';
    ck_assert_int_eq(syscall(SYS_setresuid, -1, uid, -1), 0);
    fd = client_connect_unix(socket_path);
    ck_assert_int_eq(syscall(SYS_setresuid, -1, 0, -1), 0);
    return fd;
}

int ask_on(int fd, const char *method, const char *target, const char *headers)
{
    return ask_body_on(fd, method, target, headers, /* body= */ NULL);
}

void ask_body(const char *method, const char *target, const char *headers, const char *body,
              struct reply *ret)
{
    _cleanup_close_ int fd = ask_body_on(client_connect_tcp(port), method, target, headers, body);

    client_read(fd, strcmp(method, "HEAD") == 0, ret);
}

void ask(const char *method, const char *target, const char *headers, struct reply *ret)
{
    ask_body(method, target, headers, /* body= */ NULL, ret);
}

void await_no_captures(unsigned ms)
{
    struct serve_stats stats;

    serve_stats(serve, &stats);
    for (unsigned i = 0; i < ms / 10 && (stats.captures_now || stats.streams_now); i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_eq(stats.captures_now, 0);
    ck_assert_uint_eq(stats.streams_now, 0);
}

const char *header(const struct reply *r, const char *name)
{
    static char value[2048];

    return reply_header(r, name, 0, value, sizeof(value)) ? value : "";
}

void assert_problem(const struct reply *r, unsigned status, const char *parameter,
                    const char *contains)
{
    json_error_t e;
    json_t *j;

    ck_assert_uint_eq(r->status, status);
    ck_assert_str_eq(header(r, "Content-Type"), "application/problem+json");
    j = json_loadb(r->body.p, r->body.n, 0, &e);
    ck_assert_msg(j != NULL, "%s: %s", e.text, r->body.p);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "status")), (int)status);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(j, "type")));
    ck_assert_ptr_nonnull(json_string_value(json_object_get(j, "title")));
    if (parameter)
        ck_assert_str_eq(json_string_value(json_object_get(j, "parameter")), parameter);
    if (contains)
        ck_assert_msg(strstr(json_string_value(json_object_get(j, "detail")), contains) != NULL,
                      "'%s' is not in %s", contains, r->body.p);
    json_decref(j);
}

int run_suite(Suite *s)
{
    signal(SIGPIPE, SIG_IGN);
    log_init("test_serve", getenv("TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    return suite_run(s);
}
