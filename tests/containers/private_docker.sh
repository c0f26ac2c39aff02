# A Docker daemon of one test run's own: own socket, own data, no firewall rule, nothing left behind. To be sourced.
#
#   private_docker_start || ..   sets DOCKER_HOST and PRIVATE_DOCKER; returns 1, after saying why, where no container can run.
#                                It stops itself when the shell ends, however it ends.
#   private_docker_base          makes debian:bookworm-slim out of the packages that this machine installs from
#
# A run that was killed leaves its folder; the next one removes it, by pid and after checking that the pid is that daemon.

_docker_gone() {  # PID: waits until it has ended, 40 s at most
  local tenth
  for ((tenth = 0; tenth < 400; tenth++)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  return 1
}

# Without a bridge and iptables the daemon changes no rule of this machine; published ports go through its own proxy.
_docker_launch() {  # FOLDER
  setsid dockerd --data-root "$1/data" --exec-root "$1/exec" -p "$1/dockerd.pid" -H "unix://$1/docker.sock" \
    --bridge=none --iptables=false --ip-forward=false >>"$1/dockerd.log" 2>&1 </dev/null &
  local pid=$! tenth
  for ((tenth = 0; tenth < 600; tenth++)); do
    DOCKER_HOST="unix://$1/docker.sock" docker version >/dev/null 2>&1 && return 0
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 3 "$1/dockerd.log" >&2
  kill "$pid" 2>/dev/null && _docker_gone "$pid"
  return 1
}

_docker_pid() {  # FOLDER: the pid of the daemon that runs on it
  local pid
  pid=$(cat "$1/dockerd.pid" 2>/dev/null) || return 1
  tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "--data-root $1/data " && echo "$pid"
}

_docker_discard() {  # FOLDER: containers, networks, daemon, mounts, files
  local pid
  if pid=$(_docker_pid "$1"); then
    (
      export DOCKER_HOST="unix://$1/docker.sock"
      docker ps -aq | xargs -r docker rm -f
      docker network prune -f
    ) >/dev/null 2>&1 || true
    kill "$pid"
    if ! _docker_gone "$pid"; then
      echo "private_docker: the daemon $pid does not stop; $1 is left" >&2
      return 1
    fi
  fi
  awk -v folder="$1/" 'index($2, folder) == 1 {print $2}' /proc/self/mounts | tac | xargs -r -n1 umount
  rm -rf --one-file-system "$1" || echo "private_docker: $1 is left" >&2
}

_docker_reap() {
  local folder
  for folder in /tmp/hearth-docker.*/; do
    folder=${folder%/}
    [ -f "$folder/owner" ] && ! kill -0 "$(cat "$folder/owner")" 2>/dev/null || continue
    echo "private_docker: removing what a killed run left in $folder" >&2
    if ! _docker_pid "$folder" >/dev/null; then
      # Containers go on without their daemon: one on the same folder takes them over and lets go of them.
      rm -f "$folder/dockerd.pid" "$folder/exec/containerd/containerd.pid"
      _docker_launch "$folder" || true
    fi
    _docker_discard "$folder" || true
  done
}

# A daemon also starts where no container can run, so only a container that ran counts.
_docker_probe() {
  tar -C /usr/bin -c tini-static | docker import - probe &&
    docker network create probe &&
    docker run --rm --network probe --memory 64m probe /tini-static --version &&
    docker network rm probe && docker rmi probe
}

private_docker_start() {
  local said
  PATH=$PATH:/usr/sbin:/sbin
  command -v dockerd >/dev/null || { echo "private_docker: no dockerd; apt-get install docker.io" >&2; return 1; }
  [ "$(id -u)" = 0 ] || { echo "private_docker: a daemon needs root" >&2; return 1; }
  _docker_reap
  PRIVATE_DOCKER=$(mktemp -d /tmp/hearth-docker.XXXXXX)  # short, since paths of sockets end at 107 characters
  echo $$ >"$PRIVATE_DOCKER/owner"
  trap '_docker_discard "$PRIVATE_DOCKER"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  _docker_launch "$PRIVATE_DOCKER" || return 1
  # The classic builder works with every client, and the user's own configuration stays out of it.
  export DOCKER_HOST="unix://$PRIVATE_DOCKER/docker.sock" DOCKER_CONFIG="$PRIVATE_DOCKER/config" DOCKER_BUILDKIT=0
  said=$(_docker_probe 2>&1) || { echo "private_docker: no container can run: ${said##*$'\n'}" >&2; return 1; }
}

private_docker_base() {
  local root=$PRIVATE_DOCKER/rootfs mirror
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "bookworm" {print $2; exit}')
  [ -n "$mirror" ] || { echo "private_docker: apt has no source for bookworm" >&2; return 1; }
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$PRIVATE_DOCKER/debootstrap.log" 2>&1 ||
    { tail -n 5 "$PRIVATE_DOCKER/debootstrap.log" >&2; return 1; }
  # Packages come from where this machine takes them, security updates included.
  rm -f "$root"/etc/{apt/sources.list,resolv.conf,hostname}
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
  apt-config dump | grep -E '^Acquire::(Check-|http|https|Retries)' >"$root/etc/apt/apt.conf.d/99host" || true
  printf '%s;\n' 'APT::Install-Recommends "false"' 'APT::Keep-Downloaded-Packages "false"' 'Dir::Cache::pkgcache ""' \
    'Dir::Cache::srcpkgcache ""' 'Acquire::Languages "none"' 'Acquire::GzipIndexes "true"' >"$root/etc/apt/apt.conf.d/90image"
  printf 'path-exclude=/usr/share/%s/*\n' doc man info locale >"$root/etc/dpkg/dpkg.cfg.d/90image"
  rm -rf "$root"/var/{cache/apt,lib/apt/lists,log}/* "$root"/usr/share/{doc,man,info,locale}/*
  tar --numeric-owner -C "$root" -c . | docker import --change 'CMD ["bash"]' - debian:bookworm-slim >/dev/null
  rm -rf --one-file-system "$root"
}
