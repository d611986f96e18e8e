"""Reading failures out of text: a pasted message, a traceback, the log of many processes."""

from sgl_explain.log_stream.blocks import Gap, blocks_in
from sgl_explain.log_stream.incidents import incidents, incidents_in_blocks
from sgl_explain.log_stream.sieve import Sieve
from sgl_explain.log_stream.stream import Incident

__all__ = ["Gap", "Incident", "Sieve", "blocks_in", "incidents", "incidents_in_blocks"]
