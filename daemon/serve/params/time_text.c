/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/time_text.h"

#include "serve/params/values.h"

#include <time.h>

/* Parses one part, such as "60s", into nanoseconds. */
static bool take_part(struct span text, uint64_t *ret_ns)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } UNITS[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    uint64_t v;

    if (text.n < 2)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(UNITS); i++) {
        if (text.p[text.n - 1] != UNITS[i].unit)
            continue;
        text.n--;
        if (!value_scaled(text, NSEC_PER_SEC, &v) || v > INT64_MAX / UNITS[i].seconds)
            return false;
        *ret_ns = v * UNITS[i].seconds;
        return true;
    }
    return false;
}

static bool is_unit(char c)
{
    return c && strchr("smhd", c);
}

/* Parses parts with descending units, such as "60s" or "1h50m", into nanoseconds. */
static bool take_ago(struct span text, uint64_t *ret_ns)
{
    uint64_t sum = 0, v;
    char unit, last = '\0';

    for (size_t n = 0; text.n; n = 0) {
        while (n < text.n && !is_unit(text.p[n]))
            n++;
        if (n == text.n)
            return false;
        unit = text.p[n];
        if (last && strchr("smhd", unit) >= strchr("smhd", last))
            return false;
        if (!take_part((struct span){ text.p, n + 1 }, &v) || v > INT64_MAX - sum)
            return false;
        sum += v;
        last = unit;
        text = span_from(text, n + 1);
    }
    *ret_ns = sum;
    return last;
}

/* Takes exactly @n digits. */
static bool take_digits(struct span *s, size_t n, unsigned *ret)
{
    unsigned v = 0;

    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (unsigned)(s->p[i] - '0');
    }
    *s = span_from(*s, n);
    *ret = v;
    return true;
}

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar. Years count from March
 * here, which makes the leap day the last of its year. */
static uint64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    unsigned y = year - (month < 3), m = (month + 9) % 12;

    return (uint64_t)y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

static unsigned days_of_month(unsigned year, unsigned month)
{
    static const uint8_t DAYS[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return DAYS[month - 1] + (month == 2 && leap);
}

static bool take_date(struct span *s, uint64_t *ret_days)
{
    unsigned year, month, day;

    if (!take_digits(s, 4, &year) || !span_take_char(s, '-') || !take_digits(s, 2, &month) ||
        !span_take_char(s, '-') || !take_digits(s, 2, &day))
        return false;
    if (year < 1970 || year > 2261 || month < 1 || month > 12 || day < 1 ||
        day > days_of_month(year, month))
        return false;
    *ret_days = days_since_1970(year, month, day);
    return true;
}

/* Takes "03:04:05.678" as nanoseconds of the day, or "03:04", which sets *ret_short. */
static bool take_clock(struct span *s, uint64_t *ret_ns, bool *ret_short)
{
    unsigned hour, minute, second = 0, digit;
    uint64_t scale = NSEC_PER_SEC, fraction = 0;

    if (!take_digits(s, 2, &hour) || !span_take_char(s, ':') || !take_digits(s, 2, &minute))
        return false;
    *ret_short = !span_take_char(s, ':');
    if (!*ret_short && !take_digits(s, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    if (!*ret_short && span_take_char(s, '.')) {
        if (!take_digits(s, 1, &digit))
            return false;
        do {
            scale /= 10;
            fraction += scale * digit;
        } while (take_digits(s, 1, &digit));
    }
    *ret_ns = ((uint64_t)hour * 3600 + minute * 60 + second) * NSEC_PER_SEC + fraction;
    return true;
}

/* Takes "Z" or "+02:00" as nanoseconds east of Greenwich. */
static bool take_offset(struct span *s, int64_t *ret_ns)
{
    unsigned hour, minute;
    bool west;

    *ret_ns = 0;
    if (span_take_char(s, 'Z') || span_take_char(s, 'z'))
        return true;
    west = span_take_char(s, '-');
    if (!west && !span_take_char(s, '+') && !span_take_char(s, ' '))
        return false;
    if (!take_digits(s, 2, &hour) || !span_take_char(s, ':') || !take_digits(s, 2, &minute) ||
        hour > 23 || minute > 59)
        return false;
    *ret_ns = (int64_t)((hour * 3600 + minute * 60) * NSEC_PER_SEC) * (west ? -1 : 1);
    return true;
}

/* Converts local time of this node, @clock_ns into day @days, to CLOCK_REALTIME. False: not
 * possible. */
static bool local_time(uint64_t days, uint64_t clock_ns, uint64_t *ret_ns)
{
    time_t noon = (time_t)(days * 86400 + 43200), at;
    uint64_t seconds = clock_ns / NSEC_PER_SEC;
    struct tm tm;

    if (!gmtime_r(&noon, &tm)) /* year, month and day only */
        return false;
    tm.tm_hour = (int)(seconds / 3600);
    tm.tm_min = (int)(seconds / 60 % 60);
    tm.tm_sec = (int)(seconds % 60);
    tm.tm_isdst = -1;
    at = mktime(&tm);
    if (at < 0)
        return false;
    *ret_ns = (uint64_t)at * NSEC_PER_SEC + clock_ns % NSEC_PER_SEC;
    return true;
}

/* Parses "03:04" or "03:04:05": a time of today, or of yesterday if it is still ahead. */
static bool time_of_day(struct span text, uint64_t now_ns, uint64_t *ret_ns)
{
    time_t now = (time_t)(now_ns / NSEC_PER_SEC);
    uint64_t days, clock_ns, at_ns;
    struct tm tm;
    bool brief;

    if (!take_clock(&text, &clock_ns, &brief) || text.n || !localtime_r(&now, &tm))
        return false;
    days =
        days_since_1970((unsigned)tm.tm_year + 1900, (unsigned)tm.tm_mon + 1, (unsigned)tm.tm_mday);
    if (!local_time(days, clock_ns, &at_ns) ||
        (at_ns > now_ns && (!days || !local_time(days - 1, clock_ns, &at_ns))))
        return false;
    *ret_ns = at_ns;
    return true;
}

/* Parses a date with a time; local time if there is no offset. */
static bool time_of_date(struct span text, uint64_t *ret_ns)
{
    uint64_t days, clock_ns;
    int64_t east_ns, at_ns;
    bool brief;

    if (!take_date(&text, &days) ||
        (!span_take_char(&text, 'T') && !span_take_char(&text, 't') && !span_take_char(&text, ' ')))
        return false;
    if (!take_clock(&text, &clock_ns, &brief))
        return false;
    if (!text.n)
        return local_time(days, clock_ns, ret_ns);
    if (brief || !take_offset(&text, &east_ns) || text.n)
        return false;
    at_ns = (int64_t)(days * 86400 * NSEC_PER_SEC + clock_ns) - east_ns;
    if (at_ns < 0)
        return false;
    *ret_ns = (uint64_t)at_ns;
    return true;
}

bool time_parse(struct span text, uint64_t now_ns, uint64_t *ret_ns)
{
    uint64_t ago_ns;

    if (span_eq_str(text, "now")) {
        *ret_ns = now_ns;
        return true;
    }
    if (span_take_char(&text, '-')) {
        if (!take_ago(text, &ago_ns))
            return false;
        *ret_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;
        return true;
    }
    return time_of_day(text, now_ns, ret_ns) || time_of_date(text, ret_ns);
}

/* Returns the length of the separator of a range at @at of @text; 0: none is there. */
static size_t parting(struct span text, size_t at)
{
    if (text.p[at] == '/')
        return 1;
    return at + 1 < text.n && text.p[at] == '.' && text.p[at + 1] == '.' ? 2 : 0;
}

bool range_parse(struct span text, uint64_t now, struct time_range *ret)
{
    struct time_range range = { 0, now };
    size_t at = 0;

    while (at < text.n && !parting(text, at))
        at++;
    if (!time_parse((struct span){ text.p, at }, now, &range.from_ns))
        return false;
    at += at < text.n ? parting(text, at) : 0;
    if (at < text.n && !time_parse(span_from(text, at), now, &range.to_ns))
        return false;
    *ret = range;
    return range.from_ns < range.to_ns;
}
