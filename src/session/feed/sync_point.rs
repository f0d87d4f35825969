//! A place in the feed of a reader that may be in the middle of a full pass.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::position::Position;
use crate::error::{Error, Result};

/// Bytes of the longest key of a record with the code of its kind.
const KEY_BYTES: usize = 17;

/// Where a reader of a [`SyncStream`](crate::SyncStream) is: at a position of the change feed, or
/// within a full pass.
///
/// Its text, which is also its JSON, can be stored and read again. The text of a position is the
/// number.
///
/// ```
/// use stationdb::{Position, SyncPoint};
///
/// let point = SyncPoint::from(Position(7));
/// assert_eq!(point.to_string(), "7");
/// assert_eq!("7".parse::<SyncPoint>()?, point);
/// assert!(!point.is_in_pass());
/// # Ok::<(), stationdb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SyncPoint {
    pub(crate) position: Position,
    /// In a full pass, the key of the last record that was handled, with the code of its kind;
    /// empty before the first.
    pub(crate) pass_after: Option<Vec<u8>>,
}

impl SyncPoint {
    /// The position. In a full pass it is the one at which the pass began: changes after it follow
    /// the pass.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether a full pass is under way.
    #[must_use]
    pub fn is_in_pass(&self) -> bool {
        self.pass_after.is_some()
    }
}

impl From<Position> for SyncPoint {
    fn from(position: Position) -> Self {
        Self { position, pass_after: None }
    }
}

impl From<&Self> for SyncPoint {
    fn from(point: &Self) -> Self {
        point.clone()
    }
}

impl fmt::Display for SyncPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position.0)?;
        let Some(after) = &self.pass_after else { return Ok(()) };
        f.write_str("/")?;
        after.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for SyncPoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (position, after) = match text.split_once('/') {
            Some((position, after)) => (position, Some(after)),
            None => (text, None),
        };
        let bad = || {
            Error::invalid("the point of a feed is damaged; use one as a sync stream returned it")
        };
        let number = Some(position).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let position = number.and_then(|number| number.parse().ok()).ok_or_else(bad)?;
        let pass_after = after.map(|hex| bytes_of(hex).ok_or_else(bad)).transpose()?;
        Ok(Self { position: Position(position), pass_after })
    }
}

/// The key in hexadecimal digits; `None` if it cannot be one.
fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = hex.as_bytes().iter().map(digit).collect::<Option<_>>()?;
    if digits.len() > 2 * KEY_BYTES || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| Some(pair.first()? << 4 | pair.get(1)?)).collect()
}

impl Serialize for SyncPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SyncPoint {
    fn deserialize<D: Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        text.parse().map_err(|error: Error| serde::de::Error::custom(error.message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_read_as_it_was_written_and_no_other_text_is_one() {
        let key = vec![1, 0, 0xff, 7];
        for pass_after in [None, Some(Vec::new()), Some(key), Some(vec![9; KEY_BYTES])] {
            let point = SyncPoint { position: Position(u64::MAX), pass_after };
            assert_eq!(point.to_string().parse::<SyncPoint>().unwrap(), point);
            let json = serde_json::to_string(&point).unwrap();
            assert_eq!(serde_json::from_str::<SyncPoint>(&json).unwrap(), point);
        }
        let long = format!("1/{}", "00".repeat(KEY_BYTES + 1));
        for text in ["", "x", "-1", "+1", "1/0", "1/0g", "1/00/", "18446744073709551616", &long] {
            assert!(text.parse::<SyncPoint>().is_err(), "{text}");
        }
    }
}
