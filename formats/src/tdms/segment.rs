//! A segment of a file: its lead-in, and the objects of its metadata.

use std::sync::Arc;

use stationdb::{Error, Result};

use super::extended::{self, Lost};
use super::fields::Fields;
use super::input::damaged;
use super::types::{Kind, Value};
use super::unread::{self, Unread};

/// What a segment of a file begins with.
pub(super) const MARK: &[u8; 4] = b"TDSm";
/// What a segment of an index file begins with.
pub(super) const INDEX_MARK: &[u8; 4] = b"TDSh";
/// Bytes of a lead-in.
pub(super) const LEAD_IN: u64 = 28;

const METADATA: u32 = 1 << 1;
const NEW_LIST: u32 = 1 << 2;
const INTERLEAVED: u32 = 1 << 5;
const BIG_ENDIAN: u32 = 1 << 6;

/// The raw data of an object is absent in this segment.
const NO_DATA: u32 = u32::MAX;
/// The raw data of an object is as in the segment before.
const AS_BEFORE: u32 = 0;
const FORMAT_CHANGING: u32 = 0x1269;
const DIGITAL_LINE: u32 = 0x126a;
const DAQMX_RAW: u32 = u32::MAX;

/// The lead-in of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeadIn {
    pub(super) at: u64,
    pub(super) has_metadata: bool,
    /// Whether the objects of segments before do not count.
    pub(super) is_new_list: bool,
    pub(super) is_interleaved: bool,
    pub(super) is_big: bool,
    pub(super) version: u32,
    /// The first byte of raw data; `None` beyond all files.
    pub(super) data: Option<u64>,
    /// The end of the segment; `None` for one that was not finished.
    pub(super) end: Option<u64>,
}

impl LeadIn {
    /// Reads the lead-in at a position.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(super) fn read(bytes: &[u8], at: u64) -> Result<Self> {
        let mut fields = Fields::new(bytes, at, false);
        if fields.take(4)? != MARK {
            return Err(damaged(at, "a segment does not begin with TDSm"));
        }
        let contents = fields.u32()?;
        let is = |bit: u32| contents & bit != 0;
        let mut fields = Fields::new(bytes.get(8..).unwrap_or_default(), at + 8, is(BIG_ENDIAN));
        let (version, next, data) = (fields.u32()?, fields.u64()?, fields.u64()?);
        let behind = |offset: u64| offset.checked_add(at + LEAD_IN);
        Ok(Self {
            at,
            has_metadata: is(METADATA),
            is_new_list: is(NEW_LIST),
            is_interleaved: is(INTERLEAVED),
            is_big: is(BIG_ENDIAN),
            version,
            data: behind(data),
            end: if next == u64::MAX { None } else { behind(next) },
        })
    }
}

/// How the raw data of an object lies in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawIndex {
    /// As values of a type. `bytes` is their number in a chunk.
    Plain { kind: Kind, count: u64, bytes: u64 },
    /// As values of a type that is not read.
    Unread(Unread),
    /// In the buffers of devices.
    Daqmx(Arc<Daqmx>),
}

/// The raw data of an object in the buffers of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Daqmx {
    /// Whether the values of all scalers are raw data, from which the scales of the channel compute
    /// its values.
    pub(super) is_raw: bool,
    /// Values of a chunk.
    pub(super) count: u64,
    pub(super) scalers: Vec<Scaler>,
    /// Bytes of a row of each buffer.
    pub(super) widths: Vec<u32>,
}

/// Where the raw values of a DAQmx channel lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaler {
    pub(super) kind: Kind,
    pub(super) buffer: u32,
    /// Bytes in a row before the value.
    pub(super) offset: u32,
    /// The bit of the value that counts, for a digital line.
    pub(super) bit: Option<u8>,
    /// The scale that takes the values.
    pub(super) id: u32,
}

/// What metadata says of the raw data of an object.
#[derive(Clone, Debug)]
pub(super) enum RawData {
    Absent,
    AsBefore,
    New(RawIndex),
}

/// An object of metadata.
pub(super) struct ObjectFields<'b> {
    pub(super) path: &'b [u8],
    /// The position of the path.
    pub(super) at: u64,
    pub(super) raw: RawData,
    pub(super) properties: Vec<(String, Option<Value>)>,
    /// How many properties are extended-precision floats, and what doubles lose of these.
    pub(super) extended: usize,
    pub(super) lost: Lost,
}

impl<'b> ObjectFields<'b> {
    /// Reads the objects of metadata that begin at a position.
    ///
    /// Extended-precision floats among the properties may have several sizes. One is taken with which
    /// the metadata end where their segment says.
    ///
    /// # Errors
    /// `InvalidArgument` for damaged metadata; `Unsupported` for a type whose size is not known.
    pub(super) fn all(bytes: &'b [u8], at: u64, is_big: bool) -> Result<Vec<Self>> {
        let (mut failed, mut is_misled) = (None, false);
        for size in unread::EXTENDED_BYTES {
            let mut fields = Fields::new(bytes, at, is_big);
            let found = fields.count(12, "objects").and_then(|count| {
                (0..count)
                    .map(|_| Self::read(&mut fields, size as usize))
                    .collect::<Result<Vec<_>>>()
            });
            match found {
                Ok(objects)
                    if fields.is_at_end() || objects.iter().all(|object| object.extended == 0) =>
                {
                    return Ok(objects);
                }
                Ok(_) => is_misled = true,
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        match failed.filter(|_| !is_misled) {
            Some(error) => Err(error),
            None => Err(Error::unsupported(format!(
                "a property in the metadata at byte {at} of the TDMS file is an extended-precision \
                 float, and in none of the sizes of these its bytes lead to the end of the metadata; \
                 write another value, or leave it out"
            ))),
        }
    }

    /// Reads the next object. An extended-precision float takes `size` bytes.
    fn read(fields: &mut Fields<'b>, size: usize) -> Result<Self> {
        let at = fields.position();
        let path = fields.text()?;
        let raw = match fields.u32()? {
            NO_DATA => RawData::Absent,
            AS_BEFORE => RawData::AsBefore,
            header @ (FORMAT_CHANGING | DIGITAL_LINE) => {
                let daqmx = Daqmx::read(fields, header == DIGITAL_LINE)?;
                RawData::New(RawIndex::Daqmx(Arc::new(daqmx)))
            }
            len => {
                let at = fields.position();
                let code = fields.u32()?;
                RawData::New(match Kind::of_code(code) {
                    Some(kind) => plain(fields, kind)?,
                    None => RawIndex::Unread(Unread::read(fields, len, code, at)?),
                })
            }
        };
        let count = fields.count(8, "properties")?;
        let mut properties = Vec::with_capacity(count);
        let (mut extended, mut lost) = (0, Lost::default());
        for _ in 0..count {
            let name = String::from_utf8_lossy(fields.text()?).into_owned();
            let at = fields.position();
            let code = fields.u32()?;
            match Kind::of_code(code) {
                Some(kind) => properties.push((name, Value::read(fields, kind)?)),
                None if unread::is_extended(code) => {
                    let value = extended::double(&fields.ordered(size)?, &mut lost);
                    properties.push((name, Some(Value::Double(value))));
                    extended += 1;
                }
                None => {
                    return Err(Error::unsupported(format!(
                        "the property {name:?} of the TDMS object {} has {}, at byte {at}, which \
                         are not read; write another value, or leave it out",
                        String::from_utf8_lossy(path),
                        unread::name(code)
                    )));
                }
            }
        }
        Ok(Self { path, at, raw, properties, extended, lost })
    }
}

fn plain(fields: &mut Fields<'_>, kind: Kind) -> Result<RawIndex> {
    check_dimension(fields)?;
    let count = fields.u64()?;
    let bytes = match kind.size() {
        None => {
            let bytes = fields.u64()?;
            if count > bytes / 4 {
                return Err(fields.error(format_args!("{bytes} bytes cannot have {count} texts")));
            }
            bytes
        }
        Some(size) => count
            .checked_mul(size as u64)
            .ok_or_else(|| fields.error(format_args!("a channel has {count} values")))?,
    };
    if kind == Kind::Void && count > 0 {
        return Err(fields.error("a channel has values that have no type"));
    }
    Ok(RawIndex::Plain { kind, count, bytes })
}

fn check_dimension(fields: &mut Fields<'_>) -> Result<()> {
    match fields.u32()? {
        1 => Ok(()),
        other => Err(fields.error(format_args!("raw data has {other} dimensions, not 1"))),
    }
}

impl Daqmx {
    fn read(fields: &mut Fields<'_>, is_digital: bool) -> Result<Self> {
        let code = fields.u32()?;
        check_dimension(fields)?;
        let count = fields.u64()?;
        let mut scalers = Vec::new();
        for _ in 0..fields.count(17, "scalers")? {
            let code = fields.u32()?;
            let kind = Kind::of_scaler(code).ok_or_else(|| {
                fields.error(format_args!("a DAQmx scaler has the unknown type {code}"))
            })?;
            let (buffer, offset) = (fields.u32()?, fields.u32()?);
            // The format of samples says nothing about their values.
            let (offset, bit) = if is_digital {
                fields.take(1)?;
                (offset / 8, Some((offset % 8) as u8))
            } else {
                fields.u32()?;
                (offset, None)
            };
            scalers.push(Scaler { kind, buffer, offset, bit, id: fields.u32()? });
        }
        let is_raw = code == DAQMX_RAW;
        if !is_raw {
            let kind = Kind::of_code(code);
            let has_kind = kind.is_some() && scalers.iter().all(|found| Some(found.kind) == kind);
            if scalers.len() != 1 || !has_kind {
                return Err(fields.error("the scaler of a DAQmx channel has another type than it"));
            }
        }
        let mut widths = Vec::new();
        for _ in 0..fields.count(4, "buffers")? {
            widths.push(fields.u32()?);
        }
        for scaler in &scalers {
            let size = scaler.kind.size().unwrap_or_default() as u64;
            let width = widths.get(scaler.buffer as usize).copied().map_or(0, u64::from);
            if u64::from(scaler.offset) + size > width {
                return Err(fields.error("a DAQmx scaler lies outside of the rows of its buffer"));
            }
            if scaler.bit.is_some() && !scaler.kind.is_number() {
                return Err(fields.error("a digital line has values that are no numbers"));
            }
        }
        Ok(Self { is_raw, count, scalers, widths })
    }
}

/// The names of an object: of its group, and of itself in the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Root,
    Group(String),
    Channel(String, String),
}

impl Path {
    /// Reads a path such as `/'group'/'channel'`, in which two apostrophes are one of a name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "/" {
            return Some(Self::Root);
        }
        let mut names: Vec<String> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.strip_prefix("/'")?;
            let mut name = String::new();
            loop {
                let (before, after) = rest.split_once('\'')?;
                name.push_str(before);
                match after.strip_prefix('\'') {
                    Some(after) => {
                        name.push('\'');
                        rest = after;
                    }
                    None => {
                        rest = after;
                        break;
                    }
                }
            }
            names.push(name);
        }
        let mut names = names.into_iter();
        match (names.next(), names.next(), names.next()) {
            (Some(group), None, _) => Some(Self::Group(group)),
            (Some(group), Some(channel), None) => Some(Self::Channel(group, channel)),
            _ => None,
        }
    }

    /// The path with these names.
    pub(super) fn text(&self) -> String {
        let quoted = |name: &str| format!("/'{}'", name.replace('\'', "''"));
        match self {
            Self::Root => "/".to_owned(),
            Self::Group(group) => quoted(group),
            Self::Channel(group, channel) => quoted(group) + &quoted(channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_and_written() {
        let channel = |group: &str, name: &str| Path::Channel(group.to_owned(), name.to_owned());
        for (text, path) in [
            ("/", Path::Root),
            ("/'a'", Path::Group("a".to_owned())),
            ("/''", Path::Group(String::new())),
            ("/'a/b'/'it''s'", channel("a/b", "it's")),
            ("/''''/'x'", channel("'", "x")),
        ] {
            assert_eq!(Path::parse(text).as_ref(), Some(&path), "{text}");
            assert_eq!(path.text(), text);
        }
        for text in ["", "a", "/a", "/'a", "/'a'x", "/'a'/'b'/'c'", "//'a'", "/'a''"] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }
}
