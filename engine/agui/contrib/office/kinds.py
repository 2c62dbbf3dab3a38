"""The kinds of files, by their media types."""

OPEN_XML = "application/vnd.openxmlformats-officedocument."
OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
DOCX = OPEN_XML + "wordprocessingml.document"
XLSX = OPEN_XML + "spreadsheetml.sheet"
PPTX = OPEN_XML + "presentationml.presentation"
ODT, ODS, ODP = (OPEN_DOCUMENT + kind for kind in ("text", "spreadsheet", "presentation"))
XLS = "application/vnd.ms-excel"
MAIL = "message/rfc822"

# What users call the types.
KINDS = {
    DOCX: "DOCX",
    XLSX: "XLSX",
    PPTX: "PPTX",
    ODT: "ODT",
    ODS: "ODS",
    ODP: "ODP",
    XLS: "XLS",
    MAIL: "EML",
}

ZIP = b"PK\x03\x04"
