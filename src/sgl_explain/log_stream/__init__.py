"""Reading failures out of text: a pasted message, a traceback, the log of many processes."""

from sgl_explain.log_stream.stream import Incident, incidents

__all__ = ["Incident", "incidents"]
