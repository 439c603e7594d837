# The parent: Debian's squid-openssl, which also caches https for linkmend.
FROM debian:bookworm-slim
# The newest there is: Debian's updates of a release only repair it.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends squid-openssl ca-certificates \
    && rm -rf /var/lib/apt/lists/*
VOLUME /var/spool/squid
# Creates the cache folders first if they do not exist.
CMD ["sh", "-c", "squid -N -z && exec squid -N"]
