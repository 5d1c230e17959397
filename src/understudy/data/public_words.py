"""Words that everybody knows, in lists: whoever has seen some of them in a column may ask for the
others by name, so that none has to be frequent to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_COUNTRIES = """
Afghanistan, Albania, Algeria, Andorra, Angola, Antigua and Barbuda, Argentina, Armenia, Australia,
Austria, Azerbaijan, Bahamas, Bahrain, Bangladesh, Barbados, Belarus, Belgium, Belize, Benin,
Bermuda, Bhutan, Bolivia, Bosnia and Herzegovina, Botswana, Brazil, Brunei, Bulgaria, Burkina Faso,
Burundi, Cambodia, Cameroon, Canada, Cape Verde, Central African Republic, Chad, Chile, China,
Colombia, Columbia, Comoros, Congo, Costa Rica, Croatia, Cuba, Cyprus, Czechia, Czech Republic,
Denmark, Djibouti, Dominica, Dominican Republic, Ecuador, Egypt, El Salvador, England,
Equatorial Guinea, Eritrea, Estonia, Eswatini, Ethiopia, Fiji, Finland, France, Gabon, Gambia,
Georgia, Germany, Ghana, Great Britain, Greece, Greenland, Grenada, Guam, Guatemala, Guinea,
Guinea Bissau, Guyana, Haiti, Honduras, Hong Kong, Hungary, Iceland, India, Indonesia, Iran, Iraq,
Ireland, Israel, Italy, Ivory Coast, Jamaica, Japan, Jordan, Kazakhstan, Kenya, Kiribati, Korea,
Kosovo, Kuwait, Kyrgyzstan, Laos, Latvia, Lebanon, Lesotho, Liberia, Libya, Liechtenstein,
Lithuania, Luxembourg, Macau, Madagascar, Malawi, Malaysia, Maldives, Mali, Malta,
Marshall Islands, Mauritania, Mauritius, Mexico, Micronesia, Moldova, Monaco, Mongolia, Montenegro,
Morocco, Mozambique, Myanmar, Namibia, Nauru, Nepal, Netherlands, New Zealand, Nicaragua, Niger,
Nigeria, North Korea, North Macedonia, Northern Ireland, Norway, Oman, Pakistan, Palau, Palestine,
Panama, Papua New Guinea, Paraguay, Peru, Philippines, Poland, Portugal, Puerto Rico, Qatar,
Romania, Russia, Russian Federation, Rwanda, Saint Kitts and Nevis, Saint Lucia, Samoa, San Marino,
Saudi Arabia, Scotland, Senegal, Serbia, Seychelles, Sierra Leone, Singapore, Slovakia, Slovenia,
Solomon Islands, Somalia, South Africa, South Korea, South Sudan, Spain, Sri Lanka, Sudan,
Suriname, Sweden, Switzerland, Syria, Taiwan, Tajikistan, Tanzania, Thailand, Timor Leste, Togo,
Tonga, Trinidad and Tobago, Tunisia, Turkey, Turkmenistan, Tuvalu, Uganda, Ukraine,
United Arab Emirates, United Kingdom, United States, United States of America, UK, USA, Uruguay,
Uzbekistan, Vanuatu, Venezuela, Vietnam, Wales, Yemen, Yugoslavia, Zambia, Zimbabwe
"""

_COUNTRY_CODES = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT
BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH
ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT
HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS
LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI
NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG
SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG
UK UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
"""

_LONG_COUNTRY_CODES = """
AFG ALB DZA AND AGO ARG ARM AUS AUT AZE BHS BHR BGD BRB BLR BEL BLZ BEN BTN BOL BIH BWA BRA BRN BGR
BFA BDI KHM CMR CAN CPV CAF TCD CHL CHN COL COM COG COD CRI CIV HRV CUB CYP CZE DNK DJI DMA DOM ECU
EGY SLV GNQ ERI EST SWZ ETH FJI FIN FRA GAB GMB GEO DEU GHA GRC GRD GTM GIN GNB GUY HTI HND HKG HUN
ISL IND IDN IRN IRQ IRL ISR ITA JAM JPN JOR KAZ KEN KOR PRK KWT KGZ LAO LVA LBN LSO LBR LBY LIE LTU
LUX MDG MWI MYS MDV MLI MLT MRT MUS MEX MDA MCO MNG MNE MAR MOZ MMR NAM NPL NLD NZL NIC NER NGA MKD
NOR OMN PAK PAN PNG PRY PER PHL POL PRT PRI QAT ROU RUS RWA SAU SEN SRB SYC SLE SGP SVK SVN SOM ZAF
SSD ESP LKA SDN SUR SWE CHE SYR TWN TJK TZA THA TLS TGO TTO TUN TUR TKM UGA UKR ARE GBR USA URY UZB
VEN VNM YEM ZMB ZWE
"""

_STATES = """
Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware,
District of Columbia, Florida, Georgia, Hawaii, Idaho, Illinois, Indiana, Iowa, Kansas, Kentucky,
Louisiana, Maine, Maryland, Massachusetts, Michigan, Minnesota, Mississippi, Missouri, Montana,
Nebraska, Nevada, New Hampshire, New Jersey, New Mexico, New York, North Carolina, North Dakota,
Ohio, Oklahoma, Oregon, Pennsylvania, Puerto Rico, Rhode Island, South Carolina, South Dakota,
Tennessee, Texas, Utah, Vermont, Virginia, Washington, West Virginia, Wisconsin, Wyoming
"""

_STATE_CODES = """
AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY
NC ND OH OK OR PA PR RI SC SD TN TX UT VT VA WA WV WI WY
"""


def _names(text: str) -> tuple[str, ...]:
    return tuple(" ".join(name.split()) for name in text.split(","))


LISTS = (
    _names(_COUNTRIES),
    tuple(_COUNTRY_CODES.split()),
    tuple(_LONG_COUNTRY_CODES.split()),
    _names(_STATES),
    tuple(_STATE_CODES.split()),
)
"""Countries by name, by two and by three letters; states of the USA by name and by two letters."""

_SPACES = (" ", "-", "_")

LISTED_SHARE = 0.75
"""Of the words of a column: where a list has this many, it is asked for the others."""


def is_listed(word: str) -> bool:
    """Whether a word is on some list, however it is written."""
    return _plain(word) in _all_words()


def find_others(words: Iterable[str]) -> list[str]:
    """The other words of each list that has most of some words, written as they are."""
    seen = [word for word in words if any(letter.isalpha() for letter in word)]
    plain = {_plain(word) for word in seen}
    found: set[str] = set()
    for listed, keys in zip(LISTS, _keys(), strict=True):
        if seen and len(plain & keys) >= LISTED_SHARE * len(seen):
            found |= {_write(word, seen) for word in listed}
    return sorted(found - set(seen))


def _plain(word: str) -> str:
    return re.sub(r"[-_ ]+", " ", word.strip()).casefold()


def _write(word: str, like: list[str]) -> str:
    """A word with the case and the spaces that some others have."""
    between = next((sign for sign in _SPACES for other in like if sign in other.strip()), " ")
    word = word.replace(" ", between)
    if all(other.isupper() for other in like):
        return word.upper()
    if all(other.islower() for other in like):
        return word.lower()
    return word


@cache
def _keys() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(_plain, listed)) for listed in LISTS)


@cache
def _all_words() -> frozenset[str]:
    return frozenset().union(*_keys())
