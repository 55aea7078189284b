# A worker for the jobs of ResearchCopilot, and every noonmark command; see docker-compose.yml.
# What it does by hand:  pip install '.[postgres,redis]' ./apps/researchcopilot && noonmark worker researchcopilot.scheduler:sched
FROM python:3.11-slim

WORKDIR /app
COPY pyproject.toml hatch_build.py constraints.txt README.md README.zh.md LICENSE ./
COPY src src
COPY docs docs
COPY apps apps
RUN pip install --no-cache-dir --constraint constraints.txt '.[postgres,redis]' ./apps/researchcopilot \
 && useradd --create-home noonmark \
 && install --directory --owner=noonmark /data

USER noonmark
ENV RESEARCHCOPILOT_CORPUS=/app/docs RESEARCHCOPILOT_DATA=/data NOONMARK_STATE=/data/state
VOLUME /data
# noonmark takes SIGTERM as: take nothing new, let runs finish, hand the rest back.
STOPSIGNAL SIGTERM
ENTRYPOINT ["noonmark"]
CMD ["--help"]
