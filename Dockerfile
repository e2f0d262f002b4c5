# syntax=docker/dockerfile:1
# The server: session-baton's and PAIF's APIs, and baton's own, with the state in a bare git repository at /data.
#
#     docker build -t baton-git .
#     docker run -e BATON_API_TOKEN=… -p 127.0.0.1:9101:9101 -v baton:/data baton-git
#
# It listens on all addresses of the container, so it refuses to start without BATON_API_TOKEN, unless BATON_PUBLISHED
# says that its port is published on loopback only (compose.yaml).

FROM python:3.13.7-slim-bookworm AS build

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY hooks ./hooks
COPY baton_git ./baton_git
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist . \
    && python -m venv /opt/baton \
    && /opt/baton/bin/pip install --no-cache-dir "$(ls /dist/baton_git-*.whl)[http]" \
    && /opt/baton/bin/baton --version


FROM python:3.13.7-slim-bookworm

LABEL org.opencontainers.image.title="baton-git" \
      org.opencontainers.image.description="The memory between sessions of AI coding agents, kept in git" \
      org.opencontainers.image.licenses="MIT"

# git and ssh talk to the remotes. Debian keeps only the newest version of each, so none is pinned here.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 baton \
    && useradd --system --uid 10001 --gid baton --home-dir /data --no-create-home --shell /usr/sbin/nologin baton \
    && install --directory --owner=baton --group=baton --mode=0750 /data /remote

COPY --from=build /opt/baton /opt/baton

ENV PATH=/opt/baton/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/data \
    USER=baton \
    BATON_HOST=0.0.0.0 \
    BATON_PORT=9101 \
    BATON_PUBLISHED= \
    BATON_REPO=/data/state.git

USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 9101

HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['BATON_PORT'] + '/health', timeout=4)"]

ENTRYPOINT ["baton"]
CMD ["serve", "--create"]
