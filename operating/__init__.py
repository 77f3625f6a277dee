"""What keeps the site going for years: backups, metrics, logs, health."""
