//! The structs of Parquet's metadata, and the check of a footer before a parser reads it.

use super::thrift::{Fields, Kind, Part, Stop, WalkResult, walk};
use crate::error::Result;
use crate::value::limits;

const NONE: Fields = &[];
const TIME_UNIT: Fields =
    &[(1, Kind::Struct(NONE)), (2, Kind::Struct(NONE)), (3, Kind::Struct(NONE))];
const TIME: Fields = &[(1, Kind::Bool), (2, Kind::Struct(TIME_UNIT))];
const LOGICAL_TYPE: Fields = &[
    (1, Kind::Struct(NONE)),
    (2, Kind::Struct(NONE)),
    (3, Kind::Struct(NONE)),
    (4, Kind::Struct(NONE)),
    (5, Kind::Struct(&[(1, Kind::I32), (2, Kind::I32)])),
    (6, Kind::Struct(NONE)),
    (7, Kind::Struct(TIME)),
    (8, Kind::Struct(TIME)),
    (10, Kind::Struct(&[(1, Kind::Byte), (2, Kind::Bool)])),
    (11, Kind::Struct(NONE)),
    (12, Kind::Struct(NONE)),
    (13, Kind::Struct(NONE)),
    (14, Kind::Struct(NONE)),
    (15, Kind::Struct(NONE)),
    (16, Kind::Struct(&[(1, Kind::Byte)])),
    (17, Kind::Struct(&[(1, Kind::Binary)])),
    (18, Kind::Struct(&[(1, Kind::Binary), (2, Kind::I32)])),
];
const SCHEMA_ELEMENT: Fields = &[
    (1, Kind::I32),
    (2, Kind::I32),
    (3, Kind::I32),
    (4, Kind::Binary),
    (CHILDREN, Kind::I32),
    (6, Kind::I32),
    (7, Kind::I32),
    (8, Kind::I32),
    (9, Kind::I32),
    (10, Kind::Struct(LOGICAL_TYPE)),
];
const STATISTICS: Fields = &[
    (1, Kind::Binary),
    (2, Kind::Binary),
    (3, Kind::I64),
    (4, Kind::I64),
    (5, Kind::Binary),
    (6, Kind::Binary),
    (7, Kind::Bool),
    (8, Kind::Bool),
];
const KEY_VALUE: Fields = &[(1, Kind::Binary), (2, Kind::Binary)];
const SIZE_STATISTICS: Fields =
    &[(1, Kind::I64), (2, Kind::List(&Kind::I64)), (3, Kind::List(&Kind::I64))];
const BOUNDING_BOX: Fields = &[
    (1, Kind::Double),
    (2, Kind::Double),
    (3, Kind::Double),
    (4, Kind::Double),
    (5, Kind::Double),
    (6, Kind::Double),
    (7, Kind::Double),
    (8, Kind::Double),
];
const GEOSPATIAL_STATISTICS: Fields =
    &[(1, Kind::Struct(BOUNDING_BOX)), (2, Kind::List(&Kind::I32))];
const PAGE_ENCODING_STATS: Fields = &[(1, Kind::I32), (2, Kind::I32), (3, Kind::I32)];
const COLUMN_METADATA: Fields = &[
    (1, Kind::I32),
    (2, Kind::List(&Kind::I32)),
    (3, Kind::List(&Kind::Binary)),
    (4, Kind::I32),
    (5, Kind::I64),
    (6, Kind::I64),
    (7, Kind::I64),
    (8, Kind::List(&Kind::Struct(KEY_VALUE))),
    (9, Kind::I64),
    (10, Kind::I64),
    (11, Kind::I64),
    (12, Kind::Struct(STATISTICS)),
    (13, Kind::List(&Kind::Struct(PAGE_ENCODING_STATS))),
    (14, Kind::I64),
    (15, Kind::I32),
    (16, Kind::Struct(SIZE_STATISTICS)),
    (17, Kind::Struct(GEOSPATIAL_STATISTICS)),
];
const COLUMN_CHUNK: Fields = &[
    (1, Kind::Binary),
    (2, Kind::I64),
    (3, Kind::Struct(COLUMN_METADATA)),
    (4, Kind::I64),
    (5, Kind::I32),
    (6, Kind::I64),
    (7, Kind::I32),
    (8, Kind::Struct(NONE)),
    (9, Kind::Binary),
];
const SORTING_COLUMN: Fields = &[(1, Kind::I32), (2, Kind::Bool), (3, Kind::Bool)];
const ROW_GROUP: Fields = &[
    (1, Kind::List(&Kind::Struct(COLUMN_CHUNK))),
    (2, Kind::I64),
    (3, Kind::I64),
    (4, Kind::List(&Kind::Struct(SORTING_COLUMN))),
    (5, Kind::I64),
    (6, Kind::I64),
    (7, Kind::I16),
];
const COLUMN_ORDER: Fields = &[(1, Kind::Struct(NONE)), (2, Kind::Struct(NONE))];
const FILE_METADATA: Fields = &[
    (1, Kind::I32),
    (SCHEMA, Kind::List(&Kind::Struct(SCHEMA_ELEMENT))),
    (3, Kind::I64),
    (4, Kind::List(&Kind::Struct(ROW_GROUP))),
    (5, Kind::List(&Kind::Struct(KEY_VALUE))),
    (6, Kind::Binary),
    (7, Kind::List(&Kind::Struct(COLUMN_ORDER))),
    (8, Kind::Struct(NONE)),
    (9, Kind::Binary),
];
/// The field of a footer that has the schema, and that of its elements that has the number of
/// their members.
const SCHEMA: i16 = 2;
const CHILDREN: i16 = 5;

/// The header of a page.
pub(in crate::columnar) const PAGE_HEADER: Fields = &[
    (1, Kind::I32),
    (2, Kind::I32),
    (3, Kind::I32),
    (4, Kind::I32),
    (
        5,
        Kind::Struct(&[
            (1, Kind::I32),
            (2, Kind::I32),
            (3, Kind::I32),
            (4, Kind::I32),
            (5, Kind::Struct(STATISTICS)),
        ]),
    ),
    (6, Kind::Struct(NONE)),
    (7, Kind::Struct(&[(1, Kind::I32), (2, Kind::I32), (3, Kind::Bool)])),
    (
        8,
        Kind::Struct(&[
            (1, Kind::I32),
            (2, Kind::I32),
            (3, Kind::I32),
            (4, Kind::I32),
            (5, Kind::I32),
            (6, Kind::I32),
            (7, Kind::Bool),
            (8, Kind::Struct(STATISTICS)),
        ]),
    ),
];

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
pub fn check_parquet_metadata(metadata: &[u8]) -> Result<()> {
    let mut shape = Shape::default();
    let walked = walk(metadata, FILE_METADATA, |path, part| {
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
