//! The structs of Parquet's metadata, and the check of a footer before a parser reads it.

use super::thrift::Kind::{Binary, Bool, Byte, Double, I16, I32, I64, List, Struct, Unknown};
use super::thrift::{Fields, Part, Stop, WalkResult, walk};
use crate::error::Result as StoreResult;
use crate::value::limits;

const NONE: Fields = &[];
const TIME_UNIT: Fields = &[Struct(NONE), Struct(NONE), Struct(NONE)];
const TIME: Fields = &[Bool, Struct(TIME_UNIT)];
const LOGICAL_TYPE: Fields = &[
    Struct(NONE),
    Struct(NONE),
    Struct(NONE),
    Struct(NONE),
    Struct(&[I32, I32]),
    Struct(NONE),
    Struct(TIME),
    Struct(TIME),
    Unknown,
    Struct(&[Byte, Bool]),
    Struct(NONE),
    Struct(NONE),
    Struct(NONE),
    Struct(NONE),
    Struct(NONE),
    Struct(&[Byte]),
    Struct(&[Binary]),
    Struct(&[Binary, I32]),
];
const SCHEMA_ELEMENT: Fields =
    &[I32, I32, I32, Binary, I32, I32, I32, I32, I32, Struct(LOGICAL_TYPE)];
const STATISTICS: Fields = &[Binary, Binary, I64, I64, Binary, Binary, Bool, Bool];
const KEY_VALUE: Fields = &[Binary, Binary];
const SIZE_STATISTICS: Fields = &[I64, List(&I64), List(&I64)];
const BOUNDING_BOX: Fields = &[Double, Double, Double, Double, Double, Double, Double, Double];
const GEOSPATIAL_STATISTICS: Fields = &[Struct(BOUNDING_BOX), List(&I32)];
const PAGE_ENCODING_STATS: Fields = &[I32, I32, I32];
const COLUMN_METADATA: Fields = &[
    I32,
    List(&I32),
    List(&Binary),
    I32,
    I64,
    I64,
    I64,
    List(&Struct(KEY_VALUE)),
    I64,
    I64,
    I64,
    Struct(STATISTICS),
    List(&Struct(PAGE_ENCODING_STATS)),
    I64,
    I32,
    Struct(SIZE_STATISTICS),
    Struct(GEOSPATIAL_STATISTICS),
];
const COLUMN_CHUNK: Fields =
    &[Binary, I64, Struct(COLUMN_METADATA), I64, I32, I64, I32, Struct(NONE), Binary];
const SORTING_COLUMN: Fields = &[I32, Bool, Bool];
const ROW_GROUP: Fields =
    &[List(&Struct(COLUMN_CHUNK)), I64, I64, List(&Struct(SORTING_COLUMN)), I64, I64, I16];
const COLUMN_ORDER: Fields = &[Struct(NONE), Struct(NONE)];
const FILE_METADATA: Fields = &[
    I32,
    List(&Struct(SCHEMA_ELEMENT)),
    I64,
    List(&Struct(ROW_GROUP)),
    List(&Struct(KEY_VALUE)),
    Binary,
    List(&Struct(COLUMN_ORDER)),
    Struct(NONE),
    Binary,
];

/// The field of a footer that has the schema, and that of its elements that has the number of
/// their members.
const SCHEMA: i16 = 2;
const CHILDREN: i16 = 5;

const PAGE_HEADER: Fields = &[
    I32,
    I32,
    I32,
    I32,
    Struct(&[I32, I32, I32, I32, Struct(STATISTICS)]),
    Struct(NONE),
    Struct(&[I32, I32, Bool]),
    Struct(&[I32, I32, I32, I32, I32, I32, Bool, Struct(STATISTICS)]),
];

/// The number of the type of pages of values.
pub const DATA: i64 = 0;
/// The number of the type of pages of an index.
pub const INDEX: i64 = 1;
/// The number of the type of pages of a dictionary.
pub const DICTIONARY: i64 = 2;
/// The number of the type of pages of values of the second version.
pub const DATA_V2: i64 = 3;

/// What the header of a page declares; -1 for what it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// Bytes of the header itself.
    pub len: usize,
    /// The number of its type.
    pub page_type: i64,
    /// Bytes of the page after the header, before compression.
    pub uncompressed: i64,
    /// The same after compression.
    pub compressed: i64,
    /// Values of the page, nulls included.
    pub values: i64,
    /// Number of the encoding; of a page of the second version it is not read.
    pub encoding: i64,
    /// Bytes of the levels of a page of the second version.
    pub levels: i64,
}

impl PageHeader {
    /// The header at the start of `bytes`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(bytes: &[u8]) -> Result<Self, Stop> {
        let mut header = Self {
            len: 0,
            page_type: -1,
            uncompressed: -1,
            compressed: -1,
            values: -1,
            encoding: -1,
            levels: 0,
        };
        let len = walk(bytes, PAGE_HEADER, &mut |path, part| {
            let Part::Number(value) = part else { return Ok(()) };
            match path {
                [1] => header.page_type = value,
                [2] => header.uncompressed = value,
                [3] => header.compressed = value,
                // The headers of all pages begin with the same field.
                [5 | 7 | 8, 1] => header.values = value,
                [5 | 7, 2] => header.encoding = value,
                [8, 5 | 6] => header.levels = header.levels.saturating_add(value.max(0)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { len, ..header })
    }
}

/// The tree that the flat list of a schema describes, as far as it was read.
#[derive(Debug, Default)]
struct Shape {
    /// The elements that are still to come on each level.
    open: Vec<i64>,
    is_begun: bool,
    children: i64,
}

impl Shape {
    fn end_of_element(&mut self) -> WalkResult<()> {
        let children = std::mem::take(&mut self.children);
        match self.open.last_mut() {
            Some(left) => *left -= 1,
            None if self.is_begun => {
                return Err(Stop::Malformed("its schema has more than one root"));
            }
            None => self.is_begun = true,
        }
        if children < 0 {
            return Err(Stop::Malformed("a column of its schema has a negative number of members"));
        }
        if children > 0 {
            self.open.push(children);
            if self.open.len() > limits::PARQUET_DEPTH {
                return Err(Stop::Beyond(format!(
                    "nests columns deeper than the {} levels that one may have (PARQUET_DEPTH); a \
                     table has single values only",
                    limits::PARQUET_DEPTH
                )));
            }
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        Ok(())
    }
}

/// Checks the metadata at the end of a Parquet file before a parser reads it.
///
/// What must hold: the parser makes a tree of the flat list of the schema, by recursion, and
/// reserves memory by the declared numbers of members. After this check the tree is no deeper than
/// [`limits::PARQUET_DEPTH`], also when it is dropped, and the list has exactly the members that
/// its elements declare.
///
/// # Errors
/// `InvalidArgument` for bytes that are not the metadata of a Parquet file; `LimitExceeded` for a
/// schema that nests too deeply.
pub fn check_parquet_metadata(metadata: &[u8]) -> StoreResult<()> {
    let mut shape = Shape::default();
    let walked = walk(metadata, FILE_METADATA, &mut |path, part| {
        match (path, part) {
            ([SCHEMA, CHILDREN], Part::Number(count)) => shape.children = count,
            ([SCHEMA], Part::End) => return shape.end_of_element(),
            _ => {}
        }
        Ok(())
    });
    let walked = walked.and(if shape.open.is_empty() {
        Ok(())
    } else {
        Err(Stop::Malformed("its schema lacks columns that it declares"))
    });
    walked.map_err(|stop| stop.into_error("the footer of the Parquet file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// The metadata of a file without rows, whose one column is inside of `groups` groups.
    fn nested(groups: usize) -> Vec<u8> {
        let count = groups + 1;
        let mut out = vec![0x15, 2, 0x19, 0xfc, count as u8 & 0x7f | 0x80, (count >> 7) as u8];
        out.extend([0x48, 1, b'g', 0x15, 2, 0]);
        for _ in 1..groups {
            out.extend([0x35, 0, 0x18, 1, b'g', 0x15, 2, 0]);
        }
        out.extend([0x15, 2, 0x25, 0, 0x18, 1, b'i', 0, 0x16, 0, 0x19, 0x0c, 0]);
        out
    }

    #[test]
    fn groups_nest_as_deep_as_the_limit_and_no_deeper() {
        limits::holds_at(limits::PARQUET_DEPTH, ErrorKind::LimitExceeded, |groups| {
            check_parquet_metadata(&nested(groups))
        });
    }
}
