//! The place of a channel in the raw data, and its values from there on.

use stationdb::{Error, Result};

use super::decode;
use super::input::{Input, Spread, damaged};
use super::layout::{Layout, Layouts, Slot};
use super::types::Kind;
use crate::limits;

/// Bytes of the texts of a column in a batch.
const TEXT_BYTES: u64 = 16 * 1024 * 1024;

/// The place of the next value of a part of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    run: usize,
    /// The segment of the run.
    segment: u64,
    /// The value of the segment.
    row: u64,
}

/// Values that lie together in a chunk.
#[derive(Clone, Copy)]
pub(super) struct Piece<'l> {
    pub(super) layout: &'l Layout,
    pub(super) slot: &'l Slot,
    /// The first byte of the slot in this chunk.
    slot_at: u64,
    /// The number of the first value in the slot.
    first: u64,
    pub(super) count: u64,
}

impl Piece<'_> {
    /// Where the values lie, or `size` bytes of each, `before` bytes behind its first one.
    pub(super) fn spread(&self, before: u64, size: usize) -> Spread {
        let Slot { stride, .. } = *self.slot;
        let at = self.slot_at + self.first * stride + before;
        Spread { at, stride: stride.max(1), size, count: self.count }
    }

    pub(super) fn stride(&self) -> usize {
        usize::try_from(self.slot.stride).unwrap_or(usize::MAX)
    }
}

impl Cursor {
    /// The next values of a part of a channel, at most `max`, and moves behind them.
    ///
    /// # Errors
    /// `InvalidArgument` behind the last value.
    pub(super) fn next<'l>(
        &mut self,
        layouts: &'l Layouts,
        (object, part): (usize, usize),
        max: u64,
    ) -> Result<Piece<'l>> {
        while let Some(run) = layouts.runs.get(self.run) {
            let layout = layouts.all.get(run.layout as usize);
            let slot = layout.and_then(|layout| layout.slot(object, part));
            let (Some(layout), Some(slot)) = (layout, slot.filter(|slot| slot.count > 0)) else {
                *self = Self { run: self.run + 1, segment: 0, row: 0 };
                continue;
            };
            let rows = slot.count * run.chunks;
            if self.row >= rows {
                (self.segment, self.row) = (self.segment + 1, 0);
                if self.segment >= u64::from(run.segments) {
                    *self = Self { run: self.run + 1, segment: 0, row: 0 };
                }
                continue;
            }
            // The values of a chunk may follow those of the chunk before at the same step.
            let goes_on = slot.stride > 0 && slot.count * slot.stride == layout.bytes;
            let (chunk, first) = if goes_on {
                (0, self.row)
            } else {
                (self.row / slot.count, self.row % slot.count)
            };
            let left = if goes_on { rows - self.row } else { slot.count - first };
            let count = left.min(max);
            let start = run.at + run.step * self.segment;
            let slot_at = start + chunk * layout.bytes + slot.at;
            self.row += count;
            return Ok(Piece { layout, slot, slot_at, first, count });
        }
        Err(Error::invalid("a channel of the TDMS file has fewer values than its segments tell"))
    }
}

/// The ends of texts, counted from the start of the texts of their chunk, in which each begins where
/// the one before ends. The first number is the start of the first text.
fn ends(input: &mut Input, piece: Piece<'_>) -> Result<Vec<i64>> {
    let Piece { layout, slot, slot_at, first, count } = piece;
    let mut ends: Vec<i64> = Vec::with_capacity(count as usize + 1);
    let before = u64::from(first > 0);
    if before == 0 {
        ends.push(0);
    }
    let at = slot_at + (first - before) * 4;
    let spread = Spread { at, stride: 4, size: 4, count: count + before };
    input.values(spread, &mut |bytes| {
        let from = ends.len();
        ends.resize(from + decode::count(bytes, 4), 0);
        let out = ends.get_mut(from..).unwrap_or_default();
        decode::numbers(Kind::U32, layout.is_big, bytes, 4, out);
        Ok(())
    })?;
    let room = slot.bytes.saturating_sub(slot.count * 4);
    let last = ends.last().copied().unwrap_or_default().unsigned_abs();
    if !ends.is_sorted() || last > room {
        return Err(damaged(at, "the ends of texts do not rise, or are behind the texts"));
    }
    Ok(ends)
}

/// How many of the next rows have texts that fit a batch, at least one.
///
/// # Errors
/// `InvalidArgument` for damaged texts; `LimitExceeded` for a text that no batch holds; `Io`.
pub(super) fn text_rows(
    input: &mut Input,
    layouts: &Layouts,
    mut cursor: Cursor,
    key: (usize, usize),
    rows: u64,
) -> Result<u64> {
    let (mut fitting, mut bytes) = (0, 0);
    while fitting < rows {
        let piece = cursor.next(layouts, key, rows - fitting)?;
        for pair in ends(input, piece)?.windows(2) {
            let len = pair.iter().rev().copied().reduce(|end, start| end - start);
            let len = len.unwrap_or_default().unsigned_abs();
            if len > limits::IMPORT_RECORD_BYTES as u64 {
                return Err(Error::limit(format!(
                    "a text of the TDMS file takes {len} bytes, more than the {} of a record",
                    limits::IMPORT_RECORD_BYTES
                )));
            }
            bytes += len;
            if bytes > TEXT_BYTES && fitting > 0 {
                return Ok(fitting);
            }
            fitting += 1;
        }
    }
    Ok(fitting)
}

/// Passes the texts of a piece to `each`.
///
/// # Errors
/// `InvalidArgument` for damaged texts; `Io`.
pub(super) fn texts(
    input: &mut Input,
    piece: Piece<'_>,
    each: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let ends = ends(input, piece)?;
    let first = ends.first().copied().unwrap_or_default().unsigned_abs();
    let last = ends.last().copied().unwrap_or_default().unsigned_abs();
    let mut bytes = Vec::with_capacity((last - first) as usize);
    input.read(piece.slot_at + piece.slot.count * 4 + first, last - first, &mut bytes)?;
    let mut rest = &bytes[..];
    for pair in ends.windows(2) {
        let len = pair.iter().rev().copied().reduce(|end, start| end - start);
        let len = usize::try_from(len.unwrap_or_default()).unwrap_or_default();
        let (text, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        each(text);
        rest = behind;
    }
    Ok(())
}
