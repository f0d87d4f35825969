//! Where the values of a chunk of raw data lie.

use std::collections::HashMap;

use stationdb::{Error, Result};

use super::input::damaged;
use super::segment::{LeadIn, RawIndex};
use super::types::Kind;
use super::unread::Sizes;

/// An object of a segment: its number, its raw data as far as it was told, and whether the segment
/// has some.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed {
    pub(super) object: usize,
    pub(super) raw: Option<RawIndex>,
    pub(super) has_data: bool,
}

/// The values of an object, or of a scaler of it, in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) object: usize,
    /// The number of the scaler.
    pub(super) part: usize,
    pub(super) kind: Kind,
    /// Bytes of the chunk before the first value.
    pub(super) at: u64,
    /// Bytes from one value to the next one; 0 for texts.
    pub(super) stride: u64,
    pub(super) count: u64,
    /// Bytes of texts.
    pub(super) bytes: u64,
    /// The bit that counts.
    pub(super) bit: Option<u8>,
    /// The buffer of DAQmx.
    buffer: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Contiguous,
    Interleaved,
    Buffers,
}

/// A chunk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Layout {
    pub(super) is_big: bool,
    /// Whether the bytes of a chunk are known; else none of its values are read.
    pub(super) is_known: bool,
    form: Form,
    /// In the order of the file.
    pub(super) slots: Vec<Slot>,
    /// Numbers of the slots, in the order of their objects and parts.
    sorted: Vec<usize>,
    /// Rows and bytes of a row, of each buffer of DAQmx.
    buffers: Vec<(u64, u64)>,
    pub(super) bytes: u64,
}

impl Layout {
    /// The layout of the raw data of a segment. `is_known` says whether all sizes are.
    ///
    /// # Errors
    /// `InvalidArgument` for raw data that cannot lie so.
    pub(super) fn new(
        list: &[Listed],
        lead: &LeadIn,
        sizes: Sizes,
        is_known: bool,
    ) -> Result<Self> {
        let fault = |why: &str| damaged(lead.at, why);
        let too_long = || fault("its raw data are longer than any file");
        // Each with its values, their bytes, and the bytes of one; none for texts.
        let mut plain: Vec<(usize, Kind, u64, u64, Option<u64>)> = Vec::new();
        let mut daqmx = Vec::new();
        for listed in list.iter().filter(|listed| listed.has_data) {
            match &listed.raw {
                Some(RawIndex::Plain { kind, count, bytes }) => {
                    let size = kind.size().map(|size| size as u64);
                    plain.push((listed.object, *kind, *count, *bytes, size));
                }
                Some(RawIndex::Unread(_)) if !is_known => {}
                Some(RawIndex::Unread(index)) => {
                    let (bytes, size) = sizes.of(index);
                    let kind = match sizes.extended.filter(|_| index.is_extended()) {
                        Some(size) => Kind::Extended(size),
                        None => Kind::Void,
                    };
                    plain.push((listed.object, kind, index.count, bytes, Some(size)));
                }
                Some(RawIndex::Daqmx(index)) => daqmx.push((listed.object, index)),
                None => return Err(fault("an object has raw data that were never described")),
            }
        }
        if !daqmx.is_empty() && !plain.is_empty() {
            return Err(fault("a segment has raw data of DAQmx and others"));
        }
        let mut layout = Self {
            is_big: lead.is_big,
            is_known,
            form: Form::Contiguous,
            slots: Vec::with_capacity(plain.len()),
            sorted: Vec::new(),
            buffers: Vec::new(),
            bytes: 0,
        };
        if !daqmx.is_empty() {
            layout.form = Form::Buffers;
            let widths = daqmx.first().map_or(&[][..], |(_, index)| &index.widths);
            layout.buffers = widths.iter().map(|width| (0, u64::from(*width))).collect();
            for (_, index) in &daqmx {
                if index.widths != widths {
                    return Err(fault("its DAQmx channels have rows of different widths"));
                }
                for scaler in &index.scalers {
                    if let Some(buffer) = layout.buffers.get_mut(scaler.buffer as usize) {
                        buffer.0 = buffer.0.max(index.count);
                    }
                }
            }
            let mut starts = Vec::with_capacity(layout.buffers.len());
            for (rows, width) in &layout.buffers {
                starts.push(layout.bytes);
                let bytes = rows.checked_mul(*width).ok_or_else(too_long)?;
                layout.bytes = layout.bytes.checked_add(bytes).ok_or_else(too_long)?;
            }
            for (object, index) in &daqmx {
                for (part, scaler) in index.scalers.iter().enumerate() {
                    let start = starts.get(scaler.buffer as usize).copied().unwrap_or_default();
                    layout.slots.push(Slot {
                        object: *object,
                        part,
                        kind: scaler.kind,
                        at: start + u64::from(scaler.offset),
                        stride: index.widths.get(scaler.buffer as usize).map_or(0, |w| (*w).into()),
                        count: index.count,
                        bytes: 0,
                        bit: scaler.bit,
                        buffer: scaler.buffer,
                    });
                }
            }
            return Ok(layout.sorted());
        }
        if lead.is_interleaved && !plain.is_empty() {
            let has_texts = plain.iter().any(|(.., size)| size.is_none());
            if has_texts && plain.len() > 1 {
                return Err(fault("texts cannot be interleaved with other values"));
            }
            if plain.iter().any(|(_, _, count, ..)| Some(count) != plain.first().map(|p| &p.2)) {
                return Err(fault("its interleaved channels have different numbers of values"));
            }
            // A single channel of texts is contiguous.
            if !has_texts {
                layout.form = Form::Interleaved;
            }
        }
        let sizes = plain.iter().filter_map(|(.., size)| *size);
        let row = sizes.fold(0u64, u64::saturating_add);
        let is_row = layout.form == Form::Interleaved;
        let mut column = 0;
        for (object, kind, count, bytes, size) in plain {
            let is_text = size.is_none();
            let size = size.unwrap_or_default();
            layout.slots.push(Slot {
                object,
                part: 0,
                kind,
                at: if is_row { column } else { layout.bytes },
                stride: if is_row { row } else { size },
                count,
                bytes: if is_text { bytes } else { 0 },
                bit: None,
                buffer: 0,
            });
            column = column.saturating_add(size);
            layout.bytes = layout.bytes.checked_add(bytes).ok_or_else(too_long)?;
        }
        Ok(layout.sorted())
    }

    fn sorted(mut self) -> Self {
        self.sorted = (0..self.slots.len()).collect();
        let key = |at: &usize| self.slots.get(*at).map(|slot| (slot.object, slot.part));
        self.sorted.sort_by_key(key);
        self
    }

    /// The layout of the first `len` bytes of a chunk; `None` where they have no values.
    ///
    /// In a segment that was not finished, values are missing at the end. In one that was, but has
    /// fewer bytes than its channels, each channel has its share of them.
    pub(super) fn cut(&self, len: u64, is_unfinished: bool) -> Option<Self> {
        let share = |count: u64| {
            let part = u128::from(count) * u128::from(len) / u128::from(self.bytes.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let mut cut = self.clone();
        let mut left = len;
        match self.form {
            Form::Buffers => {
                for (rows, width) in &mut cut.buffers {
                    let whole = left.checked_div(*width).unwrap_or_default().min(*rows);
                    left = if whole == *rows { left - whole * *width } else { 0 };
                    *rows = whole;
                }
                let mut fewest: HashMap<usize, u64> = HashMap::new();
                for slot in &cut.slots {
                    let rows = cut.buffers.get(slot.buffer as usize).map_or(0, |buffer| buffer.0);
                    let least = fewest.entry(slot.object).or_insert(slot.count);
                    *least = rows.min(*least);
                }
                for slot in &mut cut.slots {
                    slot.count = fewest.get(&slot.object).copied().unwrap_or_default();
                }
            }
            _ if self.slots.iter().any(|slot| slot.kind.size().is_none()) => return None,
            Form::Interleaved => {
                for slot in &mut cut.slots {
                    slot.count = share(slot.count);
                }
            }
            Form::Contiguous => {
                let mut at = 0;
                for slot in &mut cut.slots {
                    slot.count = if is_unfinished {
                        let whole = left.checked_div(slot.stride).unwrap_or_default();
                        let whole = whole.min(slot.count);
                        left = if whole == slot.count { left - whole * slot.stride } else { 0 };
                        whole
                    } else {
                        share(slot.count)
                    };
                    slot.at = at;
                    at += slot.count * slot.stride;
                }
            }
        }
        cut.bytes = len;
        cut.slots.iter().any(|slot| slot.count > 0).then_some(cut)
    }

    /// The slot of a part of an object.
    pub(super) fn slot(&self, object: usize, part: usize) -> Option<&Slot> {
        let key = |at: &usize| self.slots.get(*at).map(|slot| (slot.object, slot.part));
        let found = self.sorted.binary_search_by_key(&Some((object, part)), key).ok()?;
        self.slots.get(*self.sorted.get(found)?)
    }

    /// Bytes of the chunk for each row of its longest channel.
    pub(super) fn bytes_per_row(&self) -> u64 {
        let rows = self.slots.iter().map(|slot| slot.count).max().unwrap_or_default();
        self.bytes / rows.max(1)
    }
}

/// Equal segments at equal steps in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first byte of the raw data of the first segment.
    pub(super) at: u64,
    /// Bytes from one segment to the next one.
    pub(super) step: u64,
    /// Chunks of a segment.
    pub(super) chunks: u64,
    pub(super) segments: u32,
    pub(super) layout: u32,
}

/// The layouts of a file, each once, and the segments that have them.
#[derive(Default)]
pub(super) struct Layouts {
    pub(super) all: Vec<Layout>,
    numbers: HashMap<Layout, u32>,
    slots: usize,
    pub(super) runs: Vec<Run>,
}

impl Layouts {
    /// The number of a layout.
    ///
    /// # Errors
    /// `LimitExceeded`.
    pub(super) fn number(&mut self, layout: &Layout, slots_max: usize) -> Result<u32> {
        if let Some(number) = self.numbers.get(layout) {
            return Ok(*number);
        }
        self.slots += layout.slots.len();
        if self.slots > slots_max {
            return Err(Error::limit(format!(
                "the segments of the TDMS file have more than {slots_max} different places of \
                 values; defragment the file first"
            )));
        }
        let number = self.all.len() as u32;
        self.all.push(layout.clone());
        self.numbers.insert(layout.clone(), number);
        Ok(number)
    }

    /// Adds a segment behind those before.
    ///
    /// # Errors
    /// `LimitExceeded`.
    pub(super) fn push(
        &mut self,
        at: u64,
        chunks: u64,
        layout: u32,
        runs_max: usize,
    ) -> Result<()> {
        if let Some(last) = self.runs.last_mut()
            && (last.chunks, last.layout) == (chunks, layout)
            && last.segments < u32::MAX
        {
            let step = if last.segments == 1 { at - last.at } else { last.step };
            if last.at + step * u64::from(last.segments) == at {
                (last.step, last.segments) = (step, last.segments + 1);
                return Ok(());
            }
        }
        if self.runs.len() == runs_max {
            return Err(Error::limit(format!(
                "the TDMS file has more than {runs_max} segments that differ from the ones before; \
                 defragment it first"
            )));
        }
        self.runs.push(Run { at, step: 0, chunks, segments: 1, layout });
        Ok(())
    }
}
