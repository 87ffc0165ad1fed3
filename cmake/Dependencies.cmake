# Libraries from the distribution; scripts/setup.sh installs them. Each is linked by the one
# module that may include its headers (see CONTRIBUTING.md, "Layers").

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
if(DI_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(DI_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
