//! Segments of a TDMS file, and the bytes of their channels.

use std::collections::BTreeMap;
use std::io::Write;

use stationdb::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type,
};
use stationdb::tables::readers::{parse_bool, parse_f32, parse_f64, parse_i64, ticks};
use stationdb::tables::{Column, DataType};
use stationdb::{Error, Place, Result};

use super::index::of_column;
use crate::tdms::contents::Properties;
use crate::tdms::segment::{LEAD_IN, MARK, Path};
use crate::tdms::types::Value;

const VERSION: u32 = 4713;
const METADATA: u32 = 1 << 1;
const NEW_LIST: u32 = 1 << 2;
const RAW_DATA: u32 = 1 << 3;
/// Seconds from 1904 to 1970.
const TO_1970: i64 = 2_082_844_800;

/// The code of the type of a channel.
fn code(data_type: DataType) -> u32 {
    match data_type {
        DataType::Int32 => 3,
        DataType::Int64 => 4,
        DataType::Float32 => 9,
        DataType::Float64 => 10,
        DataType::String => 0x20,
        DataType::Bool => 0x21,
        DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => 0x44,
    }
}

/// A column as a channel.
pub(super) struct Channel {
    /// The position in batches.
    position: usize,
    name: String,
    data_type: DataType,
    properties: Properties,
    /// The bytes of a null.
    fill: Option<Vec<u8>>,
}

impl Channel {
    /// A channel for a column.
    ///
    /// # Errors
    /// `InvalidArgument` for a value of nulls that the column cannot have.
    pub(super) fn new(
        position: usize,
        column: &Column,
        waveform: Properties,
        fill: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let data_type = column.data_type;
        let fill = match fill.get(&column.name) {
            Some(text) => Some(filling(data_type, text).ok_or_else(|| {
                let name = &column.name;
                Error::invalid(format!(
                    "{text:?} is no value of column {name:?} of type {data_type}"
                ))
                .at_member("fill")
            })?),
            None if data_type == DataType::Float64 => Some(f64::NAN.to_le_bytes().to_vec()),
            None if data_type == DataType::Float32 => Some(f32::NAN.to_le_bytes().to_vec()),
            None => None,
        };
        let (name, properties) = (column.name.clone(), of_column(column, waveform));
        Ok(Self { position, name, data_type, properties, fill })
    }

    /// Appends the values of a column.
    fn encode(&self, array: &ArrayRef, row: u64, out: &mut Vec<u8>) -> Result<()> {
        match self.data_type {
            DataType::Float64 => self.numbers::<Float64Type, 8>(array, row, f64::to_le_bytes, out),
            DataType::Float32 => self.numbers::<Float32Type, 4>(array, row, f32::to_le_bytes, out),
            DataType::Int64 => self.numbers::<Int64Type, 8>(array, row, i64::to_le_bytes, out),
            DataType::Int32 => self.numbers::<Int32Type, 4>(array, row, i32::to_le_bytes, out),
            DataType::Bool => {
                let Some(values) = array.as_boolean_opt() else { return Err(self.other()) };
                self.each(array, row, out, |at, out| out.push(u8::from(values.value(at))))
            }
            DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => {
                let counts = ticks::ticks(array);
                let per_second = ticks::unit_of(self.data_type).map_or(1, ticks::per_second);
                self.each(array, row, out, |at, out| {
                    let count = counts.get(at).copied().unwrap_or_default();
                    out.extend(time(count, per_second));
                })
            }
            DataType::String => Ok(()),
        }
    }

    fn numbers<P: ArrowPrimitiveType, const N: usize>(
        &self,
        array: &ArrayRef,
        row: u64,
        bytes: impl Fn(P::Native) -> [u8; N],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(values) = array.as_primitive_opt::<P>() else { return Err(self.other()) };
        if values.null_count() == 0 {
            out.extend(values.values().iter().flat_map(|value| bytes(*value)));
            return Ok(());
        }
        self.each(array, row, out, |at, out| {
            let value = values.values().get(at).copied().unwrap_or_default();
            out.extend(bytes(value));
        })
    }

    /// Appends each value, or that of nulls.
    fn each(
        &self,
        array: &ArrayRef,
        row: u64,
        out: &mut Vec<u8>,
        value: impl Fn(usize, &mut Vec<u8>),
    ) -> Result<()> {
        for at in 0..array.len() {
            if array.is_null(at) {
                out.extend(self.fill(row + at as u64)?);
            } else {
                value(at, out);
            }
        }
        Ok(())
    }

    fn fill(&self, row: u64) -> Result<&[u8]> {
        self.fill.as_deref().ok_or_else(|| {
            Error::invalid(format!(
                "column {:?} of type {} has a null, which TDMS does not have; give fill a value for \
                 it, or leave the column out",
                self.name, self.data_type
            ))
            .with_args([self.name.clone()])
            .at(Place::Cell { row, column: self.name.clone() })
        })
    }

    /// Appends texts: their ends, and then they themselves.
    fn texts(&self, arrays: &[&ArrayRef], row: u64, out: &mut Vec<u8>) -> Result<()> {
        let (mut end, mut at, mut all) = (0u32, row, Vec::new());
        for array in arrays {
            let Some(values) = array.as_string_opt::<i32>() else { return Err(self.other()) };
            for row in 0..values.len() {
                let text =
                    if values.is_null(row) { self.fill(at)? } else { values.value(row).as_bytes() };
                all.extend_from_slice(text);
                let len = u32::try_from(text.len()).ok();
                end = len.and_then(|len| end.checked_add(len)).ok_or_else(|| {
                    Error::limit(format!(
                        "the texts of column {:?} take more than 4 GiB",
                        self.name
                    ))
                })?;
                out.extend(end.to_le_bytes());
                at += 1;
            }
        }
        out.extend(all);
        Ok(())
    }

    fn other(&self) -> Error {
        Error::invalid(format!("the values of column {:?} have another type", self.name))
    }
}

/// A count since 1970 as a time since 1904: the fraction, then the seconds.
fn time(count: i64, per_second: i64) -> [u8; 16] {
    let seconds = i128::from(count.div_euclid(per_second)) + i128::from(TO_1970);
    let part = u128::from(count.rem_euclid(per_second).unsigned_abs()) << 64;
    let fraction = part.div_ceil(u128::from(per_second.unsigned_abs().max(1)));
    let fixed = ((seconds as u128) << 64) | u128::from(fraction as u64);
    fixed.to_le_bytes()
}

/// The bytes of a value in the spelling of a cell.
fn filling(data_type: DataType, text: &str) -> Option<Vec<u8>> {
    Some(match data_type {
        DataType::Float64 => parse_f64(text)?.to_le_bytes().to_vec(),
        DataType::Float32 => parse_f32(text)?.to_le_bytes().to_vec(),
        DataType::Int64 => parse_i64(text)?.to_le_bytes().to_vec(),
        DataType::Int32 => i32::try_from(parse_i64(text)?).ok()?.to_le_bytes().to_vec(),
        DataType::Bool => vec![u8::from(parse_bool(text)?)],
        DataType::String => text.as_bytes().to_vec(),
        DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => {
            let per_second = ticks::per_second(ticks::unit_of(data_type)?);
            time(ticks::parse(data_type, text)?, per_second).to_vec()
        }
    })
}

/// Writes the segments of a file.
pub(super) struct Segment {
    group: String,
    channels: Vec<Channel>,
    /// The properties of the group, until they are written.
    of_group: Option<Properties>,
    title: String,
    /// The rows of the segment before.
    rows: Option<usize>,
}

impl Segment {
    pub(super) fn new(
        group: String,
        channels: Vec<Channel>,
        of_group: Properties,
        title: String,
    ) -> Self {
        Self { group, channels, of_group: Some(of_group), title, rows: None }
    }

    /// Writes rows as a segment; `row` is the number of the first one.
    ///
    /// # Errors
    /// `InvalidArgument` for a null; `LimitExceeded` for too long texts; `Io`.
    pub(super) fn write(
        &mut self,
        batches: &[RecordBatch],
        row: u64,
        out: &mut (dyn Write + Send),
    ) -> Result<()> {
        let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let (mut data, mut text_bytes) = (Vec::new(), Vec::new());
        for channel in &self.channels {
            let arrays: Vec<&ArrayRef> =
                batches.iter().filter_map(|batch| batch.columns().get(channel.position)).collect();
            if channel.data_type == DataType::String {
                let before = data.len();
                channel.texts(&arrays, row, &mut data)?;
                text_bytes.push((data.len() - before) as u64);
                continue;
            }
            let mut at = row;
            for array in arrays {
                channel.encode(array, at, &mut data)?;
                at += array.len() as u64;
            }
        }
        let is_as_before = self.rows == Some(count) && text_bytes.is_empty();
        let metadata =
            if is_as_before { Vec::new() } else { self.metadata(count as u64, &text_bytes)? };
        self.rows = Some(count);
        let mut contents = if data.is_empty() { 0 } else { RAW_DATA };
        if !is_as_before {
            contents |= METADATA | NEW_LIST;
        }
        let mut lead = Vec::with_capacity(LEAD_IN as usize);
        lead.extend(MARK);
        lead.extend(contents.to_le_bytes());
        lead.extend(VERSION.to_le_bytes());
        lead.extend(((metadata.len() + data.len()) as u64).to_le_bytes());
        lead.extend((metadata.len() as u64).to_le_bytes());
        for bytes in [&lead, &metadata, &data] {
            out.write_all(bytes).map_err(io)?;
        }
        Ok(())
    }

    /// The objects of a segment. The first one has their properties.
    fn metadata(&mut self, count: u64, text_bytes: &[u64]) -> Result<Vec<u8>> {
        const NO_DATA: u32 = u32::MAX;
        let mut out = Vec::new();
        let is_first = self.of_group.is_some();
        let none = Properties::new();
        let objects = self.channels.len() + if is_first { 2 } else { 0 };
        out.extend((objects as u32).to_le_bytes());
        if let Some(of_group) = self.of_group.take() {
            let title = [("name".to_owned(), Value::Text(self.title.clone()))];
            for (path, properties) in
                [(Path::Root, Properties::from(title)), (Path::Group(self.group.clone()), of_group)]
            {
                text(&mut out, &path.text())?;
                out.extend(NO_DATA.to_le_bytes());
                write_properties(&mut out, &properties)?;
            }
        }
        let mut text_bytes = text_bytes.iter();
        for channel in &self.channels {
            let path = Path::Channel(self.group.clone(), channel.name.clone());
            text(&mut out, &path.text())?;
            let is_text = channel.data_type == DataType::String;
            for word in [if is_text { 28 } else { 20 }, code(channel.data_type), 1] {
                out.extend(u32::to_le_bytes(word));
            }
            out.extend(count.to_le_bytes());
            if is_text {
                out.extend(text_bytes.next().copied().unwrap_or_default().to_le_bytes());
            }
            write_properties(&mut out, if is_first { &channel.properties } else { &none })?;
        }
        Ok(out)
    }
}

fn text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    let len = u32::try_from(text.len()).map_err(|_| {
        Error::limit(format!("a text of {} bytes is too long for TDMS", text.len()))
    })?;
    out.extend(len.to_le_bytes());
    out.extend(text.as_bytes());
    Ok(())
}

fn write_properties(out: &mut Vec<u8>, properties: &Properties) -> Result<()> {
    out.extend((properties.len() as u32).to_le_bytes());
    for (name, value) in properties {
        text(out, name)?;
        match value {
            Value::Double(value) => {
                out.extend(10u32.to_le_bytes());
                out.extend(value.to_le_bytes());
            }
            Value::Time(moment) => {
                out.extend(0x44u32.to_le_bytes());
                out.extend(moment.fraction.to_le_bytes());
                out.extend(moment.seconds.to_le_bytes());
            }
            other => {
                out.extend(0x20u32.to_le_bytes());
                text(out, &other.text())?;
            }
        }
    }
    Ok(())
}

pub(super) fn io(error: std::io::Error) -> Error {
    Error::io("writing the TDMS file", error)
}
