/* SPDX-License-Identifier: Apache-2.0 */
#include "login.h"

#include "access/session.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "request/json_text.h"

#include <jansson.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX_BYTES ((size_t)64 << 10)
#define TIMEOUT_S 10

static const char REQUEST[] =
    "POST /api/v1/logins HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

static const char *find_socket(const struct config *c)
{
    for (size_t i = 0; i < c->listen.count; i++) {
        if (strncmp(c->listen.items[i], "unix:", 5) == 0)
            return c->listen.items[i] + 5;
    }
    return NULL;
}

static int connect_to(const char *path, int *ret_fd, struct error *err)
{
    struct timeval timeout = { .tv_sec = TIMEOUT_S };
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_errno(err, "cannot make a Unix socket");
    span_copy(span_of(path), sa.sun_path, sizeof(sa.sun_path));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0) {
        error_remedy(err, errno == EACCES
                              ? "run it as root or as a member of group flamed: sudo flamed --login"
                              : "is flamed running? With other options than these, give --login "
                                "the same --listen or --config");
        return error_errno(err, "cannot connect to '%s'", path);
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

static int ask(int fd, struct buf *ret, struct error *err)
{
    char piece[4096];
    ssize_t n = send(fd, REQUEST, strlen(REQUEST), MSG_NOSIGNAL);

    if (n != (ssize_t)strlen(REQUEST))
        return error_errno(err, "cannot ask flamed");
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        buf_add(ret, piece, (size_t)n);
    return n < 0 ? error_errno(err, "flamed does not answer") : ret->error;
}

/* Returns true for the path of a ticket. Anything else, such as "@" and a name, could lead the
 * browser to another site, or change the terminal. */
static bool is_ticket_path(const char *path)
{
    struct span rest = span_of(path);

    return span_take_str(&rest, "/login?ticket=") && rest.n == SESSION_TEXT - 1 &&
           strspn(rest.p, "0123456789abcdef") == rest.n;
}

/* Parses the JSON behind the head of an answer. Returns NULL if there is none. */
static json_t *parse_answer(struct span text)
{
    static const char END[] = "\r\n\r\n";
    const char *at = text.n ? memmem(text.p, text.n, END, strlen(END)) : NULL;

    if (!at)
        return NULL;
    at += strlen(END);
    return json_loadb(at, text.n - (size_t)(at - text.p), 0, NULL);
}

static bool is_loopback(struct span host)
{
    return span_starts_with(host, "127.") || span_starts_with(host, "[::1]") ||
           span_starts_with(host, "localhost:");
}

/* Makes a new name of this machine for a login over plain HTTP. 0 or -errno. */
static int make_name(char ret[SESSION_NAME_DIGITS + 1])
{
    uint8_t bytes[SESSION_NAME_DIGITS / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Writes the address for a browser on this machine, or for one that the port is forwarded to:
 * @fresh is its name over plain HTTP. If flamed has only addresses for other machines, writes one
 * of these, which use TLS. Returns false if flamed has no address at all. */
static bool write_address(const struct config *c, const char *fresh, char *buf, size_t size)
{
    char name[HOST_NAME_MAX + 1] = "";
    bool found = false;

    for (size_t i = 0; i < c->listen.count; i++) {
        struct span address = span_of(c->listen.items[i]);
        bool tls = span_take_str(&address, "https://"), loopback = is_loopback(address);
        size_t colon = span_rfind(address, ':');

        if (span_starts_with(address, "unix:") || colon == address.n || (found && !loopback))
            continue;
        if (!loopback)
            gethostname(name, sizeof(name) - 1);
        if (loopback && !tls)
            snprintf(buf, size, "http://%s.localhost%s", fresh, address.p + colon);
        else
            snprintf(buf, size, "https://%s%s", loopback ? "localhost" : name, address.p + colon);
        found = true;
        if (loopback)
            break;
    }
    return found;
}

static int print_address(const struct config *c, const char *path, int seconds, struct error *err)
{
    char address[HOST_NAME_MAX + 32] = "", fresh[SESSION_NAME_DIGITS + 1];
    int r = make_name(fresh);
    bool any = r == 0 && write_address(c, fresh, address, sizeof(address));

    if (r < 0)
        return error_code(err, r, "cannot make a name to log in at");
    printf("%s%s\n", address, path);
    fprintf(stderr,
            "%s within %d s in the browser that is to be logged in: it is good "
            "once. Keep it secret: it gives all your rights.\n",
            any ? "Open it" : "Open this path of the address that leads to flamed", seconds);
    return 0;
}

int login_print(const struct config *c, struct error *err)
{
    const char *path = find_socket(c), *to;
    _cleanup_buf_ struct buf text = BUF_UPTO(ANSWER_MAX_BYTES);
    _cleanup_close_ int fd = -1;
    json_t *answer;
    int r;

    if (!path) {
        error_remedy(err, "let it listen on unix:/run/flamed/flamed.sock as well");
        return error_set(err, -EINVAL,
                         "flamed listens on no Unix socket, where alone it can be "
                         "asked for an address to log in");
    }
    r = connect_to(path, &fd, err) ?: ask(fd, &text, err);
    if (r < 0)
        return r;
    answer = parse_answer(buf_span(&text));
    to = json_text(answer, "path");
    if (is_ticket_path(to)) {
        r = print_address(c, to, (int)json_integer_value(json_object_get(answer, "seconds")), err);
    } else {
        error_remedy(err, "%s", json_text(answer, "remedy"));
        r = error_set(err, -EACCES, "flamed gives no address to log in: %s",
                      json_text(answer, "detail")[0] ? json_text(answer, "detail")
                                                     : "its answer cannot be read");
    }
    json_decref(answer);
    return r;
}
