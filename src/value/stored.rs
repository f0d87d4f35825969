//! The stored form of plain data: the one module that knows the codec.
//!
//! The codec is bincode 2 in its standard configuration (little-endian, varints), driven through
//! [`Stored`]. The serde form of the same types cannot be used: it is the wire form, which bincode
//! cannot read back. Every decode has a byte limit, cannot recurse without bound (no stored type
//! contains itself; JSON values are stored as text) and must use all its bytes. Keys have another
//! encoding: see [`super::key`].

use std::collections::BTreeMap;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::de::read::Reader;
use bincode::de::{Decoder, DecoderImpl};
use bincode::enc::EncoderImpl;
use bincode::enc::write::Writer;
use bincode::{Decode, Encode};
use chrono::{DateTime, Utc};

use super::limits;
use crate::error::{ApiError, Error, Result};

/// The number of the format that stored bytes were written in.
///
/// A build writes the newest format and reads all. A member, a value of an enumeration and a
/// variant of a union carry the number of the format that introduced them (`since`), and are absent
/// in bytes of an older format. See "How the format grows" in `docs/format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Format(u8);

impl Format {
    /// The first format.
    pub(crate) const FIRST: Self = Self(1);
    /// The newest format.
    const NEWEST: Self = Self(1);

    /// The format that this build writes, and the newest one that it reads.
    #[cfg(not(test))]
    #[must_use]
    pub(crate) const fn current() -> Self {
        Self::NEWEST
    }

    /// The format that this build writes: the next one while [`grown`] says so.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn current() -> Self {
        if grown::is_next() { Self(Self::NEWEST.0 + 1) } else { Self::NEWEST }
    }

    /// The format with this number, if this build reads it.
    #[must_use]
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        let format = Self(number);
        (Self::FIRST..=Self::current()).contains(&format).then_some(format)
    }

    /// Its number.
    #[must_use]
    pub(crate) const fn number(self) -> u8 {
        self.0
    }

    /// Whether bytes of this format contain what format `since` introduced.
    #[must_use]
    pub(crate) const fn has(self, since: u8) -> bool {
        since <= self.0
    }
}

/// Threads that write the next format, for tests of how the format grows.
#[cfg(test)]
pub(crate) mod grown {
    use std::cell::Cell;

    thread_local! {
        static IS_NEXT: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn is_next() -> bool {
        IS_NEXT.get()
    }

    /// Whether this thread writes the next format from now on.
    pub(crate) fn set(is_next: bool) {
        IS_NEXT.set(is_next);
    }
}

/// Where [`Stored::put`] writes.
pub(crate) type Output<'b> = EncoderImpl<Appender<'b>, Configuration>;
/// What [`Stored::take`] reads.
pub(crate) type Input<'b> = DecoderImpl<Unread<'b>, Config, Format>;
/// What [`Stored::put`] returns.
pub(crate) type EncodeResult = std::result::Result<(), bincode::error::EncodeError>;
/// What [`Stored::take`] returns.
pub(crate) type DecodeResult<T> = std::result::Result<T, bincode::error::DecodeError>;

const LIMIT: usize = 16 * limits::RECORD_BYTES;
type Config = Configuration<LittleEndian, Varint, Limit<LIMIT>>;

/// The format of the bytes that are read.
#[must_use]
pub(crate) fn format(input: &mut Input<'_>) -> Format {
    *input.context()
}

/// Plain data with a stored form; derived with `Record` and `Resource`, or implemented by
/// `wire_enum!`.
pub(crate) trait Stored: Sized {
    /// Writes the value.
    fn put(&self, out: &mut Output<'_>) -> EncodeResult;
    /// Reads a value that [`Stored::put`] wrote.
    fn take(input: &mut Input<'_>) -> DecodeResult<Self>;

    /// Skips a value that [`Stored::put`] wrote.
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        Self::take(input).map(drop)
    }

    /// Reads the wanted members into this value and skips the others, which stay as they are. The
    /// default reads the whole value.
    fn fill(&mut self, input: &mut Input<'_>, _wanted: Members) -> DecodeResult<()> {
        *self = Self::take(input)?;
        Ok(())
    }

    /// Changes the value to what [`Stored::take`] would read back: times are truncated to
    /// milliseconds and clamped to the supported years.
    fn settle(&mut self) {}

    /// The members in stored order; none for a type that is not a struct.
    fn members() -> &'static [Member] {
        &[]
    }
}

/// A member of a struct, without its type.
pub(crate) struct Member {
    /// The name in camel case.
    pub name: &'static str,
    /// The format that introduced the member.
    pub since: u8,
    /// [`Stored::skip`] of its type.
    pub skip: fn(&mut Input<'_>) -> DecodeResult<()>,
}

/// The value of a member, without its type.
pub(crate) trait Slot {
    /// As [`Stored::put`].
    fn put_value(&self, out: &mut Output<'_>) -> EncodeResult;
    /// Replaces the value by the one that is read.
    fn take_value(&mut self, input: &mut Input<'_>) -> DecodeResult<()>;
    /// As [`Stored::settle`].
    fn settle_value(&mut self);
}

impl<T: Stored> Slot for T {
    fn put_value(&self, out: &mut Output<'_>) -> EncodeResult {
        self.put(out)
    }
    fn take_value(&mut self, input: &mut Input<'_>) -> DecodeResult<()> {
        *self = T::take(input)?;
        Ok(())
    }
    fn settle_value(&mut self) {
        self.settle();
    }
}

/// Writes the members of a struct.
pub(crate) fn put_members(values: &[&dyn Slot], out: &mut Output<'_>) -> EncodeResult {
    values.iter().try_for_each(|value| value.put_value(out))
}

/// [`Stored::skip`] of a struct with these members.
pub(crate) fn skip_members(members: &[Member], input: &mut Input<'_>) -> DecodeResult<()> {
    let format = format(input);
    let mut present = members.iter().filter(|member| format.has(member.since));
    present.try_for_each(|member| (member.skip)(input))
}

/// [`Stored::fill`] of a struct with these members. A member that the format does not have stays
/// as it is.
pub(crate) fn fill_members(
    members: &[Member],
    values: &mut [&mut dyn Slot],
    input: &mut Input<'_>,
    wanted: Members,
) -> DecodeResult<()> {
    let format = format(input);
    for (place, (member, value)) in members.iter().zip(values).enumerate() {
        if !format.has(member.since) {
            continue;
        }
        if wanted.has(place) {
            value.take_value(input)?;
        } else {
            (member.skip)(input)?;
        }
    }
    Ok(())
}

/// A set of members of a struct, by their positions in [`Stored::members`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Members(u64);

impl Members {
    /// All of them.
    pub(crate) const ALL: Self = Self(u64::MAX);
    /// None of them.
    pub(crate) const NONE: Self = Self(0);

    /// Adds the member at `place`; returns [`Members::ALL`] when `place` is above the 64 that the
    /// set can tell apart.
    #[must_use]
    pub(crate) fn with(self, place: usize) -> Self {
        if place < u64::BITS as usize { Self(self.0 | 1 << place) } else { Self::ALL }
    }

    /// Whether the member at `place` is wanted.
    #[must_use]
    pub(crate) fn has(self, place: usize) -> bool {
        place >= u64::BITS as usize || self.0 >> place & 1 == 1
    }
}

/// The decode error of a value that no writer of this format writes.
pub(crate) fn bad(what: &str) -> bincode::error::DecodeError {
    bincode::error::DecodeError::OtherString(format!("bad {what}"))
}

/// The encode error of a JSON value that nests too deep.
const TOO_DEEP: &str = "JSON value nests too deep";

/// Appends to the bytes that are there.
pub(crate) struct Appender<'b>(&'b mut Vec<u8>);

impl Writer for Appender<'_> {
    fn write(&mut self, bytes: &[u8]) -> EncodeResult {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// The stored bytes of `value`, without envelope.
///
/// # Errors
/// `LimitExceeded` when there are more bytes than [`limits::RECORD_BYTES`], or when a JSON value
/// nests deeper than [`limits::JSON_DEPTH`].
pub(crate) fn to_bytes(value: &dyn Slot) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    append(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends the stored bytes of `value` to `out`.
///
/// # Errors
/// As [`to_bytes`]. After an error, `out` may end with a part of the value.
pub(crate) fn append(value: &dyn Slot, out: &mut Vec<u8>) -> Result<()> {
    append_within(value, out, limits::RECORD_BYTES)
}

/// [`append`] with a bound of `most` bytes instead of [`limits::RECORD_BYTES`].
///
/// # Errors
/// As [`append`].
pub(crate) fn append_within(value: &dyn Slot, out: &mut Vec<u8>, most: usize) -> Result<()> {
    let start = out.len();
    let mut output = EncoderImpl::new(Appender(out), bincode::config::standard());
    value.put_value(&mut output).map_err(|error| match error {
        bincode::error::EncodeError::Other(TOO_DEEP) => Error::limit(format!(
            "a JSON value in the record nests deeper than the {} levels that can be read back \
             (JSON_DEPTH)",
            limits::JSON_DEPTH
        )),
        error => Error::invalid("the record cannot be encoded").with_source(error),
    })?;
    let len = out.len() - start;
    if len > most {
        return Err(Error::limit(format!(
            "the record takes {len} bytes, more than the {most} that one record may take"
        )));
    }
    Ok(())
}

/// The bytes that are not read yet.
pub(crate) struct Unread<'b>(&'b [u8]);

impl Reader for Unread<'_> {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> DecodeResult<()> {
        let additional = bytes.len().saturating_sub(self.0.len());
        let end = bincode::error::DecodeError::UnexpectedEnd { additional };
        let (read, rest) = self.0.split_at_checked(bytes.len()).ok_or(end)?;
        bytes.copy_from_slice(read);
        self.0 = rest;
        Ok(())
    }

    #[inline]
    fn peek_read(&mut self, count: usize) -> Option<&[u8]> {
        self.0.get(..count)
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }
}

/// Stored bytes, and the format that they were written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Payload<'a> {
    /// The format.
    pub format: Format,
    /// The bytes, without envelope.
    pub bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Bytes that this build wrote.
    #[cfg(any(test, feature = "fuzzing"))]
    #[must_use]
    pub(crate) fn current(bytes: &'a [u8]) -> Self {
        Self { format: Format::current(), bytes }
    }
}

/// Reads what [`to_bytes`] of this build, or of an older one, wrote. Members that a format later
/// than the payload's introduced have their defaults.
///
/// # Errors
/// `Corrupt` when the bytes are not the stored form of a `T` in the payload's format, or when some
/// are left over.
pub(crate) fn read<T: Stored>(payload: Payload<'_>) -> Result<T> {
    let mut value = None;
    decode(payload, &mut |input| {
        value = Some(T::take(input)?);
        Ok(())
    })?;
    value.ok_or_else(|| Error::corrupt("a stored record cannot be decoded"))
}

/// [`read`] for bytes that this build wrote.
///
/// # Errors
/// As [`read`].
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn from_bytes<T: Stored>(bytes: &[u8]) -> Result<T> {
    read(Payload::current(bytes))
}

/// Reads only the wanted members of a payload into `value`; the others stay as they are. A large
/// record is decoded in place and not copied.
///
/// # Errors
/// As [`read`], but skipped members are not validated. After an error the value must not be used.
pub(crate) fn fill<T: Stored>(value: &mut T, payload: Payload<'_>, wanted: Members) -> Result<()> {
    decode(payload, &mut |input| value.fill(input, wanted))
}

/// Calls `f` with the payload of each value in the list that is the only member of a record, until
/// it returns false. The values are not decoded: [`fill`] and [`read`] do that.
///
/// # Errors
/// Those of `f`; as [`fill`].
pub(crate) fn each_listed<T: Stored>(
    payload: Payload<'_>,
    f: &mut dyn FnMut(Payload<'_>) -> Result<bool>,
) -> Result<()> {
    let mut outcome = Ok(true);
    decode(payload, &mut |input| {
        for _ in 0..take_len(input)? {
            let from = input.reader().0;
            T::skip(input)?;
            if matches!(outcome, Ok(true)) {
                let len = from.len() - input.reader().0.len();
                let bytes = from.get(..len).unwrap_or_default();
                outcome = f(Payload { format: payload.format, bytes });
            }
        }
        Ok(())
    })?;
    outcome.map(drop)
}

fn decode(
    payload: Payload<'_>,
    take: &mut dyn FnMut(&mut Input<'_>) -> DecodeResult<()>,
) -> Result<()> {
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let mut input = DecoderImpl::new(Unread(payload.bytes), config, payload.format);
    take(&mut input)
        .map_err(|error| Error::corrupt("a stored record cannot be decoded").with_source(error))?;
    if input.reader().peek_read(1).is_some() {
        return Err(Error::corrupt("a stored record has bytes after its end"));
    }
    Ok(())
}

/// Reads the place of a value of an enumeration, whose values came with these formats: bytes of an
/// older format cannot contain it.
pub(crate) fn take_place(since: &[u8], name: &str, input: &mut Input<'_>) -> DecodeResult<usize> {
    let place = usize::from(u8::take(input)?);
    let format = format(input);
    let is_known = since.get(place).is_some_and(|since| format.has(*since));
    if is_known { Ok(place) } else { Err(bad(name)) }
}

macro_rules! stored_natively {
    ($($ty:ty),*) => { $(
        impl Stored for $ty {
            fn put(&self, out: &mut Output<'_>) -> EncodeResult {
                Encode::encode(self, out)
            }
            fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
                Decode::decode(input)
            }
        }
    )* };
}

stored_natively!(bool, u8, u16, u32, u64, i32, i64, f32, f64);

impl Stored for String {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        self.as_str().encode(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        let len = take_len(input)?;
        input.claim_bytes_read(len)?;
        // The bytes are borrowed from the input before they are copied, so a forged length that is
        // longer than the input allocates nothing.
        let bytes = input.reader().peek_read(len).ok_or_else(|| bad("text"))?;
        let text = std::str::from_utf8(bytes).map_err(|_| bad("text"))?.to_owned();
        input.reader().consume(len);
        Ok(text)
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        let len = take_len(input)?;
        input.claim_bytes_read(len)?;
        input.reader().peek_read(len).ok_or_else(|| bad("text"))?;
        input.reader().consume(len);
        Ok(())
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        match self {
            None => 0u8.put(out),
            Some(value) => {
                1u8.put(out)?;
                value.put(out)
            }
        }
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        match u8::take(input)? {
            0 => Ok(None),
            1 => Ok(Some(T::take(input)?)),
            _ => Err(bad("option")),
        }
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        match u8::take(input)? {
            0 => Ok(()),
            1 => T::skip(input),
            _ => Err(bad("option")),
        }
    }
    fn settle(&mut self) {
        self.iter_mut().for_each(T::settle);
    }
}

fn take_len(input: &mut Input<'_>) -> DecodeResult<usize> {
    // Each element takes at least one byte, so with a forged length the decoding reaches the end of
    // the input or the byte limit before it allocates much.
    usize::try_from(u64::take(input)?).map_err(|_| bad("length"))
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        (self.len() as u64).put(out)?;
        self.iter().try_for_each(|item| item.put(out))
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        let len = take_len(input)?;
        let mut items = Vec::with_capacity(len.min(1024));
        for _ in 0..len {
            items.push(T::take(input)?);
        }
        Ok(items)
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        (0..take_len(input)?).try_for_each(|_| T::skip(input))
    }
    fn settle(&mut self) {
        self.iter_mut().for_each(T::settle);
    }
}

impl<V: Stored> Stored for BTreeMap<String, V> {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        (self.len() as u64).put(out)?;
        self.iter().try_for_each(|(key, value)| {
            key.put(out)?;
            value.put(out)
        })
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        let len = take_len(input)?;
        let mut map = BTreeMap::new();
        for _ in 0..len {
            let key = String::take(input)?;
            map.insert(key, V::take(input)?);
        }
        Ok(map)
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        (0..take_len(input)?).try_for_each(|_| {
            String::skip(input)?;
            V::skip(input)
        })
    }
    fn settle(&mut self) {
        self.values_mut().for_each(V::settle);
    }
}

impl<T: Stored> Stored for Box<T> {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        (**self).put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        T::take(input).map(Box::new)
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        T::skip(input)
    }
    fn settle(&mut self) {
        (**self).settle();
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        self.0.put(out)?;
        self.1.put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        Ok((A::take(input)?, B::take(input)?))
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        A::skip(input)?;
        B::skip(input)
    }
    fn settle(&mut self) {
        self.0.settle();
        self.1.settle();
    }
}

impl Stored for DateTime<Utc> {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        self.timestamp_millis().put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        DateTime::from_timestamp_millis(i64::take(input)?).ok_or_else(|| bad("time"))
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        i64::skip(input)
    }
    fn settle(&mut self) {
        *self = super::time::truncate(*self);
    }
}

/// Whether a JSON value nests deeper than `levels`; recurses at most that deep.
pub(crate) fn is_deeper(json: &serde_json::Value, levels: usize) -> bool {
    match (json, levels.checked_sub(1)) {
        (serde_json::Value::Array(_) | serde_json::Value::Object(_), None) => true,
        (serde_json::Value::Array(items), Some(rest)) => {
            items.iter().any(|item| is_deeper(item, rest))
        }
        (serde_json::Value::Object(members), Some(rest)) => {
            members.values().any(|member| is_deeper(member, rest))
        }
        _ => false,
    }
}

impl Stored for serde_json::Value {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        // The parser that reads the text back has a depth limit, so a deeper value could not be
        // read.
        if is_deeper(self, limits::JSON_DEPTH) {
            return Err(bincode::error::EncodeError::Other(TOO_DEEP));
        }
        self.to_string().put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        serde_json::from_str(&String::take(input)?).map_err(|_| bad("JSON value"))
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        String::skip(input)
    }
}

impl Stored for ApiError {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        // Inner errors may nest. The stored form is therefore JSON text, whose parser limits the
        // depth.
        serde_json::to_string(self).unwrap_or_default().put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        serde_json::from_str(&String::take(input)?).map_err(|_| bad("error record"))
    }
    fn skip(input: &mut Input<'_>) -> DecodeResult<()> {
        String::skip(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forged_length_is_an_error_and_not_an_allocation() {
        let mut bytes = vec![253];
        bytes.extend_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(from_bytes::<Vec<u8>>(&bytes).unwrap_err().kind(), crate::ErrorKind::Corrupt);
        assert!(from_bytes::<String>(&bytes).is_err());
        assert!(from_bytes::<BTreeMap<String, String>>(&bytes).is_err());
    }

    #[test]
    fn records_have_a_bound() {
        // A length of this size takes five bytes itself.
        limits::holds_at(limits::RECORD_BYTES, crate::ErrorKind::LimitExceeded, |bytes| {
            to_bytes(&"x".repeat(bytes - 5))
        });
    }

    #[test]
    fn json_values_have_a_depth() {
        limits::holds_at(limits::JSON_DEPTH, crate::ErrorKind::LimitExceeded, |depth| {
            let nested =
                (0..depth).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
            let bytes = to_bytes(&nested)?;
            assert_eq!(from_bytes::<serde_json::Value>(&bytes).unwrap(), nested);
            Ok(())
        });
    }

    #[test]
    fn a_settled_value_is_what_is_read_back() {
        let exact = crate::value::time::from_millis(1) + chrono::TimeDelta::nanoseconds(999_999);
        let mut value =
            (Some(vec![exact]), BTreeMap::from([("k".to_owned(), DateTime::<Utc>::MAX_UTC)]));
        value.settle();
        assert_eq!(value.0, Some(vec![crate::value::time::from_millis(1)]));
        assert_eq!(value.1["k"], crate::value::time::from_millis(crate::value::time::MAX_MS));
        let bytes = to_bytes(&value).unwrap();
        assert_eq!(
            from_bytes::<(Option<Vec<DateTime<Utc>>>, BTreeMap<String, DateTime<Utc>>)>(&bytes)
                .unwrap(),
            value
        );
    }

    #[test]
    fn bytes_that_are_left_over_are_an_error() {
        let mut bytes = to_bytes(&7u64).unwrap();
        assert_eq!(from_bytes::<u64>(&bytes).unwrap(), 7);
        bytes.push(0);
        assert!(from_bytes::<u64>(&bytes).is_err());
    }
}
