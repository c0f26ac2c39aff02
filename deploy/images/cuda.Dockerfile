# The images for a GPU: the worker, and all three processes in one. From the root of a clone:
#   docker build -f deploy/images/cuda.Dockerfile --target gpu_worker -t hearth/gpu_worker_cuda:local .
#   docker build -f deploy/images/cuda.Dockerfile --target all_in_one -t hearth/all_in_one_cuda:local .
# The vendor's image gives only its toolkit, /usr/local/cuda; the system is the same Debian as that of the other images.
# The CUDA runtime is linked in, and the driver's libraries come from the host, so the images stay small.
ARG BASE=debian:bookworm-slim
ARG CUDA_BASE=nvidia/cuda:13.0.1-devel-ubuntu22.04

FROM ${CUDA_BASE} AS toolkit

FROM ${BASE} AS build
ARG SNAPSHOT=
COPY deploy/images/install_packages.sh deploy/images/packages.build /tmp/
RUN SNAPSHOT=${SNAPSHOT} /tmp/install_packages.sh /tmp/packages.build
COPY --from=toolkit /usr/local/cuda /usr/local/cuda
ENV PATH=/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Architectures other than the usual ones of cmake/options.cmake, as in 86-real;90-real.
ARG CUDA_ARCHITECTURES=
WORKDIR /src
COPY . .
RUN cmake --preset release -DHEARTH_CUDA=ON -DHEARTH_TESTS=OFF \
      ${CUDA_ARCHITECTURES:+"-DHEARTH_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES}"} \
 && cmake --build --preset release \
 && install -D -s -t /opt/hearth/bin build/release/bin/hearth-*
RUN install -D -t /opt/hearth/scripts scripts/serve.sh scripts/ask.py \
 && install -D deploy/images/entrypoint.sh /opt/hearth/bin/entrypoint \
 && install -D deploy/images/healthcheck.sh /opt/hearth/bin/healthcheck \
 && install -D deploy/images/download_model.py /opt/hearth/bin/download-model \
 && mkdir -p /opt/hearth/models && cp -r models/hearth-tiny /opt/hearth/models/

# The client of the Hugging Face hub, for downloads. What lies in deploy/images/wheels is taken instead of asking PyPI.
FROM ${BASE} AS downloader
ARG SNAPSHOT=
COPY deploy/images/install_packages.sh deploy/images/packages.downloader /tmp/
RUN SNAPSHOT=${SNAPSHOT} /tmp/install_packages.sh /tmp/packages.downloader
COPY deploy/images/wheels /tmp/wheels
COPY deploy/images/requirements-download.txt /tmp/
RUN python3 -m venv /opt/hearth/downloader \
 && if ls /tmp/wheels/*.whl >/dev/null 2>&1; then offline="--no-index --find-links /tmp/wheels"; else offline=; fi \
 && /opt/hearth/downloader/bin/pip install --no-cache-dir --no-compile $offline -r /tmp/requirements-download.txt \
 && /opt/hearth/downloader/bin/pip uninstall -y --quiet pip setuptools

FROM ${BASE} AS runtime
ARG SNAPSHOT=
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Hearth for NVIDIA GPUs" \
      org.opencontainers.image.description="GLM-5.3-Flash from one 24 GB GPU and host memory, OpenAI-compatible" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY deploy/images/install_packages.sh deploy/images/packages.runtime deploy/images/packages.all_in_one /tmp/
RUN SNAPSHOT=${SNAPSHOT} /tmp/install_packages.sh /tmp/packages.runtime /tmp/packages.all_in_one \
 && groupadd --system --gid 990 hearth \
 && useradd --system --uid 990 --gid hearth --no-create-home --home-dir /nonexistent hearth \
 && install -d -o hearth -g hearth -m 0770 /run/hearth \
 && rm -f /tmp/*
COPY --from=build /opt/hearth /opt/hearth
COPY --from=downloader /opt/hearth/downloader /opt/hearth/downloader
# The driver's container runtime mounts libcuda and nvidia-smi for these words.
ENV PATH=/opt/hearth/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    HEARTH_DEFAULT_MODEL=/models HEARTH_DEVICE=cuda

FROM runtime AS gpu_worker
ENV HEARTH_ROLE=gpu_worker
USER hearth
EXPOSE 30001 30101
HEALTHCHECK --interval=5s --timeout=3s --start-period=10m CMD ["/opt/hearth/bin/healthcheck", "gpu_worker"]
ENTRYPOINT ["/opt/hearth/bin/entrypoint"]

FROM runtime AS all_in_one
ENV HEARTH_ROLE=all_in_one
EXPOSE 30000
HEALTHCHECK --interval=5s --timeout=3s --start-period=10m CMD ["/opt/hearth/bin/healthcheck", "all_in_one"]
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/hearth/bin/entrypoint"]
