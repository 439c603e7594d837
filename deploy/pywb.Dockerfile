# The school's own web archive: serves the WARC files in /archive/collections/school/archive.
FROM python:3.11-slim
RUN python -m venv /opt/pywb && /opt/pywb/bin/pip install --no-cache-dir 'pywb>=2.8,<3' 'setuptools<81' \
    && useradd --system --uid 991 --home-dir /archive --create-home pywb
USER 991
WORKDIR /archive
VOLUME /archive
CMD ["sh", "-c", "test -d collections/school || /opt/pywb/bin/wb-manager init school; printf 'framed_replay: false\\nenable_memento: true\\n' > config.yaml; exec /opt/pywb/bin/wayback --bind 0.0.0.0 --port 8080 --directory . --autoindex"]
