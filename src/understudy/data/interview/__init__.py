"""An interview about what is public of a table: question, answer, next question.

:class:`Interview` is a state machine without a screen: a terminal and web pages can drive the same
one. It knows names and declared types of columns, and answers; it never sees a row.
"""

from __future__ import annotations

from understudy.data.interview.machine import Interview, resume_interview
from understudy.data.interview.questions import InterviewQuestion
from understudy.data.interview.state import Unit

__all__ = ["Interview", "InterviewQuestion", "Unit", "resume_interview"]
