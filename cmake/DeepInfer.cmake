# How a module, a program and a test are declared. One module = one folder = one target
# deepinfer_<name> = one namespace deepinfer::<name>.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

add_library(deepinfer_options INTERFACE)
target_include_directories(deepinfer_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(deepinfer_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Wno-missing-field-initializers -Werror -fno-math-errno -ffp-contract=off)
if(DI_SANITIZE)
  # Line numbers are all that a report needs; full optimisation triples the build time.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  target_compile_options(deepinfer_options INTERFACE
    -fsanitize=${DI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(deepinfer_options INTERFACE -fsanitize=${DI_SANITIZE})
endif()

# deepinfer_module(<name> SOURCES a.cc … [PUBLIC targets…] [PRIVATE targets…])
function(deepinfer_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(deepinfer_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(deepinfer_${name}
    PUBLIC deepinfer_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
endfunction()

# deepinfer_program(<name> SOURCES main.cc … LIBS targets…)
function(deepinfer_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE deepinfer_options ${ARG_LIBS})
endfunction()

# deepinfer_test(<name> SOURCES a_test.cc … LIBS targets… [TIMEOUT seconds])
# Tests run in the source root so that they find tests/data.
function(deepinfer_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE deepinfer_options ${ARG_LIBS} GTest::gmock_main)
  # Assertions gain nothing from optimisation, and most of the build is tests. GCC 12 takes
  # string constructors at -O1 for accesses out of bounds.
  target_compile_options(${name} PRIVATE -O1 -g0 -Wno-array-bounds)
  list(LENGTH ARG_SOURCES num_sources)
  if(num_sources GREATER 2)
    target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <string> <vector>)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()

# deepinfer_bench(<name> SOURCES a_bench.cc … LIBS targets…)
function(deepinfer_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE deepinfer_options ${ARG_LIBS} benchmark::benchmark)
endfunction()
