/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/mean_test.h"

#include <math.h>

#define WITHIN_95 0.95
#define T_MOST 64.0 /* beyond the wanted quantile for any number of minutes */
#define HALVINGS 48

/* Returns the probability that Student's t is within +-@t, with @df degrees of freedom: a finite
 * sum for a whole number of them. */
static double within(double t, size_t df)
{
    double angle = atan(t / sqrt((double)df)), c = cos(angle), s = sin(angle);
    double term = df % 2 ? c : 1, sum = term;

    if (df == 1)
        return angle * M_2_PI;
    for (size_t k = 2 + df % 2; k + 2 <= df; k += 2) {
        term *= c * c * (double)(k - 1) / (double)k;
        sum += term;
    }
    return df % 2 ? (angle + s * sum) * M_2_PI : s * sum;
}

/* Returns the t that 95 % of all values are within. */
static double most_of(size_t df)
{
    double low = 0, high = T_MOST;

    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;

        *(within(middle, df) < WITHIN_95 ? &low : &high) = middle;
    }
    return high;
}

static double mean(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

/* Returns the sum of the squared distances from @middle. */
static double spread(const double *v, size_t n, double middle)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (v[i] - middle) * (v[i] - middle);
    return sum;
}

int mean_test(const double *a, size_t na, const double *b, size_t nb, double grain,
              struct rank_result *ret)
{
    size_t n = na + nb, df = n - 2;
    double before, after, variance, error;

    if (!na || !nb || n < MEAN_MINUTES_MIN)
        return -EINVAL;
    before = mean(a, na);
    after = mean(b, nb);
    variance = (spread(a, na, before) + spread(b, nb, after)) / (double)df;
    variance = fmax(variance, grain * (before * (double)na + after * (double)nb) / (double)n);
    error = sqrt(variance * (1 / (double)na + 1 / (double)nb));
    ret->difference = after - before;
    ret->p = error > 0 ? fmax(1 - within(fabs(ret->difference) / error, df), 0) : 1;
    ret->low = ret->difference - most_of(df) * error;
    ret->high = ret->difference + most_of(df) * error;
    return 0;
}
