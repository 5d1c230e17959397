# Understudy in a container: no network, no root, the table and the results in /data.
#
#   docker build -t understudy .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/data" understudy \
#       synthesize patients.csv --schema patients.json -o synthetic.csv
FROM python:3.12-slim

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir ".[frames,evaluation]"

# Compiled kernels and temporary files go to a folder that any user may write to.
ENV NUMBA_CACHE_DIR=/tmp/numba HOME=/tmp
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["understudy"]
CMD ["--help"]
