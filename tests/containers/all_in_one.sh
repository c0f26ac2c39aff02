# The all-in-one image; sourced by scripts/test_containers.sh with the daemon running and the image built.
docker network create hearth-one >/dev/null
one() {  # NAME OPTION.. -- ARGUMENT..: starts it, published on a free port of 127.0.0.1
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  docker run -d --name "$name" --network hearth-one -p 127.0.0.1:0:30000 "${options[@]+"${options[@]}"}" \
    hearth/all_in_one:local "$@" 2> >(grep -v 'IPv4 forwarding' >&2) >/dev/null
}
url_of() { echo "http://$(docker port "$1" 30000)"; }
log_has() {  # NAME PATTERN
  docker logs "$1" >"$PRIVATE_DOCKER/container.log" 2>&1
  grep -qE "$2" "$PRIVATE_DOCKER/container.log" ||
    { tail -n 30 "$PRIVATE_DOCKER/container.log"; echo "no \"$2\" in the log of $1" >&2; return 1; }
}

one one -e GLM53_ARGS="-cs 1024" -- -cs 4096
checks health "$(url_of one)" ready
checks chat "$(url_of one)"
curl -fsS "$(url_of one)/server_info" | grep -q '"context_length":4096'  # of two the last one counts
log_has one '^ok +cpu +AVX2'
# Nothing of ours runs as root.
docker top one -eo pid,user,comm | awk '$3 ~ /^hearth-/ && $2 == "root" {exit 1}'
docker stop -t 60 one >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' one)" = 0 ]
docker rm one >/dev/null
mark "all in one: one docker run, arguments appended, stops with 0"

refused() {  # NAME PATTERN: has ended with 2, and said why in one line
  [ "$(timeout 60 docker wait "$1")" = 2 ]
  log_has "$1" "$2"
  docker rm "$1" >/dev/null
}
one refused --memory 200m -- ; refused refused '^REFUSED +cgroup .*available; raise the limit'
one refused --shm-size 1m -- ; refused refused '^REFUSED +home .*--shm-size'
one refused -- --device cuda; refused refused '^REFUSED +gpu .*none is visible'
one refused -e GLM53_MODEL_DIR=/models -e GLM53_MODEL_DOWNLOAD=0 --; refused refused 'no checkpoint in /models'
mark "refusals: memory limit, home, GPU, no model; one line each"

# An empty /models is filled from a hub, over a connection that is cut once, and served.
models=$PRIVATE_DOCKER/models
mkdir -p "$models"
address=$(docker network inspect -f '{{(index .IPAM.Config 0).Gateway}}' hearth-one)
coproc hub { exec python3 tests/download/fake_hub.py models/hearth-tiny "$address"; }
read -r hub_port <&"${hub[0]}"
one loaded -v "$models:/models" -e GLM53_MODEL_DIR=/models -e "HF_ENDPOINT=http://$address:$hub_port" \
  -e GLM53_MODEL_REPO=owner/model -e "GLM53_MODEL_REVISION=$(printf 'c%.0s' {1..40})" --
checks health "$(url_of loaded)" ready
checks chat "$(url_of loaded)"
log_has loaded 'sizes and hashes as the repository says'
cmp models/hearth-tiny/model-00001-of-00002.safetensors "$models/model-00001-of-00002.safetensors"
docker rm -f loaded >/dev/null
kill "$hub_PID"
docker network rm hearth-one >/dev/null
mark "an empty /models: downloaded, checked, served"
