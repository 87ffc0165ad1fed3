# XGrammar, the library behind structured output (Apache-2.0; inside it picojson, BSD-2-Clause, and
# dlpack, Apache-2.0). scripts/setup.sh fetches and checks its sources. They are compiled here with
# flags of our own: its CMake project asks for LTO, which makes every link slow, and for Python.

set(XGRAMMAR_DIR ${PROJECT_SOURCE_DIR}/.deps/xgrammar-0.2.9)
if(NOT EXISTS ${XGRAMMAR_DIR}/.sha256)
  message(FATAL_ERROR
    "The sources of XGrammar are not in ${XGRAMMAR_DIR}. Run scripts/setup.sh, which fetches them "
    "(scripts/setup.sh --build-only without the tools of the tests).")
endif()

file(GLOB_RECURSE XGRAMMAR_SOURCES ${XGRAMMAR_DIR}/cpp/*.cc)
list(FILTER XGRAMMAR_SOURCES EXCLUDE REGEX "/cpp/tvm_ffi/")

add_library(xgrammar STATIC ${XGRAMMAR_SOURCES})
target_include_directories(xgrammar SYSTEM PUBLIC
  ${XGRAMMAR_DIR}/include ${XGRAMMAR_DIR}/3rdparty/picojson ${XGRAMMAR_DIR}/3rdparty/dlpack/include)
target_compile_features(xgrammar PRIVATE cxx_std_17)
set_target_properties(xgrammar PROPERTIES CXX_STANDARD 17)
target_compile_options(xgrammar PRIVATE -w -O2 -g0)
target_compile_definitions(xgrammar
  PUBLIC XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0 XGRAMMAR_LOG_CUSTOMIZE=1)
target_link_libraries(xgrammar PUBLIC Threads::Threads)
if(DI_SANITIZE)
  # Instrumented for addresses and races; its own undefined behaviour is not ours to mend.
  string(REGEX REPLACE ",?undefined,?" "" XGRAMMAR_SANITIZE "${DI_SANITIZE}")
  target_compile_options(xgrammar PRIVATE -fsanitize=${XGRAMMAR_SANITIZE} -fno-omit-frame-pointer)
endif()
