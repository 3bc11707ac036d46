/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

int client_connect_tcp(uint16_t port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_msg(connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0, "connect: %m");
    return fd;
}

int client_connect_unix(const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
    ck_assert_msg(connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0, "connect: %m");
    return fd;
}

void client_send(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

        if (sent < 0)
            return; /* refused in the middle: the answer shows why */
        text += sent;
        n -= (size_t)sent;
    }
}

/* Receives another piece. 0: the end. */
static size_t client_recv(int fd, struct buf *b, size_t max)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char piece[16384];
    ssize_t n;

    if (poll(&p, 1, CLIENT_TIMEOUT_MS) <= 0)
        ck_abort_msg("no answer within %d ms; so far: '%.200s'", CLIENT_TIMEOUT_MS,
                     b->n ? b->p : "");
    n = recv(fd, piece, MIN(max, sizeof(piece)), 0);
    if (n <= 0)
        return 0;
    buf_add(b, piece, (size_t)n);
    return (size_t)n;
}

bool client_read_until(int fd, struct buf *b, const char *text, unsigned ms)
{
    uint64_t until_ns = clock_monotonic_ns() + ms * NSEC_PER_MSEC;

    while (clock_monotonic_ns() < until_ns) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char piece[4096];
        ssize_t n;

        if (b->n && strstr(b->p, text))
            return true;
        if (poll(&p, 1, 100) <= 0)
            continue;
        n = recv(fd, piece, sizeof(piece), 0);
        if (n <= 0)
            return false;
        buf_add(b, piece, (size_t)n);
    }
    return false;
}

static bool read_head(int fd, struct reply *r)
{
    buf_clear(&r->head);
    while (r->head.n < 4 || memcmp(r->head.p + r->head.n - 4, "\r\n\r\n", 4) != 0) {
        if (client_recv(fd, &r->head, 1) == 0)
            return false;
    }
    r->status = 0;
    for (size_t i = 9; i < 12 && i < r->head.n; i++)
        r->status = r->status * 10 + (unsigned)(r->head.p[i] - '0');
    return true;
}

bool client_read(int fd, bool head_only, struct reply *ret)
{
    *ret = (struct reply){ 0 };
    buf_init(&ret->head, (size_t)64 << 10);
    buf_init(&ret->body, (size_t)64 << 20);
    do {
        if (!read_head(fd, ret)) {
            ret->status = 0;
            return false;
        }
        ret->interim += ret->status < 200;
    } while (ret->status < 200);
    if (!head_only && ret->status != 204)
        client_read_body(fd, ret);
    return true;
}

void client_read_body(int fd, struct reply *ret)
{
    char text[32];
    uint64_t length;

    if (!reply_header(ret, "Content-Length", 0, text, sizeof(text))) {
        while (client_recv(fd, &ret->body, SIZE_MAX))
            ;
        return;
    }
    ck_assert(span_parse_dec(span_of(text), &length));
    while (ret->body.n < length && client_recv(fd, &ret->body, length - ret->body.n))
        ;
    ck_assert_uint_eq(ret->body.n, length);
    buf_add(&ret->body, "", 0);
}

bool client_closed(int fd, unsigned ms)
{
    uint64_t until_ns = clock_monotonic_ns() + ms * NSEC_PER_MSEC;
    char piece[4096];

    while (clock_monotonic_ns() < until_ns) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        if (poll(&p, 1, 50) > 0 && recv(fd, piece, sizeof(piece), MSG_DONTWAIT) <= 0)
            return true;
    }
    return false;
}

void reply_deinit(struct reply *r)
{
    buf_deinit(&r->head);
    buf_deinit(&r->body);
}

const char *reply_header(const struct reply *r, const char *name, size_t index, char *buf,
                         size_t size)
{
    struct span head = buf_span(&r->head), line;

    while (span_take_line(&head, &line)) {
        size_t colon = span_find(line, ':');

        if (colon != strlen(name) || strncasecmp(line.p, name, colon) != 0 || index-- > 0)
            continue;
        return span_copy(span_trim(span_from(line, colon + 1)), buf, size);
    }
    return NULL;
}
