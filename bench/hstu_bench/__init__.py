"""What bench/run.sh runs."""
