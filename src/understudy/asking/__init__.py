"""Questions to private rows: parsed and checked, priced, booked and answered with an interval."""
