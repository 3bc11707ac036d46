# SPDX-License-Identifier: Apache-2.0
# Of the preset `tarball`: programs that look for their libraries in lib/ beside themselves, and the target that packs both.
# What is asked of the system is glibc, at least as new as FLAMED_TARBALL_GLIBC.
set(FLAMED_TARBALL_GLIBC 2.34)

# DT_RPATH, not DT_RUNPATH: what the libraries need is looked for there as well.
# As installed: CMake pads the other with a colon, and an empty path is the current folder.
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
# A build id is a hash of debug information too, which is not packed and depends on where the build is.
target_link_options(flamed_flags INTERFACE -Wl,--disable-new-dtags -Wl,--build-id=none)
set(FLAMED_PREFIX_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
target_compile_options(flamed_flags INTERFACE ${FLAMED_PREFIX_MAP})

# Debian's libcrypt.so asks for glibc 2.36.
find_library(FLAMED_STATIC_CRYPT libcrypt.a REQUIRED)
set_target_properties(PkgConfig::CRYPT PROPERTIES INTERFACE_LINK_LIBRARIES ${FLAMED_STATIC_CRYPT})

# Call it when the programs are there.
function(flamed_tarball)
    foreach(program flamed flamed-broker)
        target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/tarball/older_libc.c)
    endforeach()
    add_custom_target(tarball DEPENDS flamed flamed-broker flamed-push USES_TERMINAL
        COMMAND ${PROJECT_SOURCE_DIR}/cmake/tarball/pack.sh ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${FLAMED_TARBALL_GLIBC}
            ${FLAMED_STATIC_CRYPT})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tarball/rpm.cmake.in ${PROJECT_BINARY_DIR}/rpm.cmake @ONLY)
    add_custom_target(rpm DEPENDS tarball USES_TERMINAL
        COMMAND ${PROJECT_SOURCE_DIR}/cmake/tarball/rpm.sh ${PROJECT_BINARY_DIR} ${PROJECT_VERSION})
endfunction()
