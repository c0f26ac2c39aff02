# shellcheck shell=bash disable=SC2154
# The programs of a build and the libraries they need, for a machine that cannot build. Wants $bin and $other_worker.

# Names of the libraries that every machine with a C++ program has; the driver's own come with the driver.
system_library='^(linux-vdso|ld-linux|libc\.so|libm\.so|libdl|libpthread|librt\.so|libstdc\+\+|libgcc_s|libcuda\.so)'

pack() {  # FOLDER
  local out=$1 work file library kept
  work=$(mktemp -d)
  mkdir -p "$out" "$work"/{tests,bench,bin,lib,other}
  for file in "$bin"/tests/*_cuda_test "$bin"/bench/*_cuda_bench "$bin/bench/engine_bench" \
    "$bin/tests/score_checkpoint" "$bin"/bin/hearth-{cpu-tier,gpu-worker,gateway}; do
    [ -x "$file" ] || { echo "gpu_check: pack: $file is missing; run stage build" >&2; return 1; }
    kept=$work/$(basename "$(dirname "$file")")/$(basename "$file")
    strip --strip-unneeded -o "$kept" "$file" || return 1
    while read -r library; do
      [[ $(basename "$library") =~ $system_library ]] && continue
      [ -e "$work/lib/$(basename "$library")" ] && continue
      strip --strip-unneeded -o "$work/lib/$(basename "$library")" "$library" 2>/dev/null ||
        cp -L "$library" "$work/lib/"
    done < <(ldd "$file" | awk '$3 ~ /^\// {print $3}')
  done
  if [ -x "$other_worker" ]; then
    strip --strip-unneeded -o "$work/other/hearth-gpu-worker" "$other_worker" || return 1
  else
    echo "gpu_check: pack: no $other_worker; stage refusals will not show a GPU of another architecture (stage other)" >&2
  fi
  # The kernels are in every program; a window of 64 MiB stores them once.
  tar -cf - -C "$work" tests bench bin lib other | xz --lzma2=preset=2,dict=64MiB -T1 >"$out/programs.tar.xz" ||
    return 1
  rm -rf "$work"
  du -m "$out/programs.tar.xz" | awk '{print "gpu_check: packed " $1 " MiB into " $2}'
}

# Programs that were brought along are unpacked once; their folder is $bin from then on.
unpack() {
  local unpacked
  unpacked=${TMPDIR:-/tmp}/hearth-gpu-$(cksum <"$bin/programs.tar.xz" | tr ' ' -)
  if [ ! -d "$unpacked" ]; then
    mkdir -p "$unpacked.part"
    tar -xJf "$bin/programs.tar.xz" -C "$unpacked.part" 2>/dev/null ||
      python3 -m tarfile -e "$bin/programs.tar.xz" "$unpacked.part" || return 1
    mv "$unpacked.part" "$unpacked"
  fi
  bin=$unpacked
}
