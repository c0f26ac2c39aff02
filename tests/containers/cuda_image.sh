# The build of the image for a GPU, with this machine's CUDA toolkit under the name of the vendor's base image; sourced by
# scripts/test_containers.sh. It proves the build and that the entrypoint refuses a machine without a GPU in one line.
toolkit=$(readlink -f "${CUDA_HOME:-/usr/local/cuda}")
if [ ! -x "$toolkit/bin/nvcc" ]; then
  echo "######## SKIP: the CUDA image, $toolkit has no nvcc ########"
else
  name=$(sed -n 's/^ARG CUDA_BASE=//p' deploy/images/cuda.Dockerfile)
  # The compiler, its headers and the runtime; the other libraries of the toolkit are not used.
  (cd "$toolkit" && find -L bin nvvm include lib64 targets -type f \( ! -name '*.so*' -o -name 'libcudart.so*' \)) |
    tar --numeric-owner -h --transform 's,^,usr/local/cuda/,' -C "$toolkit" -T - -c | docker import - "$name" >/dev/null
  mark "stand-in for $name, $(($(docker image inspect -f '{{.Size}}' "$name") / 1000000)) MB"
  build hearth/gpu_worker_cuda:local "$context" -f "$context/deploy/images/cuda.Dockerfile" --target gpu_worker \
    --build-arg CUDA_ARCHITECTURES=90-real  # one of them, for time
  code=0
  docker run --rm --name nogpu hearth/gpu_worker_cuda:local -m /opt/hearth/models/hearth-tiny >"$PRIVATE_DOCKER/nogpu.log" 2>&1 ||
    code=$?
  [ $code = 2 ]
  grep -qE '^REFUSED +gpu .*none is visible' "$PRIVATE_DOCKER/nogpu.log"
  mark "the CUDA image builds, and says in one line that there is no GPU"
fi
