# The HTTP service: docker build -t contextune .
FROM python:3.13-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv --without-pip /opt/contextune \
 && python -m pip --python /opt/contextune/bin/python install --no-cache-dir '.[serve,postgres,otel]'

FROM python:3.13-slim-bookworm
# pip is removed: nothing is installed in a running container
RUN python -m pip uninstall --yes pip \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin contextune
COPY --from=build /opt/contextune /opt/contextune
ENV PATH=/opt/contextune/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
USER 10001:10001
EXPOSE 8765
# whether the process answers, not the store: a database that is away must not restart all replicas
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/live', timeout=4)"]
ENTRYPOINT ["contextune"]
CMD ["serve", "--host", "0.0.0.0", "--connections-per-address", "512"]
