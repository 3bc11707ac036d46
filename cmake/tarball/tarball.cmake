# SPDX-License-Identifier: Apache-2.0
# Of the preset `tarball`: programs that look for their libraries in lib/ beside themselves, and the target that packs both.
# The C library and its ld.so are among them (own_loader.c), so nothing is asked of the system.

# DT_RPATH, not DT_RUNPATH: what the libraries need is looked for there as well.
# As installed: CMake pads the other with a colon, and an empty path is the current folder.
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
# A build id is a hash of debug information too, which is not packed and depends on where the build is.
target_link_options(flamed_flags INTERFACE -Wl,--disable-new-dtags -Wl,--build-id=none)
set(FLAMED_PREFIX_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
target_compile_options(flamed_flags INTERFACE ${FLAMED_PREFIX_MAP})

# Call it when the programs are there.
function(flamed_tarball)
    add_library(flamed_own_loader OBJECT ${PROJECT_SOURCE_DIR}/cmake/tarball/own_loader.c)
    target_compile_options(flamed_own_loader PRIVATE $<TARGET_PROPERTY:flamed_freestanding,INTERFACE_COMPILE_OPTIONS> -fPIE)
    target_include_directories(flamed_own_loader PRIVATE ${PROJECT_SOURCE_DIR})
    foreach(program flamed flamed-broker flamed-push)
        target_link_libraries(${program} PRIVATE $<TARGET_OBJECTS:flamed_own_loader>)
        # Headers in a segment without code: own_loader.c makes it writable for a moment.
        target_link_options(${program} PRIVATE -Wl,-e,own_loader_entry -Wl,-z,separate-code)
    endforeach()
    add_custom_target(tarball DEPENDS flamed flamed-broker flamed-push USES_TERMINAL
        COMMAND ${PROJECT_SOURCE_DIR}/cmake/tarball/pack.sh ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_STRIP}
            "${CMAKE_SYSROOT}"
        VERBATIM)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tarball/rpm.cmake.in ${PROJECT_BINARY_DIR}/rpm.cmake @ONLY)
    add_custom_target(rpm DEPENDS tarball USES_TERMINAL
        COMMAND ${PROJECT_SOURCE_DIR}/cmake/tarball/rpm.sh ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${CMAKE_SYSTEM_PROCESSOR})
endfunction()
