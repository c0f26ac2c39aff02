# Third-party libraries, all from Debian packages (scripts/install.sh installs them). pkg-config is used where the
# distribution's CMake configuration is missing or asks for more than we use.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(PROTOBUF REQUIRED IMPORTED_TARGET protobuf)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
find_library(GRPCPP_REFLECTION grpc++_reflection REQUIRED)

find_package(TBB REQUIRED)                    # TBB::tbb
find_package(nlohmann_json REQUIRED)          # nlohmann_json::nlohmann_json
find_package(prometheus-cpp REQUIRED COMPONENTS core)  # prometheus-cpp::core
find_package(OpenSSL REQUIRED)                # OpenSSL::SSL
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
find_path(HTTPLIB_INCLUDE_DIR httplib.h REQUIRED)

if(HEARTH_TESTS)
  find_package(GTest REQUIRED)                # GTest::gtest, GTest::gmock
endif()
