"""Brings one reading of a weather station into one form: JSON on standard input, JSON on standard output.

Exit status 65 says that this reading will never do; anything else but 0 would be tried again.
"""
import json
import re
import sys
from datetime import datetime, timezone

FORMS = ["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M", "%d %b %Y %H:%M"]  # UTC, where none is said
CELSIUS = {"C": lambda t: t, "F": lambda t: (t - 32) / 1.8, "K": lambda t: t - 273.15}


def when(text):
    for form in FORMS:
        try:
            at = datetime.strptime(text, form)
        except ValueError:
            continue
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    raise ValueError(f"{text!r} is no time that is known here")


def celsius(text):
    m = re.fullmatch(r"\s*([-−]?\d+(?:[.,]\d+)?)\s*°?\s*([CFK])\s*", text)
    if not m:
        raise ValueError(f"{text!r} is no temperature")
    t = CELSIUS[m[2]](float(m[1].replace("−", "-").replace(",", ".")))
    if not -90 <= t <= 60:
        raise ValueError(f"{text!r} was never measured on Earth")
    return round(t, 1)


try:
    reading = json.load(sys.stdin.buffer)
    result = {
        "station": reading["station"].strip().upper(),
        "at": when(reading["at"]).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "celsius": celsius(reading["temperature"]),
    }
except (ValueError, KeyError, TypeError, AttributeError) as fault:
    print(repr(fault), file=sys.stderr)
    sys.exit(65)
print(json.dumps(result))
