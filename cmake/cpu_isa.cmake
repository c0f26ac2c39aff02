# Floating point means the same in every file: no contraction of a*b+c unless the source says fma. Bit-identical
# results across row counts and processes depend on it.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# hearth_isa_sources(TARGET avx2|avx512 FILES...): these files alone are compiled for the instruction set. They may be
# entered only after kernels/cpu_features has found it.
function(hearth_isa_sources target isa)
  if(isa STREQUAL "avx2")
    set(flags -mavx2 -mfma -mf16c -O3)
  elseif(isa STREQUAL "avx512")
    set(flags -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vbmi2 -mavx512vnni
        -O3)
  else()
    message(FATAL_ERROR "hearth_isa_sources: unknown instruction set ${isa}")
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags}")
endfunction()
