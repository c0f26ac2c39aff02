# The warning set of our own code. Generated code and third-party headers do not get it.
add_library(hearth_warnings INTERFACE)
target_compile_options(hearth_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers>)
if(HEARTH_WERROR)
  target_compile_options(hearth_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
