"""Messages of SMS Backup & Restore: SMS, MMS of one and of several people, pictures of megabytes."""

from pathlib import Path

from tests.importers.reading_files import INES, NOW, fields_in, read_path, skipped_in

from contextune.importers.run import import_into
from contextune.store import SQLiteStore
from contextune.types import UsageEvent

SMS = (
    '<sms protocol="0" address="{address}" date="1715590000000" type="{type}" subject="null" body="{body}" '
    'read="1" status="-1" contact_name="{name}" />'
)
MMS = """
<mms date="1715590060000" msg_box="{box}" address="{address}" contact_name="{name}" sub="{sub}" m_type="132">
  <parts>
    <part seq="-1" ct="application/smil" name="null" cl="smil.xml" text="&lt;smil/&gt;" />
    <part seq="0" ct="image/jpeg" name="a.jpg" cl="a.jpg" text="null" data="{data}" />
    <part seq="0" ct="text/plain" name="null" cl="t.txt" text="{text}" />
  </parts>
  <addrs>
    <addr address="{sender}" type="137" charset="106" />
    <addr address="+351911111111" type="151" charset="106" />
    <addr address="+351922222222" type="151" charset="106" />
  </addrs>
</mms>"""


def backup(tmp_path: Path, *messages: str) -> Path:
    path = tmp_path / "files" / "sms-20240516.xml"
    path.parent.mkdir(exist_ok=True)
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<?xml-stylesheet type=\"text/xsl\"?>\n"
    path.write_text(f'{head}<smses count="{len(messages)}">\n' + "\n".join(messages) + "\n</smses>")
    return path


def sms(body: str, kind: int = 1, address: str = "+351912345678", name: str = "(Unknown)") -> str:
    return SMS.format(body=body, type=kind, address=address, name=name)


def test_received_and_sent_messages(tmp_path: Path) -> None:
    path = backup(
        tmp_path,
        sms("Kiln free? &#55357;&#56832;&#10;Marta", name="Marta Silva"),
        sms("Yes", 2, name="Marta Silva"),
        sms("unfinished", 3),
        sms("not sent", 5),
        sms("Your code is 1234", address="BANK"),
        sms("null"),
    )
    received, sent, code = fields_in(path)
    assert received == {
        "text": "Kiln free? 😀\nMarta",
        "sender": "Marta Silva",
        "service": "SMS",
        "date": "2024-05-13T08:46:40+00:00",
    }
    assert (sent["sender"], sent["recipients"]) == ("Ines Duarte", ["Marta Silva"])
    assert code["sender"] == "BANK"
    assert skipped_in(path) == ["draft or unsent message", "draft or unsent message", "empty message"]


def test_multimedia_messages_with_large_pictures(tmp_path: Path) -> None:
    picture = "QUJD" * 700_000  # several chunks, and more than the limit of an element
    path = backup(
        tmp_path,
        MMS.format(
            box=1, address="+351912345678", name="Marta Silva", sub="null", data=picture, text="The bowls",
            sender="+351912345678",
        ),
        MMS.format(
            box=1, address="+351912345678~+351922222222", name="Marta Silva, Rui", sub="proto:x", data="QQ==",
            text="For both", sender="+351922222222",
        ),
        MMS.format(
            box=2, address="+351912345678", name="Marta Silva", sub="Bowls", data=picture, text="null",
            sender="insert-address-token",
        ),
        sms("after the pictures"),
    )  # fmt: skip
    single, group, sent, last = fields_in(path)
    assert (single["sender"], single["text"]) == ("Marta Silva", "The bowls")
    assert (group["sender"], group["chat"], group["text"]) == (
        "+351922222222",
        "Marta Silva, Rui",
        "For both",
    )
    assert (sent["text"], sent["recipients"]) == ("Bowls", ["+351911111111", "+351922222222"])
    assert last["text"] == "after the pictures"
    assert not any(isinstance(record, UsageEvent) for record in read_path(path))


def test_numbers_are_named_by_contacts_of_the_same_import(tmp_path: Path, store: SQLiteStore) -> None:
    store.put_user(INES)
    path = backup(tmp_path, sms("Kiln free?"), sms("Yes", 2))
    (path.parent / "zz.vcf").write_text(
        "BEGIN:VCARD\nVERSION:3.0\nFN:Marta Silva\nTEL:912 345 678\nEND:VCARD\n"
    )
    import_into(store, "ines", [path.parent], now=NOW)
    people = [(item.fields["sender"], item.fields.get("recipients")) for item in store.items("ines")]
    assert sorted(people, key=str) == [("Ines Duarte", ["Marta Silva"]), ("Marta Silva", None)]
    again = import_into(store, "ines", [path.parent], now=NOW)
    assert (again.new, again.changed) == (0, 0)


def test_truncated_backup_is_read_to_its_break(tmp_path: Path) -> None:
    path = backup(tmp_path, sms("one"), sms("two"))
    path.write_text(path.read_text()[:-60])
    assert [fields["text"] for fields in fields_in(path)] == ["one"]
    assert skipped_in(path) == ["broken XML from here on"]


def test_backup_without_messages_is_reported(tmp_path: Path) -> None:
    assert skipped_in(backup(tmp_path)) == ["no messages in the file"]


def test_dates_in_seconds_are_read(tmp_path: Path) -> None:
    path = backup(tmp_path, sms("by another program").replace("1715590000000", "1715590000"))
    assert [fields["date"] for fields in fields_in(path)] == ["2024-05-13T08:46:40+00:00"]
