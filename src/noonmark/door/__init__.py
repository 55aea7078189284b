"""The public door: what people construct, decorate and call.  Names for strangers are in ``noonmark`` itself.

Rule of the package: it turns people's words into core's values and back, and decides nothing.
"""
