# SPDX-License-Identifier: Apache-2.0
# cmake -D WEB=<web folder> -D OUT=<file.c> -D GZIP=<program> -P page.cmake
# Puts the modules of web/page/page.txt into one script and the style sheets into one, names both by a hash of what is in
# them, puts these names into page.html, and all three into a C file, as they are and compressed.
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

# Appends the file @path with @text to `bytes` and `rows`.
function(add_page_file number path type text)
    set(plain "${OUT}.${number}")
    file(WRITE "${plain}" "${text}")
    execute_process(COMMAND ${GZIP} -n -9 -c "${plain}" OUTPUT_FILE "${plain}.gz" COMMAND_ERROR_IS_FATAL ANY)
    file(READ "${plain}" hex HEX)
    c_bytes("${hex}" plain_bytes)
    file(READ "${plain}.gz" hex HEX)
    c_bytes("${hex}" gzip_bytes)
    file(REMOVE "${plain}" "${plain}.gz")
    string(APPEND bytes "static const unsigned char plain_${number}[] = {\n${plain_bytes}\n};\n"
        "static const unsigned char gzip_${number}[] = {\n${gzip_bytes}\n};\n")
    string(APPEND rows "    { \"${path}\", \"${type}\", { (const char *)plain_${number}, sizeof(plain_${number}) },\n"
        "      { (const char *)gzip_${number}, sizeof(gzip_${number}) } },\n")
    set(bytes "${bytes}" PARENT_SCOPE)
    set(rows "${rows}" PARENT_SCOPE)
endfunction()

bundle_script("${WEB}" page/page.txt script)
bundle_style("${WEB}" style ${PANEL_STYLES} viewer/heatmap.css ${PAGE_STYLES})
string(SHA256 script_hash "${script}")
string(SHA256 style_hash "${style}")
string(SUBSTRING "${script_hash}" 0 16 script_hash)
string(SUBSTRING "${style_hash}" 0 16 style_hash)
read_text("${WEB}/page/page.html" page)
string(REPLACE "@SCRIPT@" "ui/app-${script_hash}.js" page "${page}")
string(REPLACE "@STYLE@" "ui/app-${style_hash}.css" page "${page}")

add_page_file(0 "/" "text/html; charset=utf-8" "${page}")
add_page_file(1 "/ui/app-${script_hash}.js" "text/javascript; charset=utf-8" "${script}")
add_page_file(2 "/ui/app-${style_hash}.css" "text/css; charset=utf-8" "${style}")
file(WRITE "${OUT}" "/* Generated from web/ by cmake/page.cmake. */\n#include \"serve/routes/page.h\"\n\n${bytes}\n"
    "const struct page_file PAGE_FILES[] = {\n${rows}};\nconst size_t PAGE_FILES_COUNT = 3;\n")
