# SPDX-License-Identifier: Apache-2.0
# What viewer.cmake and page.cmake share: modules of web/ as one classic script, style sheets as one.
#
# Modules keep to a few rules so that this needs no parser: imports are statements at the beginning of a line
# that end in a semicolon, exports stand in front of declarations, comments are whole lines of //, no template
# text spans lines, and a top-level name exists once in all modules.

# The style sheets of what shows a profile, and of the page's views.
set(PANEL_STYLES shared/base.css viewer/graph.css viewer/methods.css)
set(PAGE_STYLES page/page.css page/node.css page/signals.css page/jvm.css page/timeline.css page/form.css page/graphpane.css page/memory.css
    page/threads.css page/captures.css page/compare.css page/health.css)

function(read_text path ret)
    file(READ "${path}" text)
    if(text MATCHES "\r")
        message(FATAL_ERROR "${path} has carriage returns: browsers drop them, and the hash would not fit")
    endif()
    set(${ret} "${text}" PARENT_SCOPE)
endfunction()

# The modules that @list (a file of names, in this order) holds, as one script.
function(bundle_script web list ret)
    set(script "\n(() => {\n\"use strict\";\n")
    file(STRINGS "${web}/${list}" modules)
    foreach(module IN LISTS modules)
        read_text("${web}/${module}" text)
        string(PREPEND text "\n")
        string(REGEX REPLACE "\nimport [^;]*;" "" text "${text}")
        string(REGEX REPLACE "\nexport " "\n" text "${text}")
        string(REGEX REPLACE "\n *//[^\n]*" "" text "${text}")
        string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
        string(APPEND script "${text}")
    endforeach()
    string(APPEND script "})();\n")
    set(${ret} "${script}" PARENT_SCOPE)
endfunction()

# Style sheets (ARGN), one after the other.
function(bundle_style web ret)
    set(style "")
    foreach(sheet IN LISTS ARGN)
        read_text("${web}/${sheet}" text)
        string(REGEX REPLACE "/\\*[^*]*\\*/\n" "" text "${text}")
        string(REGEX REPLACE "\n +" "\n" text "${text}")
        string(APPEND style "\n${text}")
    endforeach()
    set(${ret} "${style}" PARENT_SCOPE)
endfunction()
