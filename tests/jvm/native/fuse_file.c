/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system of one file, "file", with the content of SOURCE, mounted on FOLDER through
 * /dev/fuse, whose server answers as it is told, as a container's own may. Says "mounted".
 * Then it reads letters, and leaves each kind of request named since the last "-" without an
 * answer: r read, o open, f what close(2) sends, a attributes, s what statfs(2) sends, l names. "-"
 * answers all of them. After "w" each read waits for 30 ms. After a capital letter it lies: H the
 * file is huge, T it is tiny, E each read is at its end, C each second read gets nonsense in place
 * of the content, R it is a folder. "+" ends all lies. Unmounts and ends with its standard input.
 * Usage: fuse_file FOLDER SOURCE
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_INODE 2
#define WITHHELD_MAX 256
#define READ_MAX (128 * 1024)
#define SLOW_US 30000
#define HUGE_BYTES (1ULL << 42)
#define TINY_BYTES 8192 /* headers and code */

struct request {
    struct fuse_in_header h;
    char body[READ_MAX + 4096];
};

static int dev, source;
static struct stat of;
static char silent[16]; /* letters */
static int slow;
static char lie; /* 0: none */
static unsigned lies;
static struct request *withheld[WITHHELD_MAX];
static int withheld_count;

static void answer(const struct request *q, int error, const void *p, size_t n)
{
    static char out[sizeof(struct fuse_out_header) + READ_MAX];
    struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + n),
                                 .error = -error,
                                 .unique = q->h.unique };

    memcpy(out, &h, sizeof(h));
    if (n)
        memcpy(out + sizeof(h), p, n);
    if (write(dev, out, h.len) < 0 && errno != ENOENT)
        perror("fuse_file: answer");
}

static struct fuse_attr attributes(uint64_t inode)
{
    struct fuse_attr a = { .ino = inode, .nlink = 1, .blksize = 4096 };

    a.mode = inode == FILE_INODE ? S_IFREG | 0755 : S_IFDIR | 0755;
    a.size = inode == FILE_INODE ? (uint64_t)of.st_size : 0;
    if (inode == FILE_INODE && lie == 'H')
        a.size = HUGE_BYTES;
    if (inode == FILE_INODE && lie == 'T')
        a.size = TINY_BYTES;
    if (inode == FILE_INODE && lie == 'R')
        a.mode = S_IFDIR | 0755;
    return a;
}

static void lookup(const struct request *q)
{
    struct fuse_entry_out e = { .nodeid = FILE_INODE, .attr = attributes(FILE_INODE) };

    if (strcmp(q->body, "file") != 0)
        answer(q, ENOENT, NULL, 0);
    else
        answer(q, 0, &e, sizeof(e));
}

static void give(const struct request *q)
{
    static char bytes[READ_MAX];
    struct fuse_read_in in;
    ssize_t n;

    memcpy(&in, q->body, sizeof(in));
    n = pread(source, bytes, in.size < READ_MAX ? in.size : READ_MAX, (off_t)in.offset);
    if (lie == 'E')
        n = 0;
    if (lie == 'H') { /* zeros after the content */
        memset(bytes + (n > 0 ? n : 0), 0, sizeof(bytes) - (size_t)(n > 0 ? n : 0));
        n = in.size < READ_MAX ? in.size : READ_MAX;
    }
    if (lie == 'C' && lies++ % 2) {
        for (ssize_t i = 0; i < n; i++)
            bytes[i] = (char)(lies * 31 + (unsigned)i * 7);
    }
    answer(q, n < 0 ? EIO : 0, bytes, n < 0 ? 0 : (size_t)n);
}

static char letter(uint32_t opcode)
{
    switch (opcode) {
    case FUSE_READ:
        return 'r';
    case FUSE_OPEN:
        return 'o';
    case FUSE_FLUSH:
        return 'f';
    case FUSE_GETATTR:
        return 'a';
    case FUSE_STATFS:
        return 's';
    case FUSE_LOOKUP:
        return 'l';
    default:
        return 0;
    }
}

static void serve(const struct request *q)
{
    struct fuse_init_out init = {
        .major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = READ_MAX, .max_write = READ_MAX
    };
    struct fuse_attr_out attr = { .attr = attributes(q->h.nodeid) };
    /* What is mapped stays there; reads of a file that is opened while they get no answer all come
     * here. */
    struct fuse_open_out open_out = {
        .fh = 1, .open_flags = FOPEN_KEEP_CACHE | (strchr(silent, 'r') || lie ? FOPEN_DIRECT_IO : 0)
    };
    struct fuse_statfs_out statfs_out = { .st = { .bsize = 4096, .namelen = 255 } };

    switch (q->h.opcode) {
    case FUSE_INIT:
        answer(q, 0, &init, sizeof(init));
        break;
    case FUSE_LOOKUP:
        lookup(q);
        break;
    case FUSE_GETATTR:
        answer(q, 0, &attr, sizeof(attr));
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        answer(q, 0, &open_out, sizeof(open_out));
        break;
    case FUSE_READ:
        if (slow)
            usleep(SLOW_US);
        give(q);
        break;
    case FUSE_STATFS:
        answer(q, 0, &statfs_out, sizeof(statfs_out));
        break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        answer(q, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: /* no: it waits */
        break;
    default:
        answer(q, ENOSYS, NULL, 0);
    }
}

/* The kernel gives one whole request a read. */
static int take(void)
{
    struct request *q = calloc(1, sizeof(*q));
    ssize_t n = q ? read(dev, q, sizeof(*q)) : -1;
    char kind;

    if (n <= 0) {
        free(q);
        return n < 0 && errno == ENODEV ? 1 : 0;
    }
    kind = letter(q->h.opcode);
    if (kind && strchr(silent, kind) && withheld_count < WITHHELD_MAX) {
        withheld[withheld_count++] = q;
        printf("%c\n", kind);
        return 0;
    }
    serve(q);
    free(q);
    return 0;
}

static void obey(char c)
{
    size_t n = strlen(silent);

    if (c == '-') {
        silent[0] = '\0';
        while (withheld_count) {
            serve(withheld[--withheld_count]);
            free(withheld[withheld_count]);
        }
    } else if (c == 'w') {
        slow = 1;
    } else if (c == '+') {
        lie = 0;
    } else if (c >= 'A' && c <= 'Z') {
        lie = c;
    } else if (c != '\n' && n + 1 < sizeof(silent)) {
        silent[n] = c;
        silent[n + 1] = '\0';
    }
}

int main(int argc, char **argv)
{
    struct pollfd fds[2] = { { .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };
    char options[128], c;

    if (argc != 3)
        return 2;
    dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    source = open(argv[2], O_RDONLY | O_CLOEXEC);
    if (dev < 0 || source < 0 || fstat(source, &of) < 0) {
        perror("fuse_file");
        return 1;
    }
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
             dev);
    if (mount("fuse_file", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        perror("fuse_file: mount");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("mounted");
    fds[0].fd = dev;
    for (;;) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents && take())
            break;
        if (fds[1].revents && read(STDIN_FILENO, &c, 1) <= 0)
            break;
        if (fds[1].revents)
            obey(c);
    }
    umount2(argv[1], MNT_DETACH);
    return 0; /* the end of its descriptor ends all that waits */
}
