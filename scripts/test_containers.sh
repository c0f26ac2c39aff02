#!/usr/bin/env bash
# The images and deploy/compose for real: a Docker daemon of this run's own, a base image made by debootstrap, all images
# built, the stack up, asked, broken and mended, and nothing left behind. Needs root, and on Debian 12:
#   apt-get install --no-install-recommends docker.io docker-compose debootstrap prometheus
#
#   scripts/test_containers.sh [--prebuilt] [--cuda]
#     --prebuilt   images take the binaries of build/release instead of compiling them again
#     --cuda       also the image for a GPU, with this machine's CUDA toolkit standing in for the vendor's base image
#
# Where no container can run it says SKIP in large letters, checks what needs none, and exits with 0, or with 1 when
# HEARTH_REQUIRE_DOCKER=1. HEARTH_TEST_BASE=FILE.tar is an image saved as debian:bookworm-slim, to spare the bootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
prebuilt=0 cuda=0
for word in "$@"; do
  case $word in
    --prebuilt) prebuilt=1 ;;
    --cuda) cuda=1 ;;
    *) echo "test_containers: no option $word; there are --prebuilt and --cuda" >&2; exit 2 ;;
  esac
done
source tests/containers/private_docker.sh
mark() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
checks() { python3 tests/containers/checks.py "$@"; }

# ---------------------------------------------------------------- what needs no daemon
if command -v docker-compose >/dev/null; then
  (
    cd deploy/compose
    docker-compose --profile cpu --profile grafana config -q
    docker-compose -f compose.yaml -f compose.gpu.yaml --profile gpu config -q
  ) && mark "compose files read by $(docker-compose version --short)"
fi
python3 -m unittest discover -s tests/deploy 2>&1 | tail -n 1
mark "entrypoint, dashboard, alerts"

if ! private_docker_start; then
  echo '################################################################################'
  echo '####  SKIP: container tests. No container can run on this machine, see above. ####'
  echo '################################################################################'
  exit "${HEARTH_REQUIRE_DOCKER:-0}"
fi
mark "daemon $(docker info -f '{{.ServerVersion}}, {{.Driver}}, cgroup v{{.CgroupVersion}}' 2>/dev/null)"
if [ -n "${HEARTH_TEST_BASE:-}" ]; then docker load -q -i "$HEARTH_TEST_BASE" >/dev/null; else private_docker_base; fi
mark "base image, $(docker image inspect -f '{{.Size}}' debian:bookworm-slim) bytes"

# ---------------------------------------------------------------- images
# The tree that is sent to the daemon: what .dockerignore lets through, and wheels for the downloader.
context=$PRIVATE_DOCKER/context
mkdir -p "$context"
cp -r .dockerignore CMakeLists.txt CMakePresets.json cmake common cpu_tier deploy gateway gpu_worker kernels models proto scripts \
  tools "$context"
python3 -m pip download -q --only-binary :all: -d "$context/deploy/images/wheels" --python-version 3.11 \
  -r deploy/images/requirements-download.txt
dockerfile=$context/deploy/images/Dockerfile
if [ $prebuilt = 1 ]; then
  mkdir -p "$context/build/release/bin"
  cp build/release/bin/hearth-* "$context/build/release/bin"
  sed -i '/^# begin of the compilation/,/^# end of the compilation/c\
RUN install -D -s -t /opt/hearth/bin build/release/bin/hearth-*' "$dockerfile"
fi
build() {  # TAG CONTEXT [OPTION..]
  local tag=$1 folder=$2
  shift 2
  docker build --network=host -t "$tag" "$@" "$folder" >"$PRIVATE_DOCKER/build.log" 2>&1 ||
    { tail -n 40 "$PRIVATE_DOCKER/build.log"; return 1; }
  mark "image $tag, $(($(docker image inspect -f '{{.Size}}' "$tag") / 1000000)) MB"
}
for target in cpu_tier gateway gpu_worker all_in_one; do
  build "hearth/$target:local" "$context" -f "$dockerfile" --target $target
done
build hearth/prometheus:local deploy/compose/prometheus
for target in cpu_tier gateway gpu_worker; do
  [ "$(docker image inspect -f '{{.Config.User}}' hearth/$target:local)" = hearth ]
  docker image inspect -f '{{index .Config.Labels "org.opencontainers.image.title"}}, {{.Config.Healthcheck.Test}}' \
    hearth/$target:local | grep -q '^Hearth, .*healthcheck'
done
mark "labels, health checks, users"

# ---------------------------------------------------------------- compose
export COMPOSE_PROJECT_NAME=hearthtest HEARTH_HTTP_PORT=0 HEARTH_PROMETHEUS_PORT=0 COMPOSE_HTTP_TIMEOUT=300
hard=$(ulimit -Hl)
[ "$hard" = unlimited ] || export HEARTH_MEMLOCK=$((hard * 1024))
compose() { (cd deploy/compose && docker-compose --profile cpu "$@"); }
wait_healthy() {  # until every container is; for 180 s
  local end=$((SECONDS + 180)) id states
  while true; do
    states=$(for id in $(compose ps -q); do docker inspect -f '{{.State.Status}}/{{.State.Health.Status}}' "$id"; done)
    [ "$(grep -c . <<<"$states")" = 4 ] && ! grep -qv '^running/healthy$' <<<"$states" && return
    ((SECONDS < end)) || { compose ps; compose logs --no-color --tail 40; return 1; }
    sleep 0.5
  done
}
compose up -d --no-build >"$PRIVATE_DOCKER/up.log" 2>&1 ||
  { cat "$PRIVATE_DOCKER/up.log"; compose logs --no-color --tail 40; exit 1; }
mark "up"
wait_healthy
mark "all four healthy"
gateway=http://$(compose port gateway 30000) prometheus=http://$(compose port prometheus 9090)
checks health "$gateway" ready
checks chat "$gateway"
checks metrics "$prometheus"
checks dashboard "$prometheus"
mark "asked"

# ---------------------------------------------------------------- each killed in turn
container() { compose ps -q "$1"; }
again() { compose up -d --no-build --no-recreate >"$PRIVATE_DOCKER/up.log" 2>&1 || { cat "$PRIVATE_DOCKER/up.log"; return 1; }; }

docker kill "$(container cpu_tier)" >/dev/null
checks health "$gateway" degraded
checks chat "$gateway"
again
checks health "$gateway" ready
mark "cpu_tier killed: degraded, same answers; taken back"

checks cut "$gateway" docker kill "$(container gpu_worker)"
checks health "$gateway" down
again
checks health "$gateway" ready
checks adopted "$gateway"
checks chat "$gateway"
mark "gpu_worker killed: streams told, 503, home adopted"

checks cut "$gateway" docker kill "$(container gateway)"
checks idle "$prometheus"
again
gateway=http://$(compose port gateway 30000)
checks health "$gateway" ready
checks chat "$gateway"
mark "gateway killed: its streams cancelled, serves again"

# Not stopped by Docker's own hand, it is Docker that starts it again.
kill -9 "$(docker inspect -f '{{.State.Pid}}' "$(container gpu_worker)")"
checks health "$gateway" down
checks health "$gateway" ready
checks adopted "$gateway"
[ "$(docker inspect -f '{{.RestartCount}}' "$(container gpu_worker)")" -ge 1 ]
mark "gpu_worker died: restarted by its policy"

compose down -v >/dev/null 2>&1
[ -z "$(docker ps -aq)" ] && [ -z "$(docker volume ls -q)" ]
[ "$(docker network ls --format '{{.Name}}' | sort | xargs)" = "host none" ]
mark "down: no container, volume or network is left"

# ---------------------------------------------------------------- all in one, a refusal, a download
source tests/containers/all_in_one.sh
if [ $cuda = 1 ]; then source tests/containers/cuda_image.sh; fi
mark "all container tests passed"
