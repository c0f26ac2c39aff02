# HEARTH_SANITIZE applies to every target, generated code included, so that reports have no blind spots.
if(HEARTH_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(HEARTH_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT HEARTH_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HEARTH_SANITIZE=${HEARTH_SANITIZE}: expected address, thread or nothing")
endif()
# Coverage for the fuzzers; their own targets add the fuzzing loop.
if(HEARTH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
