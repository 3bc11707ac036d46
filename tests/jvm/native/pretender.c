/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container's root that would pass for the host's, over the network that both share.
 * Usage: pretender MODE PORT TRIES [REQUEST]
 *   groups   with 65,536 groups, so that what /proc/PID/status has behind them is cut off
 *   waits    once there is a file /classes/go
 *   paced    has the kernel send the rest of each REQUEST long after it has ended
 *   ends     ends at once after it has sent REQUEST
 * The first two ask for the list of JVMs, print how many answers had which status, and stay.
 */
#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUPS 65536
#define CONNECTIONS_MAX 100
#define BEHIND_BYTES 200000 /* sent after the request, so that the connection's end comes late */
#define FIRST_BYTES 2000    /* of a request, sent at once */
#define UNPACED 10          /* segments */
#define PACE 1000           /* bytes a second from then on */

static int fail(const char *what)
{
    perror(what);
    exit(1);
}

static int dial(int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        fail("connect");
    return fd;
}

static void ask(int port, int tries)
{
    static const char REQUEST[] =
        "GET /api/v1/jvms HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int counts[600] = { 0 };

    for (int i = 0; i < tries; i++) {
        int fd = dial(port), status = 0;
        char text[4096] = "";

        if (write(fd, REQUEST, sizeof(REQUEST) - 1) < 0 || read(fd, text, sizeof(text) - 1) < 0)
            fail("ask");
        sscanf(text, "HTTP/1.1 %d", &status);
        counts[status > 0 && status < 600 ? status : 0]++;
        close(fd);
    }
    for (int i = 0; i < 600; i++) {
        if (counts[i])
            printf("status %d: %d\n", i, counts[i]);
    }
    printf("done\n");
}

/* The request, with a header of FIRST_BYTES in it and bytes behind it. The kernel does not pace the
 * first segments of a connection. */
static void pace(const int *fds, int n, const char *request)
{
    static char first[FIRST_BYTES + 4096], rest[BEHIND_BYTES];
    unsigned rate = PACE;
    int size, one = 1;

    memset(first, 'x', sizeof(first));
    size = snprintf(first, sizeof(first), "%s HTTP/1.1\r\nHost: localhost\r\nX: ", request);
    first[size] = 'x';
    memset(rest, 'x', sizeof(rest));
    memcpy(rest, "\r\n\r\n", 4);
    for (int i = 0; i < n; i++) {
        if (setsockopt(fds[i], SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)) < 0 ||
            setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
            fail("setsockopt");
        for (int at = 0; at < UNPACED; at++)
            send(fds[i], first + at, 1, 0);
        if (send(fds[i], first + UNPACED, FIRST_BYTES, 0) != FIRST_BYTES)
            fail("send");
    }
    for (int i = 0; i < n; i++)
        send(fds[i], rest, sizeof(rest), MSG_DONTWAIT);
}

static void send_all(const int *fds, int n, const char *request)
{
    char text[4096];
    int size = snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: localhost\r\n\r\n", request);

    for (int i = 0; i < n; i++)
        send(fds[i], text, (size_t)size, 0);
}

int main(int argc, char **argv)
{
    int fds[CONNECTIONS_MAX], port, tries;

    if (argc < 4)
        return 2;
    port = (int)strtol(argv[2], NULL, 10);
    tries = (int)strtol(argv[3], NULL, 10);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(argv[1], "groups") == 0) {
        static gid_t groups[GROUPS];

        for (int i = 0; i < GROUPS; i++)
            groups[i] = 4000000000u + (gid_t)i;
        if (setgroups(GROUPS, groups) < 0)
            fail("setgroups");
    }
    printf("started\n");
    if (argc == 4) {
        while (strcmp(argv[1], "waits") == 0 && access("/classes/go", F_OK) < 0)
            usleep(10000);
        ask(port, tries);
        for (;;)
            pause();
    }
    for (int i = 0; i < tries && i < CONNECTIONS_MAX; i++)
        fds[i] = dial(port);
    usleep(100000); /* they are accepted */
    if (strcmp(argv[1], "paced") == 0)
        pace(fds, tries, argv[4]);
    else
        send_all(fds, tries, argv[4]);
    _exit(0);
}
