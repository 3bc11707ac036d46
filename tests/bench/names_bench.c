/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of readable names for 100,000 C++ symbols: by the library alone, in one thread, and by
 * the namer. For the namer, the time of the asking thread (the engine's) and the whole time.
 *
 * names_bench [--check] [FILE]: FILE has symbols, one per line (nm -D --defined-only LIB | cut
 * -c20-); without it they are made up. --check: fails if the asking thread needs twice the time of
 * the library alone: a busy machine gets some room.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "namer/demangle.h"
#include "namer/namer.h"
#include "namer/namer_process.h"

#define SYMBOLS 100000u
#define OWNERS 16u /* enough that none uses up its time of the namer */

static char *symbols[SYMBOLS];
static size_t count;

static void make_up(void)
{
    for (; count < SYMBOLS; count++) {
        char text[160];

        snprintf(
            text, sizeof(text),
            "_ZNK4demo7service10Table%05zu5CacheISt6vectorIiSaIiEENS_4KeysILi%zuEEEE7collectEi",
            count % 100000, count % 97);
        symbols[count] = strdup(text);
        if (!symbols[count])
            exit(2);
    }
}

static void read_file(const char *path)
{
    _cleanup_free_ char *line = NULL;
    FILE *f = fopen(path, "re");
    size_t size = 0;
    ssize_t n;

    while (f && count < SYMBOLS && (n = getline(&line, &size, f)) > 0) {
        line[n - 1] = '\0';
        if (symbol_is_mangled(span_of(line)))
            symbols[count++] = strdup(line);
    }
    if (f)
        fclose(f);
}

static double library(void)
{
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    char out[DEMANGLED_MAX];
    size_t named = 0;

    for (size_t i = 0; i < count; i++)
        named += demangle(symbols[i], out) > 0;
    printf("%zu symbols, of which %zu are mangled names\n", count, named);
    return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / (double)count;
}

/* Asks like the engine, a thousand at a time, and takes the names once they are ready. */
static void ask_all(struct namer *n, uint64_t *ret_thread_ns)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    uint64_t thread_ns = 0, before_ns;

    buf_init(&out, 8192);
    for (size_t from = 0; from < count; from += 1000) {
        uint64_t owner = 1 + from / 1000 % OWNERS;
        bool coming = true;

        while (coming) {
            coming = false;
            before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            for (size_t i = from; i < MIN(from + 1000, count); i++) {
                buf_clear(&out);
                coming |= namer_name(n, owner, span_of(symbols[i]), &out) == NAMER_COMING;
            }
            thread_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
            while (coming && namer_wait(n, UINT64_MAX))
                ;
        }
    }
    *ret_thread_ns = thread_ns;
}

int main(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    struct namer *n = NULL;
    struct namer_stats s;
    uint64_t thread_ns, began_ns;
    double library_ns;
    int fd = -1;

    if (argc > 1 + check)
        read_file(argv[1 + check]);
    else
        make_up();
    if (!count || namer_fork(&fd, NULL) < 0 || namer_new(fd, -1, &n) < 0)
        return 2;
    library_ns = library();
    began_ns = clock_monotonic_ns();
    ask_all(n, &thread_ns);
    namer_stats(n, &s);
    printf("the library alone: %.0f ns each\n", library_ns);
    printf("by the namer: %.0f ns each of the thread that asks, %.0f ns of the namer's process, "
           "%.0f ns in all\n",
           (double)thread_ns / (double)count, (double)s.cpu_ns / (double)count,
           (double)(clock_monotonic_ns() - began_ns) / (double)count);
    printf("named %llu, without a name %llu, too slow %llu, refused %llu\n",
           (unsigned long long)s.named, (unsigned long long)s.none, (unsigned long long)s.timed_out,
           (unsigned long long)s.refused);
    namer_free(n);
    close_fd(fd);
    for (size_t i = 0; i < count; i++)
        free(symbols[i]);
    return check && (double)thread_ns / (double)count > 2 * library_ns;
}
