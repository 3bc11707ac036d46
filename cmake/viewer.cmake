# SPDX-License-Identifier: Apache-2.0
# cmake -D WEB=<web folder> -D OUT=<file.c> -P viewer.cmake
# Makes the pages that flamed answers with (render/standalone/pages.h). Of each, the modules of web/ that its list names, in
# this order, become one classic script; script and style go into its html, and the page into three files
# for a C file to embed: up to @TITLE@, up to @DATA@, the rest.
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

# 'sha256-<base64>' of a text, as a Content-Security-Policy names it.
function(csp_hash text ret)
    file(WRITE "${OUT}.text" "${text}")
    execute_process(COMMAND sha256sum INPUT_FILE "${OUT}.text" COMMAND cut -c1-64 COMMAND tr a-f A-F COMMAND basenc --base16 -d
        COMMAND base64 OUTPUT_VARIABLE base64 OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE "${OUT}.text")
    set(${ret} "sha256-${base64}" PARENT_SCOPE)
endfunction()

# Appends the span @name with @text to `code`.
function(add_span name text)
    file(WRITE "${OUT}.${name}" "${text}")
    set(code "${code}EMBED(${name}, \"${OUT}.${name}\");\n" PARENT_SCOPE)
endfunction()

# Appends the page @name, of web/standalone/head.html and web/@html, the modules of web/@list and style sheets (ARGN), to `code`.
function(add_page name html list)
    bundle_script("${WEB}" ${list} script)
    bundle_style("${WEB}" style ${ARGN})
    if(script MATCHES "</|<!--" OR style MATCHES "</")
        message(FATAL_ERROR "${list}: script or style would end its own element")
    endif()
    csp_hash("${script}" script_hash)
    csp_hash("${style}" style_hash)
    read_text("${WEB}/standalone/head.html" page_head)
    read_text("${WEB}/${html}" page)
    string(REPLACE "@HEAD@\n" "${page_head}" page "${page}")
    string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
    string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
    string(REPLACE "@STYLE@" "${style}" page "${page}")
    string(REPLACE "@SCRIPT@" "${script}" page "${page}")

    string(FIND "${page}" "@TITLE@" title_at)
    string(FIND "${page}" "@DATA@" data_at)
    if(title_at LESS 0 OR data_at LESS title_at)
        message(FATAL_ERROR "${html} lacks @TITLE@ or @DATA@")
    endif()
    string(SUBSTRING "${page}" 0 ${title_at} head)
    math(EXPR from "${title_at} + 7")
    math(EXPR length "${data_at} - ${from}")
    string(SUBSTRING "${page}" ${from} ${length} body)
    math(EXPR from "${data_at} + 6")
    string(SUBSTRING "${page}" ${from} -1 tail)
    add_span(${name}_HEAD "${head}")
    add_span(${name}_BODY "${body}")
    add_span(${name}_TAIL "${tail}")
    set(code "${code}" PARENT_SCOPE)
endfunction()

set(code "")
add_page(VIEWER standalone/viewer.html standalone/viewer.txt ${PANEL_STYLES})
add_page(HEATMAP standalone/viewer.html standalone/heatmap.txt ${PANEL_STYLES} viewer/heatmap.css)
add_page(DIFF standalone/viewer.html standalone/diff.txt ${PANEL_STYLES} standalone/diffview.css)
add_page(TREE standalone/tree.html standalone/tree.txt standalone/tree.css)

bundle_script("${WEB}" standalone/svg.txt script)
if(script MATCHES "]]>")
    message(FATAL_ERROR "svg.js would end its own section")
endif()
add_span(SVG_SCRIPT "${script}")
file(WRITE "${OUT}" "/* Generated from web/ by cmake/viewer.cmake. */\n#include \"base/embed.h\"\n#include \"render/standalone/pages.h\"\n\n${code}")
