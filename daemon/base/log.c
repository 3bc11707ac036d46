/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <unistd.h>

#define LOG_LINE_MAX 2048

static const char *log_program = "flamed";
static enum log_level log_max_level = LOG_LEVEL_INFO;
static bool log_journal;

void log_init(const char *program, enum log_level level)
{
    log_program = program;
    log_max_level = level;
    log_journal = getenv("JOURNAL_STREAM") != NULL;
}

int log_level_parse(const char *text, enum log_level *ret)
{
    static const struct {
        const char *name;
        enum log_level level;
    } LEVELS[] = {
        { "error", LOG_LEVEL_ERROR },
        { "warning", LOG_LEVEL_WARNING },
        { "info", LOG_LEVEL_INFO },
        { "debug", LOG_LEVEL_DEBUG },
    };

    for (size_t i = 0; i < ARRAY_SIZE(LEVELS); i++) {
        if (strcmp(text, LEVELS[i].name) == 0) {
            *ret = LEVELS[i].level;
            return 0;
        }
    }
    return -EINVAL;
}

enum log_level log_level_get(void)
{
    return log_max_level;
}

/* Writes @text with every control byte replaced, so that a foreign name cannot forge a line or move
 * the cursor. */
static void log_write(enum log_level level, const char *text)
{
    char line[LOG_LINE_MAX + 64];
    int n;

    if (log_journal)
        n = snprintf(line, sizeof(line), "<%d>%s\n", (int)level, text);
    else
        n = snprintf(line, sizeof(line), "%s: %s\n", log_program, text);
    if (n < 0)
        return;
    n = MIN(n, (int)sizeof(line) - 1);
    for (int i = 0; i < n - 1; i++) {
        unsigned char c = (unsigned char)line[i];

        if (c < 0x20 || c == 0x7f)
            line[i] = '?';
    }
    line[n - 1] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* stderr has no reader */
}

void log_line(enum log_level level, const char *fmt, ...)
{
    char text[LOG_LINE_MAX];
    va_list ap;

    if (level > log_max_level)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    log_write(level, text);
}

int log_line_errno(enum log_level level, int r, const char *fmt, ...)
{
    char text[LOG_LINE_MAX], reason[96];
    va_list ap;
    size_t n;

    if (level > log_max_level)
        return r;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    n = strlen(text);
    snprintf(text + n, sizeof(text) - n, ": %s", strerror_r(-r, reason, sizeof(reason)));
    log_write(level, text);
    return r;
}

bool log_limit_at(_Atomic uint64_t *next_ns)
{
    uint64_t now = clock_monotonic_ns(),
             next = __atomic_load_n((uint64_t *)next_ns, __ATOMIC_RELAXED);

    if (now < next)
        return false;
    return __atomic_compare_exchange_n((uint64_t *)next_ns, &next, now + NSEC_PER_SEC, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
