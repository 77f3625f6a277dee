# The site and its workers; docker-compose.yml starts them. Built from the lock file, run by an ordinary user.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PATH=/venv/bin:$PATH \
    DATA_DIR=/data \
    STATIC_ROOT=/app/staticfiles

WORKDIR /app
COPY requirements.lock pyproject.toml ./
RUN python -m venv /venv \
    && pip install --no-cache-dir --require-hashes --requirement requirements.lock

COPY . .
# The address of nothing and the secret of nobody is needed to collect files: the embedded mode does it.
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && DATA_DIR=/tmp/build python manage.py collectstatic --no-input \
    && rm -rf /tmp/build \
    && useradd --system --uid 10001 --no-create-home site \
    && install --directory --owner=site --mode=700 /data

USER site
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "--config", "python:rlvram_site.server.settings", "--bind", "0.0.0.0:8000"]
