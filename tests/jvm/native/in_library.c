/* SPDX-License-Identifier: Apache-2.0 */
/* Calls work() of the library that it is given, without end. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *work = library ? dlsym(library, "work") : NULL;

    if (!work)
        return 1;
    puts("started");
    fflush(stdout);
    for (;;)
        ((void (*)(void))work)();
}
