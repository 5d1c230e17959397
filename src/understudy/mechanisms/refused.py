"""What is asked for by name and not offered, with the reason."""

from __future__ import annotations

from typing import Any, NoReturn

from understudy.errors import InputError


class Wishart:
    """The Wishart mechanism for second moments: refused, since it is not differentially private.

    Its noise is a positive semi-definite matrix, so no second moment can come out below the true
    one: an answer smaller than what a row alone would make says for certain that the row is not
    there. A negative control of the audit shows it. Release second moments with :class:`Gaussian`
    or :class:`Laplace` noise instead, and repair the eigenvalues afterwards, which costs nothing.

    Examples
    --------
    >>> Wishart(epsilon=1.0)   # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    understudy.errors.InputError: The Wishart mechanism is not offered: ...
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(
            "The Wishart mechanism is not offered: its noise is never negative, so that an answer "
            "can show for certain that a row is missing, and it is not differentially private; "
            "release second moments with Gaussian or Laplace noise."
        )
