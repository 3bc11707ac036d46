/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines on stderr, with <N> priority prefixes under systemd (JOURNAL_STREAM set). Foreign strings
 * are escaped: control characters never reach the terminal. Thread: any; a line is one write(2).
 */
#pragma once

#include "base/macros.h"

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

void log_init(const char *program, enum log_level level);
/* Parses "error", "warning", "info" or "debug". Returns 0 or -EINVAL. */
int log_level_parse(const char *text, enum log_level *ret);
enum log_level log_level_get(void);

/* Writes one line to standard error if @level is logged; foreign text in it is escaped. */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Logs with ": <strerror(-r)>" appended and returns @r. */
int log_line_errno(enum log_level level, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define log_err(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_err_errno(r, ...) log_line_errno(LOG_LEVEL_ERROR, r, __VA_ARGS__)
#define log_warn_errno(r, ...) log_line_errno(LOG_LEVEL_WARNING, r, __VA_ARGS__)
#define log_debug_errno(r, ...) log_line_errno(LOG_LEVEL_DEBUG, r, __VA_ARGS__)

/* Returns true at most once per second for each call site: guards a log line inside a loop. */
#define log_limit()                                                                                \
    ({                                                                                             \
        static _Atomic uint64_t log_limit_next_ns_;                                                \
        log_limit_at(&log_limit_next_ns_);                                                         \
    })
/* Returns whether this place may log a line now. If so, blocks the next line for a second. */
bool log_limit_at(_Atomic uint64_t *next_ns);
