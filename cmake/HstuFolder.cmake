# One library target a folder of src/, with the arrows of the design checked: a folder may include
# only headers of the folders that it names in DEPS (and of those that they may use).

# hstu_folder(name SOURCES ... [DEPS folder ...] [LIBS target ...] [TESTS x_test.cc ...]
#             [CONCURRENT_TESTS x_test.cc ...])
# CONCURRENT_TESTS start threads: they run under ThreadSanitizer too.
function(hstu_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;TESTS;CONCURRENT_TESTS" ${ARGN})
  set(allowed ${name} ${ARG_DEPS})
  foreach(dep IN LISTS ARG_DEPS)
    get_property(below GLOBAL PROPERTY HSTU_ALLOWED_${dep})
    if(NOT below)
      message(FATAL_ERROR "src/${name} may not use src/${dep}: it is not below it")
    endif()
    list(APPEND allowed ${below})
  endforeach()
  list(REMOVE_DUPLICATES allowed)
  set_property(GLOBAL PROPERTY HSTU_ALLOWED_${name} ${allowed})
  hstu_check_includes(${name} "${allowed}")

  add_library(hstu_${name} STATIC ${ARG_SOURCES})
  target_include_directories(hstu_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(hstu_${name} PRIVATE hstu_warnings PUBLIC ${ARG_LIBS})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(hstu_${name} PUBLIC hstu_${dep})
  endforeach()

  if(HSTU_TESTS)
    foreach(test IN LISTS ARG_TESTS)
      hstu_test(${name} ${test})
    endforeach()
    foreach(test IN LISTS ARG_CONCURRENT_TESTS)
      hstu_test(${name} ${test} CONCURRENT)
    endforeach()
  endif()
endfunction()

# hstu_test(folder x_test.cc [CONCURRENT] [LIBS target ...]): a GoogleTest binary, one CTest test.
function(hstu_test folder source)
  cmake_parse_arguments(ARG "CONCURRENT" "" "LIBS" ${ARGN})
  get_filename_component(test ${source} NAME_WE)
  add_executable(${test} ${source})
  target_link_libraries(${test} PRIVATE hstu_warnings hstu_${folder} ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${test} PRIVATE HSTU_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             HSTU_GOLDEN_DIR="${HSTU_GOLDEN_DIR}")
  set_target_properties(${test} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${folder}.${test} COMMAND ${test})
  set_tests_properties(${folder}.${test} PROPERTIES TIMEOUT 900)
  if(ARG_CONCURRENT)
    set_tests_properties(${folder}.${test} PROPERTIES LABELS concurrent)
    add_dependencies(concurrent_tests ${test})
  endif()
  if(HSTU_SANITIZE)
    # What is tested is optimised; optimising the tests themselves would double the build's time.
    target_compile_options(${test} PRIVATE -O0)
    # Sanitized code is slow: randomised tests take fewer rounds of the same cases.
    set_tests_properties(${folder}.${test} PROPERTIES ENVIRONMENT HSTU_TEST_ROUNDS=2)
  endif()
endfunction()

# hstu_test_artifacts(test...): where these tests compile models to. What they compile stays for the
# next run, and for the runs of the other presets.
function(hstu_test_artifacts)
  foreach(test IN LISTS ARGN)
    target_compile_definitions(${test} PRIVATE
                               HSTU_ARTIFACTS_DIR="${PROJECT_SOURCE_DIR}/build/tests/artifacts")
  endforeach()
endfunction()

function(hstu_check_includes name allowed)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.h ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} includes REGEX "^#include \"[a-z_]+/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"([a-z_]+)/.*" "\\1" used "${line}")
      if(EXISTS ${PROJECT_SOURCE_DIR}/src/${used} AND NOT used IN_LIST allowed)
        message(FATAL_ERROR "${file} includes src/${used}, which src/${name} may not use (arrows only go down)")
      endif()
    endforeach()
  endforeach()
endfunction()
