/* SPDX-License-Identifier: Apache-2.0 */
/* pusher: what a target's answer counts as, if it is long, endless, or cut off. */
#include "suite.h"

#include "pusher/transfer.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB 1024u
#define ENDLESS UINT32_MAX
#define OK "HTTP/1.1 200 OK\r\n"

/* @bytes: of the body that follows. @failure, @status: what is expected. */
static const struct {
    const char *words, *head;
    uint32_t bytes, failure, status;
    const char *text;
} CASES[] = {
    /* A webhook has accepted the event once it answers 200. */
    { "plain=1", OK "\r\n", 5, PUSHER_ANSWERED, 200, "" },
    { "plain=1", OK "\r\n", 100 * KIB, PUSHER_ANSWERED, 200, "" },
    { "plain=1", OK "\r\n", ENDLESS, PUSHER_ANSWERED, 200, "" },
    { "plain=1", OK "Content-Length: 900\r\n\r\n", 5, PUSHER_ANSWERED, 200, "" }, /* cut off */
    { "plain=1", OK "X: ", ENDLESS, PUSHER_UNREACHED, 0, "" },
    /* An engine may refuse a part, in the text of the answer. */
    { "x=1", OK "\r\n", 0, PUSHER_ANSWERED, 200, "" },
    { "x=1", OK "\r\n", 100 * KIB, PUSHER_UNREACHED, 0, "is longer than flamed-push reads" },
    { "x=1", OK "\r\n", ENDLESS, PUSHER_UNREACHED, 0, "is longer than flamed-push reads" },
    { "x=1", OK "Content-Length: 900\r\n\r\n", 5, PUSHER_UNREACHED, 0, "" },
    /* An error is one, however long its page is. */
    { "x=1", "HTTP/1.1 400 Bad\r\n\r\n", 5, PUSHER_ANSWERED, 400, "eeeee" },
    { "x=1", "HTTP/1.1 400 Bad\r\n\r\n", 100 * KIB, PUSHER_ANSWERED, 400, "eeeee" },
    { "x=1", "HTTP/1.1 413 Large\r\n\r\n", ENDLESS, PUSHER_ANSWERED, 413, "eeeee" },
    { "plain=1", "HTTP/1.1 503 Busy\r\n\r\n", 100 * KIB, PUSHER_ANSWERED, 503, "eeeee" },
    /* Interim answers are none. */
    { "plain=1", "HTTP/1.1 103 Hints\r\n\r\n", ENDLESS, PUSHER_UNREACHED, 0, "" },
};

struct server {
    int fd;
    const char *head;
    uint32_t bytes;
};

/* Answers one request, and closes the connection. */
static void *serve(void *arg)
{
    const struct server *s = arg;
    _cleanup_close_ int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    char piece[4 * KIB];
    ssize_t n = recv(fd, piece, sizeof(piece), 0);

    memset(piece, 'e', sizeof(piece));
    if (n > 0)
        n = send(fd, s->head, strlen(s->head), MSG_NOSIGNAL);
    for (uint32_t left = s->bytes; n > 0 && left; left -= s->bytes == ENDLESS ? 0 : (uint32_t)n)
        n = send(fd, piece, MIN(left, sizeof(piece)), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while (recv(fd, piece, sizeof(piece), 0) > 0)
        ;
    return NULL;
}

static struct pusher_answer answer;
static unsigned answers;

static void take(void *cookie, uint32_t target, uint32_t id, const struct pusher_answer *a)
{
    (void)cookie;
    ck_assert_uint_eq(target, 0);
    ck_assert_uint_eq(id, 7);
    answer = *a;
    answers++;
}

START_TEST(an_answer_counts_by_its_status)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct server server = { .head = CASES[_i].head, .bytes = CASES[_i].bytes };
    _cleanup_close_ int none = eventfd(0, EFD_CLOEXEC);
    static struct transfers *transfers;
    socklen_t at_n = sizeof(at);
    char words[128];
    pthread_t thread;
    bool readable;
    int n;

    server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(server.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(server.fd, 1), 0);
    ck_assert_int_eq(getsockname(server.fd, (struct sockaddr *)&at, &at_n), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, &server), 0);

    if (!transfers) { /* they live as long as flamed-push */
        ck_assert_int_eq(transfer_prepare(), 0);
        ck_assert_int_eq(transfers_new(take, NULL, &transfers), 0);
    }
    n = snprintf(words, sizeof(words), "url=http://127.0.0.1:%u/%c%s", ntohs(at.sin_port), '\0',
                 CASES[_i].words);
    ck_assert_int_eq(transfers_target(transfers, 0, (struct span){ words, (size_t)n + 1 }), 0);
    answers = 0;
    ck_assert_int_eq(transfers_send(transfers, 0, 7, SPAN("an event")), 0);
    for (int i = 0; i < 10000 && !answers; i++)
        ck_assert_int_eq(transfers_run(transfers, none, &readable), 0);
    ck_assert_uint_eq(answers, 1);
    ck_assert_uint_eq(answer.failure, CASES[_i].failure);
    ck_assert_uint_eq(answer.status, CASES[_i].status);
    ck_assert_msg(strstr(answer.text, CASES[_i].text), "%s", answer.text);
    pthread_join(thread, NULL);
    close(server.fd);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_transfer");

    tcase_add_loop_test(tc, an_answer_counts_by_its_status, 0, ARRAY_SIZE(CASES));
    return suite_run_case("push_transfer", tc);
}
