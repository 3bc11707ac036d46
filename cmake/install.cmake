# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the Debian package (`cpack -G DEB` in the build folder). The paths are
# those that systemd/*.service name; flamed looks for flamed-broker beside itself, then in lib/flamed.
include(GNUInstallDirs)

install(TARGETS flamed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS flamed-broker flamed-push RUNTIME DESTINATION lib/flamed)
install(FILES systemd/flamed.service systemd/flamed-broker.service systemd/flamed-broker.socket
    systemd/flamed-launcher.service systemd/flamed-launcher.socket
    DESTINATION lib/systemd/system)
install(FILES systemd/flamed.sysusers.conf DESTINATION lib/sysusers.d RENAME flamed.conf)
install(FILES systemd/flamed.tmpfiles.conf DESTINATION lib/tmpfiles.d RENAME flamed.conf)
install(FILES docs/flamed.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN flamed.8 EXCLUDE PATTERN *.png EXCLUDE)
install(FILES systemd/short-turns.conf systemd/socket-only.conf DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flamed)
set(CPACK_PACKAGE_VENDOR flamed)
set(CPACK_PACKAGE_CONTACT "The flamed developers <flamed@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/deb/folders.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
if(CMAKE_CROSSCOMPILING)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64) # cmake/aarch64.cmake
    set(CPACK_FLAMED_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/deb/depends.sh ${CMAKE_SYSROOT} ${CMAKE_SYSTEM_PROCESSOR}
        ${PROJECT_BINARY_DIR}/flamed ${PROJECT_BINARY_DIR}/flamed-broker ${PROJECT_BINARY_DIR}/flamed-push)
    set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/deb/cross.cmake)
else()
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS systemd)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/deb/postinst ${CMAKE_CURRENT_LIST_DIR}/deb/prerm
    ${CMAKE_CURRENT_LIST_DIR}/deb/postrm)
include(CPack)
