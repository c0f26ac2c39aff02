include(CTest)
include(GoogleTest)

# hearth_library(NAME SRCS a.cc ... [DEPS other ...])
#   A static library whose includes are written from the project's root.
function(hearth_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE hearth_warnings)
endfunction()

# hearth_binary(NAME SRCS main.cc ... [DEPS lib ...])
function(hearth_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} hearth_warnings)
endfunction()

# Test code need not be fast; the libraries that it tests keep the build type's optimisation. Half of a sanitized build would
# be the checks of null, type and alignment in the macros of test files: those stay with the code under test.
function(hearth_test_options name)
  if(HEARTH_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(HEARTH_SANITIZE STREQUAL "address")
    target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment,vptr,object-size)
  endif()
endfunction()

# hearth_test(NAME SRCS a_test.cc ... [DEPS lib ...] [LABEL unit|golden|link|e2e] [TIMEOUT seconds])
#   One GoogleTest program, run by ctest as a whole. Tests read committed data through HEARTH_SOURCE_DIR.
function(hearth_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SRCS;DEPS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  # Only what hangs is to meet it; a program under a sanitizer takes several times as long.
  if(HEARTH_SANITIZE)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE HEARTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HEARTH_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main hearth_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  hearth_test_options(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# hearth_bench(NAME SRCS a_bench.cc ... [DEPS lib ...])
function(hearth_bench name)
  hearth_binary(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  if(name MATCHES "_cuda_bench$")
    if(NOT TARGET gpu_benches)
      add_custom_target(gpu_benches)  # all that need a GPU
    endif()
    add_dependencies(gpu_benches ${name})
  endif()
endfunction()

# hearth_proto(NAME FILE.proto ...): messages and services of the given files (paths from proto/), without our warnings.
function(hearth_proto name)
  set(out ${CMAKE_BINARY_DIR}/generated)
  set(generated)
  foreach(file ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(products ${out}/${stem}.pb.cc ${out}/${stem}.pb.h ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
    add_custom_command(
      OUTPUT ${products}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND ${PROTOC} --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${out} --grpc_out=${out}
              --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${file}
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${file}
      COMMENT "protoc ${file}")
    list(APPEND generated ${out}/${stem}.pb.cc ${out}/${stem}.grpc.pb.cc)
  endforeach()
  add_library(${name} STATIC ${generated})
  target_include_directories(${name} SYSTEM PUBLIC ${out})
  target_link_libraries(${name} PUBLIC PkgConfig::GRPCPP PkgConfig::PROTOBUF ${GRPCPP_REFLECTION})
endfunction()

# hearth_gpu_test(NAME SRCS a_test.cc ... [DEPS lib ...]): needs a GPU; skipped with its reason where there is none. One
# binary that also runs where no test framework is installed, from the root of a copy of this folder.
function(hearth_gpu_test name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS} ${PROJECT_SOURCE_DIR}/tests/kernels/cuda/cuda_environment.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE HEARTH_SOURCE_DIR=".")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} kernels_cuda GTest::gtest GTest::gmock hearth_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  hearth_test_options(${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS gpu TIMEOUT 300 SKIP_RETURN_CODE 77)
  if(NOT TARGET gpu_tests)
    add_custom_target(gpu_tests)  # all of them
  endif()
  add_dependencies(gpu_tests ${name})
endfunction()
