# The parent: Debian's squid-openssl, which caches https for linkmend as well.
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends squid-openssl ca-certificates \
    && rm -rf /var/lib/apt/lists/*
VOLUME /var/spool/squid
# The folders of the cache are made first, if they are not there.
CMD ["sh", "-c", "squid -N -z && exec squid -N"]
