/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/rank_test.h"

#include "base/cleanup.h"

#include <math.h>

#define Z_95 1.959964
#define ALIKE 0.45 /* correlation of neighbouring minutes that 10 minutes may have by chance */
#define ALIKE_MAX 0.8
#define CONTINUITY 0.5
#define ROUNDING 1e-20 /* share of the squared mean: below it, values count as equal */
#define EXACT_MAX 40   /* minutes; for longer series the normal distribution is exact enough */

ORDER_FUNCTION(by_value, double, COMPARE(*x, *y))

/* Returns the number of pairs with a value of b above one of a; equal values count half. */
static double count_above(const double *a, size_t na, const double *b, size_t nb)
{
    double u = 0;

    for (size_t i = 0; i < na; i++) {
        for (size_t j = 0; j < nb; j++)
            u += b[j] > a[i] ? 1 : b[j] < a[i] ? 0 : CONTINUITY;
    }
    return u;
}

/* Returns the probability that the rank statistic is at most @u if all orders of @na and @nb values
 * are equally probable. Counts the orders by u, value by value. NAN: out of memory. */
static double exact_below(size_t na, size_t nb, double u)
{
    size_t most = na * nb;
    _cleanup_free_ double *ways = calloc(most + 1, sizeof(*ways));
    double sum = 0, all = 0;

    if (!ways)
        return (double)NAN;
    ways[0] = 1;
    /* The generating function of u: a product of (1 - x^(nb + i)) / (1 - x^i). */
    for (size_t i = 1; i <= na; i++) {
        for (size_t k = most; k >= nb + i; k--)
            ways[k] -= ways[k - nb - i];
        for (size_t k = i; k <= most; k++)
            ways[k] += ways[k - i];
    }
    for (size_t k = 0; k <= most; k++) {
        all += ways[k];
        sum += (double)k <= u ? ways[k] : 0;
    }
    return sum / all;
}

/* Returns the correlation of each minute with the one before. */
static double neighbours(const double *v, size_t n)
{
    double mean = 0, with = 0, all = 0;

    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        all += (v[i] - mean) * (v[i] - mean);
        if (i)
            with += (v[i] - mean) * (v[i - 1] - mean);
    }
    return all > ROUNDING * mean * mean * (double)n ? with / all : 0;
}

static double chance(const double *a, size_t na, const double *b, size_t nb, double *ret_spread)
{
    double alike = fmin((neighbours(a, na) + neighbours(b, nb)) / 2, ALIKE_MAX);
    double most = (double)(na * nb), u = count_above(a, na, b, nb);
    double inflated = alike > ALIKE ? (1 + alike) / (1 - alike) : 1, z;

    *ret_spread = sqrt(most * (double)(na + nb + 1) / 12 * inflated);
    if (inflated <= 1 && na + nb <= EXACT_MAX)
        return fmin(2 * exact_below(na, nb, fmin(u, most - u)), 1);
    z = fmax(fabs(u - most / 2) - CONTINUITY, 0) / *ret_spread;
    return erfc(z / sqrt(2));
}

int rank_test(const double *a, size_t na, const double *b, size_t nb, struct rank_result *ret)
{
    _cleanup_free_ double *all = NULL;
    struct rank_result r;
    double spread, rank;
    size_t n = na * nb;

    if (MIN(na, nb) < RANK_MINUTES_MIN || MAX(na, nb) > RANK_MINUTES_MAX)
        return -EINVAL;
    all = malloc(n * sizeof(*all));
    if (!all)
        return -ENOMEM;
    r.p = chance(a, na, b, nb, &spread);
    if (isnan(r.p))
        return -ENOMEM;
    for (size_t i = 0; i < na; i++) {
        for (size_t j = 0; j < nb; j++)
            all[i * nb + j] = b[j] - a[i];
    }
    qsort(all, n, sizeof(*all), by_value);
    rank = fmax(floor((double)n / 2 - Z_95 * spread), 0);
    r.difference = (all[(n - 1) / 2] + all[n / 2]) / 2;
    r.low = all[(size_t)rank];
    r.high = all[n - 1 - (size_t)rank];
    *ret = r;
    return 0;
}

struct ordered {
    double p;
    size_t at;
};

ORDER_FUNCTION(by_p, struct ordered, COMPARE(x->p, y->p))

int rank_adjust(double *p, size_t n)
{
    _cleanup_free_ struct ordered *all = calloc(n + 1, sizeof(*all));
    double least = 1;

    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        all[i] = (struct ordered){ p[i], i };
    qsort(all, n, sizeof(*all), by_p);
    for (size_t i = n; i-- > 0;) {
        least = fmin(least, all[i].p * (double)n / (double)(i + 1));
        p[all[i].at] = least;
    }
    return 0;
}
