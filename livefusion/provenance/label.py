"""What files and streams say of their pictures beside the pictures: for programs that look there first.

IPTC's digital source type (also C2PA's) for a picture that a camera took and a network changed; the ``AIGC``
entry of China's GB 45438-2025; and a line for people.
"""

import json

import livefusion
from livefusion.provenance.watermark import Watermark

SOURCE_TYPE = "compositeWithTrainedAlgorithmicMedia"
SOURCE_TYPE_URI = f"http://cv.iptc.org/newscodes/digitalsourcetype/{SOURCE_TYPE}"
"""A real picture with parts that were made by a trained model; one that is all made would be another type."""
COMMENT = "AI MODIFIED: faces in this video were changed by LiveFusion"
PRODUCER = "LiveFusion"
AIGC = "AIGC"
"""Name of the entry that GB 45438-2025 asks for."""


def content_id(mark: Watermark | None) -> str:
    """The name of a run in metadata: what its watermark says, in hexadecimal."""
    return "" if mark is None else f"{mark.payload.session:04x}-{mark.payload.key_id:02x}"


def stream_notice(mark: Watermark | None) -> bytes:
    """What goes into the stream itself, as UTF-8 JSON."""
    return json.dumps(
        {
            "tool": f"{PRODUCER} {livefusion.__version__}",
            "digitalSourceType": SOURCE_TYPE,
            "id": content_id(mark),
        },
        separators=(",", ":"),
    ).encode()


def file_tags(mark: Watermark | None) -> tuple[tuple[str, str], ...]:
    """Names and values for the metadata of a container."""
    aigc = {
        "Label": "1",  # it is generated or changed by AI, for certain
        "ContentProducer": PRODUCER,
        "ProduceID": content_id(mark),
        "ReservedCode1": "",
        "ContentPropagator": "",
        "PropagateID": "",
        "ReservedCode2": "",
    }
    return (
        ("comment", COMMENT),
        ("DigitalSourceType", SOURCE_TYPE_URI),
        (AIGC, json.dumps(aigc, separators=(",", ":"))),
    )


def xmp_packet() -> bytes:
    """The source type as an XMP packet (ISO 16684-1) in the IPTC extension schema."""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"'
        f' Iptc4xmpExt:DigitalSourceType="{SOURCE_TYPE_URI}"/>'
        '</rdf:RDF></x:xmpmeta><?xpacket end="r"?>'
    ).encode()
