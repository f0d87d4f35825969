//! TDMS files, byte by byte.

/// What a segment has.
pub(crate) const METADATA: u32 = 2;
pub(crate) const NEW_LIST: u32 = 4;
pub(crate) const RAW: u32 = 8;
pub(crate) const INTERLEAVED: u32 = 32;
pub(crate) const WHOLE: u32 = METADATA | NEW_LIST | RAW;

/// Codes of types.
pub(crate) const I16: u32 = 2;
pub(crate) const I64: u32 = 4;
pub(crate) const U64: u32 = 8;
pub(crate) const F64: u32 = 10;
pub(crate) const EXTENDED: u32 = 11;
pub(crate) const TEXT: u32 = 0x20;
pub(crate) const TIME: u32 = 0x44;

/// The value of a property.
pub(crate) enum Property<'p> {
    Double(f64),
    Text(&'p str),
    /// Seconds and fractions since 1904.
    Time(i64, u64),
    /// A type, and its bytes.
    Other(u32, &'p [u8]),
}

pub(crate) fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text);
}

/// An object: its path, the index of its raw data, and its properties.
pub(crate) fn object(path: &str, index: &[u8], properties: &[(&str, Property<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, path.as_bytes());
    out.extend(index);
    out.extend((properties.len() as u32).to_le_bytes());
    for (name, value) in properties {
        text(&mut out, name.as_bytes());
        match value {
            Property::Double(value) => {
                out.extend(F64.to_le_bytes());
                out.extend(value.to_le_bytes());
            }
            Property::Text(value) => {
                out.extend(TEXT.to_le_bytes());
                text(&mut out, value.as_bytes());
            }
            Property::Time(seconds, fractions) => {
                out.extend(TIME.to_le_bytes());
                out.extend(fractions.to_le_bytes());
                out.extend(seconds.to_le_bytes());
            }
            Property::Other(kind, bytes) => {
                out.extend(kind.to_le_bytes());
                out.extend(*bytes);
            }
        }
    }
    out
}

/// The index of values of a type.
pub(crate) fn values(kind: u32, count: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [20, kind, 1] {
        out.extend(word.to_le_bytes());
    }
    out.extend(count.to_le_bytes());
    out
}

/// The index of texts.
pub(crate) fn texts_index(count: u64, bytes: u64) -> Vec<u8> {
    let mut out = values(TEXT, count);
    out[0] = 28;
    out.extend(bytes.to_le_bytes());
    out
}

/// The raw data of texts.
pub(crate) fn texts(all: &[&[u8]]) -> Vec<u8> {
    let (mut ends, mut at) = (Vec::new(), 0u32);
    for text in all {
        at += text.len() as u32;
        ends.extend(at.to_le_bytes());
    }
    ends.extend(all.concat());
    ends
}

/// No raw data in this segment.
pub(crate) const NO_DATA: [u8; 4] = [0xff; 4];

pub(crate) fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn metadata(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = (objects.len() as u32).to_le_bytes().to_vec();
    out.extend(objects.concat());
    out
}

/// A segment; `next` replaces the number of its bytes.
pub(crate) fn segment_of(
    contents: u32,
    metadata: &[u8],
    data: &[u8],
    next: Option<u64>,
) -> Vec<u8> {
    let mut out = b"TDSm".to_vec();
    out.extend(contents.to_le_bytes());
    out.extend(4713u32.to_le_bytes());
    let len = (metadata.len() + data.len()) as u64;
    out.extend(next.unwrap_or(len).to_le_bytes());
    out.extend((metadata.len() as u64).to_le_bytes());
    out.extend(metadata);
    out.extend(data);
    out
}

/// A segment that lists its objects.
pub(crate) fn segment(objects: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    segment_of(WHOLE, &metadata(objects), data, None)
}
