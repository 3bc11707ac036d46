# SPDX-License-Identifier: Apache-2.0
# A toolchain file: builds for aarch64 with Debian's crossbuild-essential-arm64. FLAMED_SYSROOT is a root file system of Debian's arm64
# with the libraries of cmake/packages/build.txt, as cmake/packages/sysroot.sh makes it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_C_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FLAMED_SYSROOT)
set(CMAKE_SYSROOT ${FLAMED_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${FLAMED_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${FLAMED_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${FLAMED_SYSROOT}/usr/share/pkgconfig)
