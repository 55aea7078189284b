"""Which zone somebody means who writes a name that is none: abbreviations, cities, names of Windows, offsets.

Promise: the zone that is told keeps the time that the name keeps, or it differs from it by a letter or two; where neither
is so, none is told.  Rule of the file: hints only, read on the way to a refusal.
"""

from __future__ import annotations

import re
import zoneinfo
from difflib import get_close_matches

_KNOWN = {
    # abbreviations; those of two zones name both
    "cst": "Asia/Shanghai or America/Chicago",
    "ist": "Asia/Kolkata",
    "bst": "Europe/London",
    "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pt": "America/Los_Angeles",
    "mdt": "America/Denver", "mt": "America/Denver",
    "cdt": "America/Chicago", "ct": "America/Chicago",
    "edt": "America/New_York", "et": "America/New_York",
    "akst": "America/Anchorage", "akdt": "America/Anchorage", "ast": "America/Halifax", "adt": "America/Halifax",
    "nst": "America/St_Johns", "ndt": "America/St_Johns",
    "cest": "Europe/Berlin", "mez": "Europe/Berlin", "mesz": "Europe/Berlin", "eest": "Europe/Helsinki",
    "west": "Europe/Lisbon", "msk": "Europe/Moscow", "trt": "Europe/Istanbul",
    "jst": "Asia/Tokyo", "kst": "Asia/Seoul", "hkt": "Asia/Hong_Kong", "sgt": "Asia/Singapore", "pht": "Asia/Manila",
    "ict": "Asia/Bangkok", "wib": "Asia/Jakarta", "gst": "Asia/Dubai", "irst": "Asia/Tehran", "pkt": "Asia/Karachi",
    "npt": "Asia/Kathmandu", "idt": "Asia/Jerusalem",
    "aest": "Australia/Sydney", "aedt": "Australia/Sydney", "acst": "Australia/Adelaide", "acdt": "Australia/Adelaide",
    "awst": "Australia/Perth", "nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland",
    "brt": "America/Sao_Paulo", "art": "America/Argentina/Buenos_Aires", "clt": "America/Santiago",
    "cot": "America/Bogota", "pet": "America/Lima",
    "wat": "Africa/Lagos", "cat": "Africa/Maputo", "eat": "Africa/Nairobi", "sast": "Africa/Johannesburg",
    "z": "UTC", "zulu time": "UTC", "coordinated universal time": "UTC",
    # cities and countries that have no zone of their own name
    "beijing": "Asia/Shanghai", "china": "Asia/Shanghai", "shenzhen": "Asia/Shanghai", "guangzhou": "Asia/Shanghai",
    "hangzhou": "Asia/Shanghai", "mumbai": "Asia/Kolkata", "delhi": "Asia/Kolkata", "new_delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata", "bengaluru": "Asia/Kolkata", "chennai": "Asia/Kolkata", "india": "Asia/Kolkata",
    "hanoi": "Asia/Ho_Chi_Minh", "vietnam": "Asia/Ho_Chi_Minh", "osaka": "Asia/Tokyo", "abu_dhabi": "Asia/Dubai",
    "islamabad": "Asia/Karachi", "tel_aviv": "Asia/Jerusalem", "korea": "Asia/Seoul",
    "germany": "Europe/Berlin", "munich": "Europe/Berlin", "frankfurt": "Europe/Berlin", "hamburg": "Europe/Berlin",
    "france": "Europe/Paris", "italy": "Europe/Rome", "milan": "Europe/Rome", "barcelona": "Europe/Madrid",
    "uk": "Europe/London", "england": "Europe/London", "geneva": "Europe/Zurich", "switzerland": "Europe/Zurich",
    "st_petersburg": "Europe/Moscow", "netherlands": "Europe/Amsterdam",
    "nyc": "America/New_York", "newyork": "America/New_York", "boston": "America/New_York",
    "washington": "America/New_York", "miami": "America/New_York", "atlanta": "America/New_York",
    "san_francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles", "las_vegas": "America/Los_Angeles",
    "dallas": "America/Chicago", "houston": "America/Chicago", "austin": "America/Chicago",
    "montreal": "America/Toronto", "ottawa": "America/Toronto", "rio_de_janeiro": "America/Sao_Paulo",
    "buenos_aires": "America/Argentina/Buenos_Aires", "canberra": "Australia/Sydney", "wellington": "Pacific/Auckland",
    "cape_town": "Africa/Johannesburg",
    "eastern": "America/New_York", "central": "America/Chicago", "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
}  # fmt: skip
"""Names that people and other systems use, small letters, with the zone that is most likely meant."""
_WINDOWS = {
    "alaskan": "America/Anchorage", "arab": "Asia/Riyadh", "arabian": "Asia/Dubai",
    "argentina": "America/Argentina/Buenos_Aires", "aus central": "Australia/Darwin",
    "aus eastern": "Australia/Sydney", "cen. australia": "Australia/Adelaide", "central": "America/Chicago",
    "central europe": "Europe/Budapest", "central european": "Europe/Warsaw", "china": "Asia/Shanghai",
    "e. australia": "Australia/Brisbane", "e. south america": "America/Sao_Paulo", "eastern": "America/New_York",
    "egypt": "Africa/Cairo", "fle": "Europe/Kyiv", "gmt": "Europe/London", "gtb": "Europe/Bucharest",
    "hawaiian": "Pacific/Honolulu", "india": "Asia/Kolkata", "iran": "Asia/Tehran", "israel": "Asia/Jerusalem",
    "korea": "Asia/Seoul", "mountain": "America/Denver", "new zealand": "Pacific/Auckland",
    "pacific": "America/Los_Angeles", "pakistan": "Asia/Karachi", "romance": "Europe/Paris", "russian": "Europe/Moscow",
    "sa pacific": "America/Bogota", "se asia": "Asia/Bangkok", "singapore": "Asia/Singapore",
    "south africa": "Africa/Johannesburg", "taipei": "Asia/Taipei", "tokyo": "Asia/Tokyo", "turkey": "Europe/Istanbul",
    "us mountain": "America/Phoenix", "w. australia": "Australia/Perth", "w. europe": "Europe/Berlin",
}  # fmt: skip
"""What stands before ``Standard Time`` in the names of Windows, small letters."""
_HALF_HOURS = {
    "+05:30": "Asia/Kolkata", "+05:45": "Asia/Kathmandu", "+03:30": "Asia/Tehran", "+04:30": "Asia/Kabul",
    "+06:30": "Asia/Yangon", "+09:30": "Australia/Darwin", "-03:30": "America/St_Johns",
}  # fmt: skip
_OFFSET = re.compile(r"(?:etc/utc|utc|gmt)?\s*([+-])0?(\d{1,2})(?::?(00|30|45))?")
_WESTWARDS = re.compile(r"etc[/_ ]gmt([+-])0?(\d{1,2})")


def meant(name: str) -> str:
    """Return the zone of an unknown name, empty when nobody can tell."""
    text = re.sub(r"\s+", " ", name.strip().lower())
    if match := _OFFSET.fullmatch(text):
        return _of_offset(match[1], int(match[2]), match[3] or "00")
    if match := _WESTWARDS.fullmatch(text):  # written as those zones are, only not quite
        return _of_offset("-" if match[1] == "+" else "+", int(match[2]), "00")
    if (match := re.fullmatch(r"(.+) (?:standard|daylight|summer) time|(.+) time", text)) is not None:
        return _WINDOWS.get(match[1] or match[2], _KNOWN.get(text, ""))
    words = text.replace(" ", "_").replace("-", "_")
    names = zoneinfo.available_timezones()
    folded = {known.lower().replace("-", "_"): known for known in sorted(names)}
    if words in folded:
        return folded[words]
    region, _, city = words.rpartition("/")
    if known := _KNOWN.get(text) or _KNOWN.get(city):
        return known
    cities = {known.rpartition("/")[2].lower(): known for known in sorted(names, reverse=True) if "/" in known}
    if not region and words in cities:
        return cities[words]
    return _misspelt(words, region, city, folded, cities)


def _misspelt(words: str, region: str, city: str, folded: dict[str, str], cities: dict[str, str]) -> str:
    """A letter or two of a long name may be wrong; short names are each other's neighbours."""
    if region:
        near = get_close_matches(words, folded, n=1, cutoff=0.85)
        if near:
            return folded[near[0]]
    if len(city) < 6:
        return ""
    near = get_close_matches(city, {**cities, **_KNOWN}, n=1, cutoff=0.85)
    return (_KNOWN.get(near[0]) or cities[near[0]]) if near else ""


def _of_offset(sign: str, hours: int, minutes: str) -> str:
    if minutes != "00":
        return _HALF_HOURS.get(f"{sign}{hours:02d}:{minutes}", "")
    # The Etc zones count westwards, which surprises everybody once.
    wanted = "UTC" if hours == 0 else f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    return wanted if wanted in zoneinfo.available_timezones() else ""
