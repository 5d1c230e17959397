"""The loops of :mod:`understudy.models.balancing_steps`, compiled by numba."""

from understudy.machine.compiled import kernel
from understudy.models import balancing_steps

order_rows = kernel(nogil=True)(balancing_steps.order_rows)
halve = kernel(nogil=True)(balancing_steps.halve)
balance = kernel(nogil=True)(balancing_steps.balance)
