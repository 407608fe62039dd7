# sow and its worker. The agents' own CLIs are not in here: docs/howto/container.md
# says how to add them.

FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[postgres]"

FROM python:3.11-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "sow-agents[postgres]" && rm -rf /wheels

# The worker runs as the owner of the mounted checkout, whoever that is.
RUN mkdir -p -m 0777 /home/agent /home/agent/.config /home/agent/.local /home/agent/.local/state
ENV HOME=/home/agent
WORKDIR /work

CMD ["sow", "worker"]
