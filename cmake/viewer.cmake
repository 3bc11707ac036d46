# SPDX-License-Identifier: Apache-2.0
# cmake -D WEB=<web folder> -D OUT=<file.c> -P viewer.cmake
# Puts the modules of web/ (modules.txt, in this order) into one classic script, script and style into
# viewer.html, and the page into a C file in three pieces: up to @TITLE@, up to @DATA@, the rest.
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

# 'sha256-<base64>' of a text, as a Content-Security-Policy names it.
function(csp_hash text ret)
    set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    string(SHA256 hex "${text}")
    set(base64 "")
    foreach(at RANGE 0 57 6) # three bytes are four digits
        string(SUBSTRING "${hex}" ${at} 6 six)
        math(EXPR bits "0x${six}")
        foreach(shift 18 12 6 0)
            math(EXPR digit "(${bits} >> ${shift}) & 63")
            string(SUBSTRING "${digits}" ${digit} 1 digit)
            string(APPEND base64 "${digit}")
        endforeach()
    endforeach()
    string(SUBSTRING "${hex}" 60 4 four) # the last two bytes
    math(EXPR bits "0x${four} << 2")
    foreach(shift 12 6 0)
        math(EXPR digit "(${bits} >> ${shift}) & 63")
        string(SUBSTRING "${digits}" ${digit} 1 digit)
        string(APPEND base64 "${digit}")
    endforeach()
    set(${ret} "sha256-${base64}=" PARENT_SCOPE)
endfunction()

bundle_script("${WEB}" modules.txt script)
bundle_style("${WEB}" style viewer.css)

if(script MATCHES "</|<!--" OR style MATCHES "</")
    message(FATAL_ERROR "script or style would end its own element")
endif()

csp_hash("${script}" script_hash)
csp_hash("${style}" style_hash)
read_text("${WEB}/viewer.html" page)
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")

string(FIND "${page}" "@TITLE@" title_at)
string(FIND "${page}" "@DATA@" data_at)
if(title_at LESS 0 OR data_at LESS title_at)
    message(FATAL_ERROR "viewer.html lacks @TITLE@ or @DATA@")
endif()
string(SUBSTRING "${page}" 0 ${title_at} head)
math(EXPR from "${title_at} + 7")
math(EXPR length "${data_at} - ${from}")
string(SUBSTRING "${page}" ${from} ${length} body)
math(EXPR from "${data_at} + 6")
string(SUBSTRING "${page}" ${from} -1 tail)

c_span(VIEWER_HEAD "${head}" head)
c_span(VIEWER_BODY "${body}" body)
c_span(VIEWER_TAIL "${tail}" tail)
file(WRITE "${OUT}" "/* Generated from web/ by cmake/viewer.cmake. */\n#include \"render/viewer.h\"\n\n${head}\n${body}\n${tail}")
