//! The contents of a file: its objects and where their values lie, from one pass over its segments.

use std::collections::{BTreeMap, HashMap};

use stationdb::tables::readers::foreign;
use stationdb::{Control, Error, Result};

use super::extended::Lost;
use super::input::{Input, damaged};
use super::layout::{Layout, Layouts, Listed};
use super::segment::{INDEX_MARK, LEAD_IN, LeadIn, MARK, ObjectFields, Path, RawData, RawIndex};
use super::sizes;
use super::types::{Kind, Value};
use super::unread::Sizes;
use crate::limits;

/// The properties of an object.
pub(super) type Properties = BTreeMap<String, Value>;

/// The values of an object, or of a scaler of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// The scale that takes the values of a scaler.
    pub(super) scaler: Option<u32>,
}

/// An object of a file.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) path: Path,
    pub(super) properties: Properties,
    /// One part, or several scalers; none for an object that never had raw data.
    pub(super) parts: Vec<Part>,
    /// Whether its values are those of scalers, from which scales compute them.
    pub(super) is_raw: bool,
    /// The code of its type, if that is not read, and where it is in the file.
    pub(super) unread: Option<(u32, u64)>,
    /// The number of values.
    pub(super) len: u64,
}

/// The contents of a file.
pub(super) struct Contents {
    /// In the order in which they are first in the file.
    pub(super) objects: Vec<Object>,
    pub(super) layouts: Layouts,
    /// What the caller should look at.
    pub(super) warnings: Vec<String>,
}

/// The pass over the segments.
struct Pass<'i> {
    input: &'i mut Input,
    objects: Vec<Object>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The raw data of each object, as it was told last.
    latest: Vec<Listed>,
    /// The objects of the segment, and the position of each object among them.
    list: Vec<Listed>,
    places: Vec<Option<usize>>,
    layout: Option<(Layout, u32)>,
    /// Chunks of the layout behind its first ones, whose values are counted when another one begins, so
    /// that a segment costs the objects that it changes. The first ones are counted at once, because
    /// properties behind values are told.
    uncounted: Option<u64>,
    layouts: Layouts,
    /// Bytes of all properties.
    property_bytes: usize,
    /// The last metadata, and whether they list all objects of their segment.
    metadata: Vec<u8>,
    metadata_is_whole: bool,
    /// Whether the layout is big-endian, and interleaved.
    form: (bool, bool),
    /// Names and texts that are not UTF-8.
    replaced: u64,
    /// The sizes of values that metadata do not tell.
    sizes: Sizes,
    /// What doubles lose of properties.
    lost: Lost,
    version: Option<u32>,
    /// Properties that say what values are, changed behind values: the first one, and their number.
    changed: (Option<String>, u64),
    /// Whether a segment had values.
    has_values: bool,
    /// Segments that were finished and have a part of a chunk, and where the first one is.
    partial: (u64, u64),
    warnings: Vec<String>,
}

/// Whether a property says what the values of a channel, or their rows, are.
fn says_values(name: &str) -> bool {
    let of_axis = ["wf_start_time", "wf_start_offset", "wf_increment", "unit_string"];
    of_axis.contains(&name) || name.starts_with("NI_Scal")
}

/// Reads the metadata of all segments.
///
/// # Errors
/// `InvalidArgument` for a damaged file; `Unsupported` for one of another format, and for types that
/// are not read; `LimitExceeded`; `Io`; those of `control`.
pub(super) fn read(input: &mut Input, control: &Control) -> Result<Contents> {
    let start = input.head(0, input.len.min(foreign::START_BYTES as u64))?;
    if start.starts_with(INDEX_MARK) {
        return Err(Error::unsupported(
            "the file is an index of a TDMS file (.tdms_index) and has no values; import the \
             .tdms file beside it",
        ));
    }
    if !start.starts_with(MARK) {
        let what =
            foreign::known(start).unwrap_or_else(|| "it does not begin with TDSm".to_owned());
        return Err(Error::invalid(format!("the bytes are not a TDMS file: {what}")));
    }
    let pass = Pass {
        input,
        objects: Vec::new(),
        numbers: HashMap::new(),
        latest: Vec::new(),
        list: Vec::new(),
        places: Vec::new(),
        layout: None,
        uncounted: None,
        layouts: Layouts::default(),
        property_bytes: 0,
        metadata: Vec::new(),
        metadata_is_whole: false,
        form: (false, false),
        replaced: 0,
        sizes: Sizes::default(),
        lost: Lost::default(),
        version: None,
        changed: (None, 0),
        has_values: false,
        partial: (0, 0),
        warnings: Vec::new(),
    };
    pass.run(control)
}

impl Pass<'_> {
    fn run(mut self, control: &Control) -> Result<Contents> {
        let (mut at, mut count) = (0, 0u64);
        while at < self.input.len {
            if count.is_multiple_of(1024) {
                control.check()?;
            }
            count += 1;
            let Some(next) = self.segment(at)? else { break };
            at = next;
        }
        self.count_rest();
        let (partial, first) = self.partial;
        if partial > 0 {
            self.warnings.push(format!(
                "{partial} segments, the first of them at byte {first}, have fewer bytes than their \
                 channels, each of which has its share of them"
            ));
        }
        if self.replaced > 0 {
            self.warnings.push(format!(
                "{} names and properties have bytes that are not UTF-8; each is replaced by U+FFFD",
                self.replaced
            ));
        }
        if let (Some(first), count) = &self.changed {
            self.warnings.push(format!(
                "properties that say what values and their times are have other values behind rows: \
                 {count}, the first of them {first}; all rows have the last of them, also those \
                 before"
            ));
        }
        self.warnings.append(&mut self.lost.told("properties"));
        // A file has them in one size.
        if let Some(size) = self.sizes.extended {
            for part in self.objects.iter_mut().flat_map(|object| &mut object.parts) {
                if let Kind::Extended(unknown) = &mut part.kind {
                    *unknown = size;
                }
            }
        }
        Ok(Contents { objects: self.objects, layouts: self.layouts, warnings: self.warnings })
    }

    fn unfinished(&mut self, at: u64, what: &str) {
        self.warnings.push(format!("the last segment, at byte {at}, was not finished: {what}"));
    }

    /// Reads the segment at a position. Returns the position of the next one; `None` behind the
    /// last whole one.
    fn segment(&mut self, at: u64) -> Result<Option<u64>> {
        let len = self.input.len;
        if len - at < LEAD_IN {
            self.unfinished(at, "its lead-in is cut off, so nothing of it is read");
            return Ok(None);
        }
        let lead = LeadIn::read(self.input.head(at, LEAD_IN)?, at)?;
        if self.version.is_none() {
            self.version = Some(lead.version);
            if !matches!(lead.version, 4712 | 4713) {
                self.warnings.push(format!(
                    "the file has the version {}, and is read as the versions 4712 and 4713 are",
                    lead.version
                ));
            }
        }
        let end = lead.end.filter(|end| *end <= len);
        let is_unfinished = end.is_none();
        let end = end.unwrap_or(len);
        let Some(data) = lead.data.filter(|data| *data <= end) else {
            if is_unfinished {
                self.unfinished(at, "its metadata are cut off, so nothing of it is read");
                return Ok(None);
            }
            return Err(damaged(at, "the metadata of a segment are longer than it"));
        };
        let form = (lead.is_big, lead.is_interleaved);
        let has_changed = if lead.has_metadata {
            self.metadata(&lead, data - at - LEAD_IN)?
        } else if self.layout.is_none() {
            return Err(damaged(at, "the first segment has no metadata"));
        } else {
            false
        };
        let was_known = self.layout.as_ref().is_none_or(|(layout, _)| layout.is_known);
        if has_changed || self.form != form || !was_known {
            let len = end - data;
            let is_known = sizes::learn(&mut self.sizes, &self.list, &lead, len, is_unfinished)?;
            let layout = Layout::new(&self.list, &lead, self.sizes, is_known)?;
            let number = self.layouts.number(&layout, limits::TDMS_PLACES)?;
            self.count_rest();
            (self.layout, self.form) = (Some((layout, number)), form);
        }
        self.raw_data(&lead, data, end, is_unfinished)?;
        Ok(Some(end))
    }

    /// Reads the metadata of a segment. Returns whether they changed its objects or their raw data.
    fn metadata(&mut self, lead: &LeadIn, len: u64) -> Result<bool> {
        let at = lead.at + LEAD_IN;
        if len > limits::IMPORT_METADATA_BYTES as u64 {
            return Err(Error::limit(format!(
                "the metadata of the segment at byte {} of the TDMS file take {len} bytes, more than \
                 the {} that an import may have",
                lead.at,
                limits::IMPORT_METADATA_BYTES
            )));
        }
        let bytes = self.input.head(at, len)?;
        // Writers repeat the metadata of a segment that lists all of its objects.
        let is_as_before = self.metadata_is_whole && self.form.0 == lead.is_big;
        if lead.is_new_list && is_as_before && self.metadata == bytes {
            return Ok(false);
        }
        let mut bytes = bytes.to_vec();
        let is_new_list = lead.is_new_list || self.layout.is_none();
        if is_new_list {
            for listed in self.list.drain(..) {
                if let Some(place) = self.places.get_mut(listed.object) {
                    *place = None;
                }
            }
        }
        let mut changed = Vec::new();
        for object in ObjectFields::all(&bytes, at, lead.is_big)? {
            changed.extend(self.object(object)?);
        }
        for number in &changed {
            self.check_parts(*number, lead.at)?;
        }
        std::mem::swap(&mut self.metadata, &mut bytes);
        self.metadata_is_whole = lead.is_new_list;
        Ok(is_new_list || !changed.is_empty())
    }

    /// The number of the object of a path.
    fn number(&mut self, path: &[u8], at: u64) -> Result<usize> {
        if let Some(number) = self.numbers.get(path) {
            return Ok(*number);
        }
        let number = self.objects.len();
        if number == limits::TDMS_OBJECTS {
            return Err(Error::limit(format!(
                "the TDMS file has more than the {} objects of an import",
                limits::TDMS_OBJECTS
            )));
        }
        let text = String::from_utf8_lossy(path);
        self.replaced += u64::from(text.contains('\u{fffd}'));
        let names = Path::parse(&text)
            .ok_or_else(|| damaged(at, format_args!("{text:?} is no path of an object")))?;
        self.objects.push(Object {
            path: names,
            properties: Properties::new(),
            parts: Vec::new(),
            is_raw: false,
            unread: None,
            len: 0,
        });
        self.numbers.insert(path.to_vec(), number);
        self.latest.push(Listed { object: number, raw: None, has_data: false });
        self.places.push(None);
        Ok(number)
    }

    /// Takes what metadata say of an object. Returns its number if its raw data are others than before.
    fn object(&mut self, found: ObjectFields<'_>) -> Result<Option<usize>> {
        let number = self.number(found.path, found.at)?;
        self.lost += found.lost;
        if let Some(object) = self.objects.get_mut(number) {
            let is_channel = matches!(object.path, Path::Channel(..));
            let is_behind = if is_channel { object.len > 0 } else { self.has_values };
            for (name, value) in found.properties {
                let Some(value) = value else { continue };
                let before = object.properties.get(&name).filter(|_| is_behind);
                if before.is_some_and(|before| says_values(&name) && before.text() != value.text())
                {
                    self.changed.1 += 1;
                    self.changed.0.get_or_insert_with(|| {
                        format!("{name:?} of {}, at byte {}", object.path.text(), found.at)
                    });
                }
                let is_replaced = name.contains('\u{fffd}')
                    || value.as_text().is_some_and(|text| text.contains('\u{fffd}'));
                self.replaced += u64::from(is_replaced);
                let bytes = name.len() + value.bytes();
                let before = object.properties.insert(name, value);
                let freed = before.map_or(0, |value| value.bytes());
                self.property_bytes = (self.property_bytes + bytes).saturating_sub(freed);
            }
        }
        if self.property_bytes > limits::TDMS_PROPERTY_BYTES {
            return Err(Error::limit(format!(
                "the properties of the TDMS file take more than the {} bytes of an import",
                limits::TDMS_PROPERTY_BYTES
            )));
        }
        let place = self.places.get(number).copied().flatten();
        let before = match place {
            Some(place) => self.list.get(place),
            None => self.latest.get(number),
        };
        let raw = before.and_then(|before| before.raw.clone());
        let listed = match found.raw {
            RawData::Absent => Listed { object: number, raw, has_data: false },
            RawData::AsBefore if raw.is_none() => {
                return Err(damaged(
                    found.at,
                    "an object has raw data as before, and had none before",
                ));
            }
            RawData::AsBefore => Listed { object: number, raw, has_data: true },
            RawData::New(raw) => Listed { object: number, raw: Some(raw), has_data: true },
        };
        if let Some(latest) = self.latest.get_mut(number) {
            latest.clone_from(&listed);
        }
        match place.and_then(|place| self.list.get_mut(place)) {
            Some(slot) if *slot == listed => return Ok(None),
            Some(slot) => *slot = listed,
            None => {
                if let Some(slot) = self.places.get_mut(number) {
                    *slot = Some(self.list.len());
                }
                self.list.push(listed);
            }
        }
        Ok(Some(number))
    }

    /// Notes the type of the values of an object, which stays the same in all segments.
    fn check_parts(&mut self, number: usize, at: u64) -> Result<()> {
        let place = self.places.get(number).copied().flatten();
        let listed = place.and_then(|place| self.list.get(place));
        let mut unread = None;
        let (parts, is_raw): (Vec<Part>, bool) = match listed
            .filter(|listed| listed.has_data)
            .and_then(|listed| listed.raw.as_ref())
        {
            None | Some(RawIndex::Plain { kind: Kind::Void, .. }) => return Ok(()),
            Some(RawIndex::Plain { kind, .. }) => (vec![Part { kind: *kind, scaler: None }], false),
            Some(RawIndex::Unread(index)) if index.is_extended() => {
                (vec![Part { kind: Kind::Extended(0), scaler: None }], false)
            }
            Some(RawIndex::Unread(index)) => {
                unread = Some((index.code, index.at));
                (Vec::new(), false)
            }
            Some(RawIndex::Daqmx(index)) => {
                let part = |scaler: &super::segment::Scaler| Part {
                    kind: scaler.kind,
                    scaler: Some(scaler.id),
                };
                (index.scalers.iter().map(part).collect(), index.is_raw)
            }
        };
        let Some(object) = self.objects.get_mut(number) else { return Ok(()) };
        let code = |of: Option<(u32, u64)>| of.map(|(code, _)| code);
        if object.parts.is_empty() && object.unread.is_none() {
            (object.parts, object.is_raw, object.unread) = (parts, is_raw, unread);
        } else if (&object.parts, object.is_raw, code(object.unread))
            != (&parts, is_raw, code(unread))
        {
            return Err(damaged(
                at,
                format_args!(
                    "the values of {} have another type than in the segments before",
                    object.path.text()
                ),
            ));
        }
        Ok(())
    }

    fn raw_data(&mut self, lead: &LeadIn, data: u64, end: u64, is_unfinished: bool) -> Result<()> {
        let Some((layout, number)) = self.layout.take() else { return Ok(()) };
        let len = end - data;
        if !layout.is_known {
            if is_unfinished {
                let what = "the size of some of its values is not known, so none of them are found";
                self.unfinished(lead.at, what);
            }
            self.layout = Some((layout, number));
            return Ok(());
        }
        let chunks = len.checked_div(layout.bytes).unwrap_or_default();
        if chunks > 0 {
            self.layouts.push(data, chunks, number, limits::TDMS_RUNS)?;
            match &mut self.uncounted {
                Some(uncounted) => *uncounted = uncounted.saturating_add(chunks),
                None => {
                    self.count(&layout, chunks);
                    self.uncounted = Some(0);
                }
            }
        }
        let rest = len - chunks * layout.bytes;
        if layout.bytes == 0 && len > 0 && !is_unfinished {
            return Err(damaged(
                lead.at,
                "a segment has raw data, and none of its objects has some",
            ));
        }
        if rest > 0 && !is_unfinished {
            if self.partial.0 == 0 {
                self.partial.1 = lead.at;
            }
            self.partial.0 += 1;
        }
        if rest > 0
            && layout.bytes > 0
            && let Some(cut) = layout.cut(rest, is_unfinished)
        {
            let number = self.layouts.number(&cut, limits::TDMS_PLACES)?;
            self.layouts.push(data + chunks * layout.bytes, 1, number, limits::TDMS_RUNS)?;
            self.count(&cut, 1);
        }
        if is_unfinished {
            let read = format!("its {len} bytes of raw data are read as far as values are whole");
            self.unfinished(lead.at, &read);
        }
        self.layout = Some((layout, number));
        Ok(())
    }

    /// Counts the values that wait for it.
    fn count_rest(&mut self) {
        if let Some(chunks) = self.uncounted.take()
            && let Some((layout, number)) = self.layout.take()
        {
            self.count(&layout, chunks);
            self.layout = Some((layout, number));
        }
    }

    fn count(&mut self, layout: &Layout, chunks: u64) {
        for slot in layout.slots.iter().filter(|slot| slot.part == 0) {
            if let Some(object) = self.objects.get_mut(slot.object) {
                object.len = object.len.saturating_add(slot.count.saturating_mul(chunks));
                self.has_values |= object.len > 0;
            }
        }
    }
}
