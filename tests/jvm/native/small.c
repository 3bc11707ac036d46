/* SPDX-License-Identifier: Apache-2.0 */
/* A library that does nothing, to be loaded in thousands of copies. */
int small_triple(int x);

int small_triple(int x)
{
    return x * 3;
}
