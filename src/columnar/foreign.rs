//! What bytes are that are not of the format that was expected, for messages.

/// The mark of a format at the start of its bytes, its name, and what to do.
const MARKS: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "compressed with gzip", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "decompress it first"),
    (b"\xfd7zXZ\0", "compressed with xz", "decompress it first"),
    (b"BZh", "compressed with bzip2", "decompress it first"),
    (b"\x04\x22\x4d\x18", "compressed with LZ4", "decompress it first"),
    (
        b"PK\x03\x04",
        "a zip archive, as the workbooks of spreadsheets are",
        "unpack it, or save the sheet as CSV UTF-8",
    ),
    (b"\xd0\xcf\x11\xe0", "an old workbook of a spreadsheet", "save the sheet as CSV UTF-8"),
    (b"PAR1", "a Parquet file", "import it as Parquet"),
    (b"ARROW1", "an Arrow file", "write the rows as an Arrow IPC stream"),
    (b"TDSm", "a TDMS file", "export it as CSV"),
    (b"\x89HDF", "an HDF5 file", "export it as CSV or Parquet"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8 (in spreadsheets: CSV UTF-8)"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8 (in spreadsheets: CSV UTF-8)"),
];
/// Bytes that tell texts in UTF-16 without a mark.
const UTF_16_BYTES: usize = 64;

/// What bytes that begin with the mark of a format are, and what to do.
pub(super) fn marked(bytes: &[u8]) -> Option<String> {
    // A mark of letters may be the beginning of a text.
    let is_binary = bytes.iter().any(|byte| *byte < b'\t' || (0x0e..0x1b).contains(byte));
    let marked = MARKS.iter().find(|(mark, ..)| {
        bytes.starts_with(mark) && (is_binary || !mark.iter().all(u8::is_ascii_alphanumeric))
    });
    marked.map(|(_, what, advice)| format!("it is {what}; {advice}"))
}

/// What bytes that begin so are, and what to do, if they are known.
pub(super) fn known(bytes: &[u8]) -> Option<String> {
    if let Some(what) = marked(bytes) {
        return Some(what);
    }
    let nul = bytes.iter().position(|byte| *byte == 0)?;
    let start = bytes.get(..UTF_16_BYTES).unwrap_or(bytes);
    let zeros = |from: usize| start.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    // Every second byte of common letters in UTF-16 is zero.
    if let (Some(_), half) = (start.get(1), start.len() / 2)
        && (zeros(0) == 0 && zeros(1) == half || zeros(1) == 0 && zeros(0) >= half)
    {
        return Some(
            "it is perhaps text in UTF-16; save it as UTF-8 (in spreadsheets: CSV UTF-8)"
                .to_owned(),
        );
    }
    let is_all = bytes.iter().all(|byte| *byte == 0);
    Some(if is_all {
        "it is only NUL bytes, as a file is whose contents a power cut lost; write it again"
            .to_owned()
    } else {
        format!(
            "it has NUL bytes from byte {} on, as a file may after a power cut; write it again, \
             or cut it there",
            nul + 1
        )
    })
}

/// Whether bytes begin like a text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes
            .iter()
            .all(|byte| (b' '..0x7f).contains(byte) || matches!(byte, b'\t' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_named_for_what_they_are() {
        for (bytes, part) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (b"\x28\xb5\x2f\xfd\0", "zstd"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"BZh91AY&SY\0", "bzip2"),
            (b"PK\x03\x04\x14\0", "zip"),
            (b"PAR1\x15\0", "a Parquet file"),
            (b"ARROW1\0\0", "an Arrow file"),
            (b"\xff\xfea\0", "UTF-16"),
            (b"a\0,\0b\0\n\0", "UTF-16"),
            (b"\0a\0,\0b", "UTF-16"),
            (b"\0\0\0\0", "only NUL bytes"),
            (b"a,b\n1,2\n\0\0\0\0", "NUL bytes from byte 9 on"),
        ] {
            let told = known(bytes).unwrap_or_default();
            assert!(told.contains(part), "{bytes:?}: {told}");
        }
        for text in [&b"a,b\n1,2\n"[..], b"PAR1,BZh\n1,2\n", b""] {
            assert_eq!(known(text), None);
        }
        assert!(is_text(b"a,b") && !is_text(b"a\0") && !is_text(b""));
    }
}
