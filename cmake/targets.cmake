# Helpers for the folders' CMakeLists.txt: what all targets of the project have in common.
include(GoogleTest)

add_library(tutti_options INTERFACE)
# Libraries are position-independent for the sake of modules, which replace none of their functions.
target_compile_options(tutti_options INTERFACE -ffp-contract=off -fno-semantic-interposition)
target_include_directories(tutti_options INTERFACE ${CMAKE_SOURCE_DIR})
if(TUTTI_FUZZ)  # The fuzzer's clang has other warnings than g++, which judges the code.
  target_compile_options(tutti_options INTERFACE -fsanitize=fuzzer-no-link)
else()
  target_compile_options(tutti_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)
endif()
if(TUTTI_SANITIZE)
  target_compile_options(tutti_options INTERFACE
    -fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tutti_options INTERFACE -fsanitize=${TUTTI_SANITIZE})
endif()

# tutti_library(NAME SOURCES a.cpp ... LINK other ...): a static library of one folder.
function(tutti_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC tutti_options ${arg_LINK})
endfunction()

# tutti_test(NAME LABEL fast|slow SOURCES a.cpp ... LINK other ...): a GoogleTest program, each of
# whose tests runs in a process of its own.
function(tutti_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} tutti_options GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
