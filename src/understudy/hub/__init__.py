"""The hub: share what may be shared, with everybody's budget in view."""
