# Every option of the build, with its default and one sentence.
set(HEARTH_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF, or AUTO (only where nvcc and /dev/nvidia0 exist)")
set(HEARTH_CUDA_ARCHITECTURES "86-real;89-real;90-real;120" CACHE STRING
    "GPU architectures that the binary has machine code for; the last one is kept as PTX for newer GPUs, too")
set_property(CACHE HEARTH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(HEARTH_SANITIZE "" CACHE STRING "Sanitizers for all our code: empty, address (with undefined), or thread")
set_property(CACHE HEARTH_SANITIZE PROPERTY STRINGS "" address thread)
option(HEARTH_TESTS "Build the tests" ON)
option(HEARTH_FUZZ "Build the fuzzers, which need clang; instruments all our code for them" OFF)
option(HEARTH_BENCH "Build the micro-benchmarks" OFF)
option(HEARTH_WERROR "Treat warnings in our own code as errors" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# All binaries of one build lie in one folder: scripts and tests find them there.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# Paths below the source folder are cached relative to the build folder, so that a second clone finds the first one's
# objects.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(hearth_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${hearth_launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${hearth_launcher})
endif()
