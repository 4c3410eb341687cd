"""Localised times, as Takeout pages and call logs contain them."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from contextune.importers.parsing.localized_times import parse_localized_time

LISBON = ZoneInfo("Europe/Lisbon")


@pytest.mark.parametrize(
    "text",
    [
        "May 16, 2024, 5:40:12\u202fPM GMT",
        "May 16, 2024, 5:40:12 PM UTC",
        "16 May 2024, 18:40:12 BST",
        "16.05.2024, 19:40:12 MESZ",
        "16 mai 2024, 19:40:12 CEST",
        "16 may 2024, 19:40:12 CEST",
        "16 mag 2024, 19:40:12 CEST",
        "16 mei 2024 19:40:12 CEST",
        "16 maj 2024, 19:40:12 CEST",
        "16 maj 2024 19:40:12 CEST",
        "16. mai 2024, 19:40:12 CEST",
        "16. 5. 2024 19:40:12 CEST",
        "16.5.2024 klo 20.40.12 EEST",
        "16 мая 2024 г., 20:40:12 MSK",
        "16 трав. 2024 р., 20:40:12 EEST",
        "16 de mai. de 2024, 14:40:12 BRT",
        "16 May 2024 20:40:12 TRT",
        "16 Μαΐ 2024, 8:40:12 μ.μ. EEST",
        "2024/05/17 2:40:12 JST",
        "2024. 5. 17. 오전 2:40:12 KST",
        "2024年5月17日 01:40:12 GMT+08:00",
        "16 May 2024, 23:10:12 GMT+5:30",
        "May 16, 2024, 10:40:12 AM PDT",
        "2024-05-16 17:40:12 UTC",
    ],
)
def test_same_time_in_many_languages(text: str) -> None:
    assert parse_localized_time(text) == datetime.fromisoformat("2024-05-16T17:40:12+00:00")


@pytest.mark.parametrize("month", range(1, 13))
@pytest.mark.parametrize(
    "names",
    [
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
        "Sept. Sept. Sept. Sept. Sept. Sept. Sept. Sept. Sept. Sept. Sept. Sept.",
        "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
        "ene feb mar abr may jun jul ago sept oct nov dic",
        "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
        "gen feb mar apr mag giu lug ago set ott nov dic",
        "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
        "sty lut mar kwi maj cze lip sie wrz paź lis gru",
        "янв. февр. мар. апр. мая июн. июл. авг. сент. окт. нояб. дек.",
        "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
        "jan. feb. mars apr. maj juni juli aug. sep. okt. nov. dec.",
        "tammik. helmik. maalisk. huhtik. toukok. kesäk. heinäk. elok. syysk. lokak. marrask. jouluk.",
    ],
)
def test_all_months_of_a_language(names: str, month: int) -> None:
    name = names.split()[month - 1]
    expected = 9 if name == "Sept." else month
    assert parse_localized_time(f"3 {name} 2024, 08:05:00") == datetime(2024, expected, 3, 8, 5)


def test_time_with_ambiguous_or_no_zone_is_local() -> None:
    assert parse_localized_time("May 16, 2024, 5:40:12 PM") == datetime(2024, 5, 16, 17, 40, 12)
    assert parse_localized_time("May 16, 2024, 5:40:12 PM IST", LISBON) == datetime(2024, 5, 16, 17, 40, 12)
    jerusalem = parse_localized_time("May 16, 2024, 5:40:12 PM IDT", ZoneInfo("Asia/Jerusalem"))
    assert jerusalem == datetime.fromisoformat("2024-05-16T17:40:12+03:00")


def test_repeated_hour_in_autumn_is_resolved_by_its_abbreviation() -> None:
    first = parse_localized_time("29 Oct 2023, 01:30:00 WEST", LISBON)
    second = parse_localized_time("29 Oct 2023, 01:30:00 WET", LISBON)
    assert first == datetime.fromisoformat("2023-10-29T01:30+01:00")
    assert second == datetime.fromisoformat("2023-10-29T01:30+00:00")


@pytest.mark.parametrize("text", ["12:05:00 AM", "12:05:00 a. m."])
def test_twelve_am_is_midnight(text: str) -> None:
    assert parse_localized_time(f"May 16, 2024, {text}") == datetime(2024, 5, 16, 0, 5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a while ago",
        "May 16, 2024",
        "5:40:12 PM",
        "Mai 35, 2024, 17:40:12",
        "May 16, 2024, 25:40:12",
        "May 16, 2024, 13:40:12 PM",
        "5/6/2024, 17:40:12",
        "1.2.3, 17:40",
        "Foo 16, 2024, 17:40:12",
        "Jan 0, 0000, 0:00:00 AM PST",
        "May 16, 2024, 5:40:12 PM GMT+99:00",
        "9" * 5000 + ":40",
    ],
)
def test_missing_and_ambiguous_times_are_none(text: str) -> None:
    assert parse_localized_time(text) is None


def test_unambiguous_numeric_dates() -> None:
    time = datetime(2024, 5, 16, 17, 40)
    assert parse_localized_time("16/05/2024, 17:40") == parse_localized_time("5/16/2024, 17:40") == time
    assert parse_localized_time("5/5/2024, 17:40") == datetime(2024, 5, 5, 17, 40)
