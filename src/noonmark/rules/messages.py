"""Every sentence about a rule that is wrong, by code.

Rule of the file: nothing but the sum; the sentences stand with what they are about.
"""

from __future__ import annotations

from noonmark.rules.file_messages import FILE_MESSAGES, SHAPE_MESSAGES
from noonmark.rules.finding_messages import FINDING_MESSAGES
from noonmark.rules.message import Message
from noonmark.rules.rule_messages import RULE_MESSAGES

MESSAGES: dict[str, Message] = FILE_MESSAGES | SHAPE_MESSAGES | RULE_MESSAGES | FINDING_MESSAGES
