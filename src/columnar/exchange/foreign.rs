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
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"\x1f\x9d", "compressed with compress", "decompress it first"),
    (b"PAR1", "a Parquet file", "import it as Parquet"),
    (b"PARE", "a Parquet file that is encrypted", "write it without encryption"),
    (b"ARROW1", "an Arrow file", "write the rows as an Arrow IPC stream"),
    (b"TDSm", "a TDMS file", "import it as TDMS"),
    (
        b"TDSh",
        "an index of a TDMS file (.tdms_index), which has no values",
        "import the .tdms file beside it",
    ),
    (b"\x89HDF", "an HDF5 file", "export it as CSV or Parquet"),
    (b"SQLite format 3\0", "a database of SQLite", "export its table as CSV"),
    (b"\x93NUMPY", "an array of NumPy", "write it as CSV or Parquet"),
    (b"MATLAB 5.0 MAT-file", "a file of MATLAB", "export it as CSV or Parquet"),
    (b"Obj\x01", "an Avro file", "write its rows as Parquet"),
    (b"%PDF-", "a PDF document", "export the rows as CSV where the document was made"),
    (b"\x89PNG", "a picture (PNG)", "store it as a file"),
    (b"\xff\xd8\xff", "a picture (JPEG)", "store it as a file"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8 (in spreadsheets: CSV UTF-8)"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8 (in spreadsheets: CSV UTF-8)"),
];
/// Bytes by which formats are told.
pub const START_BYTES: usize = 512;
/// Bytes that tell texts, also in UTF-16 without a mark.
const TEXT_BYTES: usize = 64;
/// The mark of a tar archive, and where it stands.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// What bytes that begin with the mark of a format are, and what to do.
#[must_use]
pub fn marked(bytes: &[u8]) -> Option<String> {
    // A mark of letters may be the beginning of a text.
    let is_binary = bytes.iter().any(|byte| *byte < b'\t' || (0x0e..0x1b).contains(byte));
    let marked = MARKS.iter().find(|(mark, ..)| {
        bytes.starts_with(mark) && (is_binary || !mark.iter().all(u8::is_ascii_alphanumeric))
    });
    let (what, advice) = match marked {
        Some((_, what, advice)) => (*what, *advice),
        None if is_tar(bytes) => ("a tar archive", "unpack it first"),
        None if is_zlib(bytes) => ("compressed with zlib", "decompress it first"),
        None => return None,
    };
    Some(format!("it is {what}; {advice}"))
}

/// Whether bytes begin with the header of a tar archive: a name that NUL bytes end, and a mark.
fn is_tar(bytes: &[u8]) -> bool {
    bytes
        .split_at_checked(TAR.0)
        .is_some_and(|(name, rest)| name.contains(&0) && rest.starts_with(TAR.1))
}

/// Whether bytes begin like zlib's, and not like a text that begins with an `x`.
fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [b'x', 0x01 | 0x9c | 0xda, ..])
        && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some())
}

/// What bytes that begin so are, and what to do, if they are known.
#[must_use]
pub fn known(bytes: &[u8]) -> Option<String> {
    if let Some(what) = marked(bytes) {
        return Some(what);
    }
    let nul = bytes.iter().position(|byte| *byte == 0)?;
    let start = bytes.get(..TEXT_BYTES).unwrap_or(bytes);
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
#[must_use]
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes
            .iter()
            .take(TEXT_BYTES)
            .all(|byte| (b' '..0x7f).contains(byte) || matches!(byte, b'\t' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_named_for_what_they_are() {
        let mut tar = [0; START_BYTES];
        tar[..5].copy_from_slice(b"a.csv");
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, part) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (b"\x28\xb5\x2f\xfd\0", "zstd"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"BZh91AY&SY\0", "bzip2"),
            (b"PK\x03\x04\x14\0", "zip"),
            (b"PAR1\x15\0", "a Parquet file"),
            (b"PARE\0\0\0\0PARE", "encrypted"),
            (b"SQLite format 3\0\x10\0\x01\x01\0\x40", "SQLite"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7z"),
            (b"\x93NUMPY\x01\0v\0{'descr': '<f8'}", "NumPy"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "picture"),
            (b"x\x9c\x4b\xcb\xcf\x4f\x4a\x2c\x02", "zlib"),
            (b"x\xda\x4b\xcb\xcf\x4f\x4a\x2c\x02", "zlib"),
            (b"x\x01\x4b\xcb\xcf\x4f\x4a\x2c\x02", "zlib"),
            (b"\x1f\x9d\x90\x61", "compress"),
            (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "PDF"),
            (&tar, "a tar archive"),
            (b"ARROW1\0\0", "an Arrow file"),
            (b"\xff\xfea\0", "UTF-16"),
            (b"a\0,\0b\0\n\0", "UTF-16"),
            (b"\0a\0,\0b", "UTF-16"),
            (b"\0\0\0\0", "only NUL bytes"),
            (b"a,b\n1,2\n\0\0\0\0", "NUL bytes from byte 9 on"),
        ] {
            let told = known(bytes).unwrap_or_default();
            assert!(told.contains(part), "{bytes:?}: {told}");
            // What a format is beside its NUL bytes is no file after a power cut.
            assert!(told.contains("NUL") == part.contains("NUL"), "{bytes:?}: {told}");
        }
        let texts = [
            "a,b\n1,2\n",
            "PAR1,BZh\n1,2\n",
            "",
            "SQLite format,PARE\n",
            "7z,x\n1,2\n",
            "x\u{680},y\n1,2\n",
            "x^,x\u{1},y\n",
            "ustar,%\n1,2\n",
        ];
        for text in texts {
            assert_eq!(known(text.as_bytes()), None, "{text:?}");
        }
        assert!(is_text(b"a,b") && !is_text(b"a\0") && !is_text(b""));
    }
}
