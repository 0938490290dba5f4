"""Phrases that address the model instead of describing a tool, and how a text is read before they are looked for.

A phrase is looked for where one of its triggers occurs, as plain substrings are cheap and patterns are not. English is
covered best; overrides and secrecy also in the languages of the tables. All are narrow on purpose: a finding that is
usually wrong is not read. What they catch and what they miss is measured in docs/findings.md. Pure.
"""

# ruff: noqa: RUF001 - the patterns are in the scripts that they are looked for in.

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

__all__ = ["EXFILTRATION", "FOREIGN", "FOREIGN_PHRASES", "PHRASES", "Hit", "Phrase", "lowered"]

Hit: TypeAlias = tuple[str, int, int]
"""A rule's slug with the start and the end of what it met."""

FOREIGN = re.compile("[\u0300-\u0dff\u3040-\u9fff]")
"""Characters of scripts other than Latin, and accents on their own: where lookalikes and other languages are found."""

_MARKS = dict.fromkeys((*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x610, 0x61B), *range(0x64B, 0x660)))
_LOOKALIKES = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u0501\u051b\u051d"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2\u0585\u057d",
    "abekmhopctyxsijdqwaeikvoptuxcou",
)
_FOLDED = {**_LOOKALIKES, **_MARKS}


def lowered(text: str) -> str:
    """The text as the patterns read it: lower case, an underscore as a space, as a property's name is read as words.

    Compatibility forms (full-width letters), letters with accents and lookalikes of other scripts become plain letters.
    """
    if text.isascii():
        return text.lower().replace("_", " ")
    plain = unicodedata.normalize("NFKD", text).lower()
    if FOREIGN.search(plain):
        plain = plain.translate(_FOLDED)
    return plain.replace("_", " ")


@cache
def _compiled(source: str) -> re.Pattern[str]:
    # At import these would cost more than everything else that a start without findings loads.
    return re.compile(source.replace(" ", r"\s+"), re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A rule that addresses the model: one of `triggers` occurs in the lowered text, then the pattern decides."""

    rule: str
    triggers: tuple[str, ...]
    source: str

    def meets(self, plain: str) -> re.Match[str] | None:
        """The first match in a lowered text."""
        return _compiled(self.source).search(plain)

    def hits(self, text: str) -> Iterator[Hit]:
        """The first match in a text as it stands."""
        if (match := self.meets(lowered(text))) is not None:
            yield self.rule, _place(text, match.start()), _place(text, match.end())


def _place(text: str, plain_place: int) -> int:
    """Where in the text a place of the lowered text is: one character may become several, or none."""
    if text.isascii():
        return plain_place
    low, high, length = 0, len(text), 0
    while low < high:
        # Only what is new is lowered again: halves of halves add up to one pass over the text.
        middle = (low + high) // 2
        ahead = length + len(lowered(text[low:middle]))
        if ahead >= plain_place:
            high = middle
        else:
            low, length = middle + 1, ahead + len(lowered(text[middle]))
    return low


def _phrase(rule: str, triggers: str, source: str) -> Phrase:
    """In `source` a space is any white space; triggers are separated by semicolons."""
    return Phrase(rule, tuple(triggers.split("; ")), source)


def _foreign(rule: str, triggers: str, source: str) -> Phrase:
    """A phrase in another script, folded as the texts are."""
    return _phrase(rule, lowered(triggers), lowered(source))


_ADDRESS = r"(?:https?://|[\w.+-]+@[\w-]+\.\w|\+\d{7})"
_USER = r"(?:the |your |any )?(?:end |human )?(?:user|human|customer|operator|person)s?\b"
_SEND = r"\b(?:send|forward|post|upload|transmit|e-?mail|exfiltrate|leak|copy|bcc)\b"

EXFILTRATION = _phrase(
    "exfiltration",
    "contents to; content to",
    rf"{_SEND}(?: (?:all|the|its|their|this|that|file|full|entire|complete|raw)){{0,4}} contents?"
    rf"(?: of [^\n]{{1,60}}?)? to (?:this|our|the following|my)? ?{_ADDRESS}"
    rf"|{_SEND}[^\n]{{0,60}}\b(?:conversation|chat|history|credentials?|api keys?|passwords?|secrets?|private keys?|"
    rf"environment variables|tokens)\b[^\n]{{0,40}}? to [^\n]{{0,30}}?{_ADDRESS}"
    r"|\bsend the contents? to\b"
    rf"|\b(?:must|always|should)(?: also)?(?: be)? (?:sent|send|forward(?:ed)?|cop(?:y|ied)|bcc)\b[^\n]{{0,40}}?"
    rf" (?:to )?[^\n]{{0,20}}?{_ADDRESS}",
)
"""Looked for also where a text holds an address: most of its forms begin with one of many verbs."""

PHRASES = (
    _phrase(
        "ignore-instructions",
        "ignor; disregard; forget; overrid; vergiss",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing))(?: (?:all|any|every|the|of|these|those|your|and)){0,4}"
        r" (?:previous|prior|above|earlier|preceding|former|system|original|other|your)(?: \w+){0,2}?"
        r" (?:instructions?|prompts?|guidelines?|directives?|rules|messages?)\b"
        r"|\b(?:ignore|disregard|forget) (?:everything|all|anything)(?: (?:that|which))?(?: \w+){0,3}? (?:above|before|told)\b"
        r"|\b(?:ignorier|vergiss)\w*(?: \w+){0,3}? (?:vor|bis|fruh|ob|letzt)\w*(?:igen|en)(?: \w+)?"
        r" (?:anweisung|instruktion|regel|befehl|vorgabe)\w*"
        r"|\bignor\w+(?: \w+){0,3}? (?:instruc\w+|istruzion\w+|reg(?:la|le|ra|ole)s?|consignes|directives)"
        r" (?:anterior|previ|precedent)\w*",
    ),
    _phrase(
        "secrecy",
        "tell ; telling ; inform ; informing ",
        rf"\b(?:do not|don['\u2019]t|never|must not|without|avoid)(?: ever)? (?:tell|telling|inform|informing) {_USER}",
    ),
    _phrase(
        "secrecy",
        "mention; reveal; disclos",
        rf"\b(?:do not|don['\u2019]t|never|must not|without)(?: ever)? (?:mention|reveal|disclos)(?:e|ing)?"
        rf"(?: (?:this|that|it|these|any of this|the above|anything)(?: (?:instruction|step|note|tool|requirement)s?)?)"
        rf"(?: to {_USER}| to anyone\b|[.!,;]|$)",
    ),
    _phrase(
        "secrecy",
        "secret; hidden from; hide ; between us",
        rf"\b(?:keep|hide) (?:this|it|that|these)(?: \w+){{0,2}}?(?: secret| hidden)? from {_USER}"
        r"|\bkeep (?:this|it|that) (?:(?:a )?secret|between us)\b|\bsecretly \w+",
    ),
    _phrase(
        "secrecy",
        "not know; be told; user know; user's know",
        r"\b(?:user|human|customer|operator|person)s? (?:must|should|need|may|can)(?: not|not) (?:know|be told)"
        r"|\bwithout (?:letting )?(?:the |your )?user(?:['\u2019]s)? know(?:ing|ledge)?\b",
    ),
    _phrase(
        "secrecy",
        "nutzer nicht; al usuario; utilisateur",
        r"\bsag\w* (?:dem|der) (?:be)?nutzer\w* nicht|\b(?:dem|der) (?:be)?nutzer\w* nichts? (?:davon )?(?:sagen|mitteilen)"
        r"|\b(?:no (?:se )?(?:lo|le) diga|sin decir)\w* al usuario"
        r"|\b(?:sans|ne)(?: (?:le|lui|rien))? (?:dire|dis|dites)(?: (?:pas|rien))? a l['\u2019]utilisateur",
    ),
    _phrase(
        "tool-precondition",
        "other tool; any tool; every tool",
        r"\bbefore (?:you )?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?|execut(?:e|ing))"
        r" (?:any|every)(?: other)? tools?\b(?! (?:of|in|from) (?:this|the same)\b)"
        r"|\b(?:when(?:ever)?|each time|every time|if)(?: \w+){0,2}? (?:any other|another|every|other) tools?\b"
        r"[^.\n]{0,60}\b(?:must|first|also|always|instead)\b",
    ),
    _phrase(
        "model-markup",
        "important>; system>; assistant>; <|; [/inst]; <<sys>>; system-reminder>",
        r"\[/inst\]|<<sys>>|</?system-reminder>|</?important>|^\s*<(?:system|assistant)>|</(?:system|assistant)>"
        r"|<\|(?:im start|im end|system|assistant|endoftext)\|>",
    ),
    _phrase(
        "system-prompt",
        "system prompt; system instr",
        r"\b(?:reveal|print|repeat|output|include|send|pass|copy|paste|provide|return|write|expose|leak|append|put|dump)\b"
        r"[^.\n]{0,40}\b(?:your|its own) (?:\w+ )?system (?:prompts?|instructions?)\b"
        rf"|{_SEND}[^.\n]{{0,40}}\bsystem prompt\b[^.\n]{{0,40}}\bto\b",
    ),
    _phrase(
        "secret-path",
        ".ssh; id rsa; id ed25519; /passwd; .aws/; /mcp.json; desktop config",
        r"\b(?:read|open|cat|load|include|attach|fetch|collect|contents? of|send|copy|upload|append|dump)\b[^.\n]{0,60}?"
        r"(?:~/\.ssh\b(?!/(?:config|known_hosts))|\bid rsa\b|\bid ed25519\b|/etc/passwd\b|\.aws/credentials\b"
        r"|\.cursor/mcp\.json|claude desktop config)",
    ),
    EXFILTRATION,
    _phrase("hidden-comment", "<!--", r"<!--(?!\[if)\s*[^\s>]+(?: (?!-->)\S+){3,}?"),
)
"""English, with overrides and secrecy also in German, Spanish, French, Italian and Portuguese."""

FOREIGN_PHRASES = (
    _foreign(
        "ignore-instructions",
        "忽略; 无视; 忘记; 無視; 忘れ",
        r"(?:忽略|无视|無視|忘记)[^。\n]{0,8}?(?:之前|以前|先前|上面|上述|前面)[^。\n]{0,6}?(?:指令|指示|规则|說明|说明)"
        r"|(?:これまで|以前|前|上記)の[^。\n]{0,8}(?:指示|命令|ルール)[^。\n]{0,8}(?:無視|忘れ)",
    ),
    _foreign("secrecy", "告诉; 告知", r"(?:不要|不得|不能|别|请勿)[^。\n]{0,4}(?:告诉|告知)[^。\n]{0,4}用户"),
    _foreign("secrecy", "ユーザ", r"ユーザー?に[^。\n]{0,10}(?:言わない|伝えない|知らせない|教えない)"),
    _foreign(
        "ignore-instructions",
        "تجاهل; التعليمات",
        r"(?:تجاهل|انس)[^.\n]{0,12}(?:التعليمات|الأوامر|القواعد)[^.\n]{0,10}(?:السابقة|أعلاه)",
    ),
    _foreign("secrecy", "المستخدم", r"(?:لا تخبر|دون إخبار|بدون إخبار) المستخدم"),
    _foreign(
        "ignore-instructions",
        "התעלם; התעלמ; תשכח",
        r"(?:התעלם|התעלמ|תשכח)[^.\n]{0,12}(?:ההוראות|ההנחיות|הכללים)[^.\n]{0,8}(?:הקודמ|לעיל)",
    ),
    _foreign("secrecy", "למשתמש", r"(?:אל תספר|אל תגיד|בלי לספר) למשתמש"),
    _foreign(
        "ignore-instructions",
        "अनदेखा; नज़रअंदाज़; भूल",
        r"(?:पिछले|पूर्व|उपरोक्त|पहले)[^।.\n]{0,10}(?:निर्देश|आदेश|नियम)[^।.\n]{0,8}(?:अनदेखा|नज़रअंदाज़|भूल)",
    ),
    _foreign("secrecy", "उपयोगकर्ता", r"उपयोगकर्ता को[^।.\n]{0,16} (?:न|मत|नहीं) बता"),
    _foreign("ignore-instructions", "نادیده", r"دستور[^.\n]{0,10}(?:قبلی|پیشین|بالا)[^.\n]{0,8}نادیده"),
    _foreign("secrecy", "کاربر", r"به کاربر[^.\n]{0,10}(?:نگو|اطلاع نده)"),
    _foreign(
        "ignore-instructions",
        "гнорир; забуд",
        r"(?:игнорир|забуд)\w*(?: \w+){0,2} (?:предыдущ|прежн|вышеуказанн)\w*(?: \w+)? (?:инструкц|указан|правил)",
    ),
    _foreign("secrecy", "пользовател", r"не (?:говори|сообщай|рассказывай)\w*(?: об этом)? пользовател"),
)
"""Overrides and secrecy in scripts other than Latin; looked for only where `FOREIGN` meets."""
