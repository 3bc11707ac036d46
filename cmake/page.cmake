# SPDX-License-Identifier: Apache-2.0
# cmake -D WEB=<web folder> -D OUT=<file.c> -D GZIP=<program> -P page.cmake
# Puts the modules of web/page/page.txt into one script and the style sheets into one, names both by a hash of what is in
# them, puts these names into page.html, and writes all three, as they are and compressed, for a C file to embed.
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

# Appends the file @path with @text to `spans` and `rows`.
function(add_page_file number path type text)
    set(plain "${OUT}.${number}")
    file(WRITE "${plain}" "${text}")
    execute_process(COMMAND ${GZIP} -n -9 -c "${plain}" OUTPUT_FILE "${plain}.gz" COMMAND_ERROR_IS_FATAL ANY)
    set(spans "${spans}EMBED(page_plain_${number}, \"${plain}\");\nEMBED(page_gzip_${number}, \"${plain}.gz\");\n" PARENT_SCOPE)
    set(rows "${rows}    { \"${path}\", \"${type}\", &page_plain_${number}, &page_gzip_${number} },\n" PARENT_SCOPE)
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
file(WRITE "${OUT}" "/* Generated from web/ by cmake/page.cmake. */\n#include \"base/embed.h\"\n#include \"serve/routes/page.h\"\n\n${spans}\n"
    "const struct page_file PAGE_FILES[] = {\n${rows}};\nconst size_t PAGE_FILES_COUNT = 3;\n")
