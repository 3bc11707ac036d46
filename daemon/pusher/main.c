/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed-push [PORT...]: sends the bodies that flamed passes to the engines of the configuration.
 * It may connect only to these ports. It runs as flamed's user, with IP sockets and one Unix
 * socket, to flamed. It cannot reach the Unix sockets of flamed and of the broker. Over TCP, flamed
 * treats it as an unknown user. The first process only starts the second one, and starts it again
 * when it ends. Both end with flamed.
 */
#include "base/buf.h"
#include "base/log.h"
#include "pusher/lockdown.h"
#include "pusher/transfer.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES_AT_ONCE 64
#define EXIT_ENDED 0 /* flamed has closed its end */
#define EXIT_FAILED 1

/* A message being received in pieces; one per target. */
struct incoming {
    struct buf bytes;
    uint32_t kind, id, total;
};

struct pusher {
    struct transfers *transfers;
    struct incoming in[PUSHER_TARGETS_MAX];
};

static void send_message(const struct pusher_head *head, const struct pusher_answer *answer)
{
    char message[sizeof(*head) + sizeof(*answer)];
    size_t n = sizeof(*head);

    memcpy(message, head, sizeof(*head));
    if (answer) {
        memcpy(message + n, answer, sizeof(*answer));
        n += sizeof(*answer);
    }
    if (send(PUSHER_FD, message, n, MSG_NOSIGNAL) < 0)
        _exit(errno == EPIPE || errno == ECONNRESET ? EXIT_ENDED : EXIT_FAILED);
}

static void answer(void *cookie, uint32_t target, uint32_t id, const struct pusher_answer *a)
{
    struct pusher_head head = { .kind = PUSHER_ANSWER, .target = target, .id = id };

    (void)cookie;
    head.total = sizeof(*a);
    send_message(&head, a);
}

static void take_whole(struct pusher *p, uint32_t target)
{
    struct pusher_answer a = { .failure = PUSHER_UNSENT };
    struct incoming *in = &p->in[target];
    struct span bytes = buf_span(&in->bytes);

    if (in->kind == PUSHER_TARGET) {
        if (transfers_target(p->transfers, target, bytes) < 0)
            log_warn("flamed-push: flamed sent a target that is not valid");
        if (in->bytes.n)
            explicit_bzero(in->bytes.p, in->bytes.n);
    } else if (transfers_send(p->transfers, target, in->id, bytes) < 0) {
        snprintf(a.text, sizeof(a.text), "flamed-push could not begin to send");
        answer(p, target, in->id, &a);
    }
    buf_deinit(&in->bytes);
    in->kind = 0;
}

/* Takes a piece. Drops a piece that does not follow the previous one. flamed then gets no answer,
 * and sends the message again. */
static void take_piece(struct pusher *p, const struct pusher_head *h, struct span piece)
{
    struct incoming *in;

    if (h->target >= PUSHER_TARGETS_MAX || (h->kind != PUSHER_TARGET && h->kind != PUSHER_BODY) ||
        !h->total || h->total > PUSHER_BODY_MAX)
        return;
    in = &p->in[h->target];
    if (h->offset == 0) {
        buf_deinit(&in->bytes);
        buf_init(&in->bytes, PUSHER_BODY_MAX);
        *in = (struct incoming){ in->bytes, h->kind, h->id, h->total };
    }
    if (in->kind != h->kind || in->id != h->id || in->total != h->total ||
        in->bytes.n != h->offset || piece.n > h->total - h->offset)
        return;
    buf_add_span(&in->bytes, piece);
    if (in->bytes.error)
        _exit(EXIT_FAILED);
    if (in->bytes.n == in->total)
        take_whole(p, h->target);
}

/* Returns false if flamed has closed its end. */
static bool take_messages(struct pusher *p)
{
    static char message[sizeof(struct pusher_head) + PUSHER_PIECE_BYTES];
    struct pusher_head head;

    for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
        ssize_t n = recv(PUSHER_FD, message, sizeof(message), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n <= 0)
            return false;
        if ((size_t)n < sizeof(head))
            continue;
        memcpy(&head, message, sizeof(head));
        take_piece(p, &head, (struct span){ message + sizeof(head), (size_t)n - sizeof(head) });
    }
    return true;
}

static int work(void)
{
    struct pusher_head ready = { .kind = PUSHER_READY };
    struct pusher p = { 0 };
    bool readable;

    if (transfers_new(answer, &p, &p.transfers) < 0)
        return EXIT_FAILED;
    send_message(&ready, NULL);
    while (transfers_run(p.transfers, PUSHER_FD, &readable) == 0) {
        if (readable && !take_messages(&p))
            return EXIT_ENDED;
    }
    return EXIT_FAILED;
}

/* Starts the worker again and again until flamed has ended. */
static int keep(void)
{
    const struct timespec pause = { .tv_sec = 1 };
    pid_t self = getpid();

    for (;;) {
        pid_t pid = fork();
        int status = 0;

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            _exit(getppid() == self ? work() : EXIT_ENDED);
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_ENDED)
            return 0;
        log_warn("flamed-push ended and is started again status=%d", status);
        nanosleep(&pause, NULL);
    }
}

/* Reads the ports that flamed names. Returns their number. */
static size_t read_ports(int argc, char **argv, uint16_t ports[PUSHER_PORTS_MAX])
{
    size_t n = 0;

    for (int i = 1; i < argc && n < PUSHER_PORTS_MAX; i++) {
        uint64_t port;

        if (span_parse_dec(span_of(argv[i]), &port) && port > 0 && port <= UINT16_MAX)
            ports[n++] = (uint16_t)port;
    }
    return n;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_NULL;
    uint16_t ports[PUSHER_PORTS_MAX];
    int r;

    log_init("flamed-push", LOG_LEVEL_INFO);
    prctl(PR_SET_NAME, "flamed-push"); /* the program was started through an fd, and ps would show
                                        * the fd's number */
    r = transfer_prepare() ?: pusher_lockdown(ports, read_ports(argc, argv, ports), &err);
    if (r < 0) {
        log_err_errno(r, "%s", err.msg[0] ? err.msg : "cannot prepare libcurl");
        return 1;
    }
    return keep();
}
