//! Conditions on the rows of a table, as `--from`, `--to` and `--where` give them.

use stationdb::tables::{ColumnFilter, ColumnType, FilterOperation, TableMetadata};

use crate::args::Range;
use crate::failure::{Failure, Outcome};

/// Symbols before words, and longer symbols before their beginnings.
const OPERATIONS: &[(&str, FilterOperation)] = &[
    ("<=", FilterOperation::LessThanEquals),
    (">=", FilterOperation::GreaterThanEquals),
    ("!=", FilterOperation::NotEquals),
    ("<>", FilterOperation::NotEquals),
    ("==", FilterOperation::Equals),
    ("=", FilterOperation::Equals),
    ("<", FilterOperation::LessThan),
    (">", FilterOperation::GreaterThan),
    (" not contains ", FilterOperation::NotContains),
    (" contains ", FilterOperation::Contains),
];

/// The filters that a row has to match.
pub fn filters(table: &TableMetadata, range: &Range) -> Outcome<Vec<ColumnFilter>> {
    let mut filters = Vec::new();
    let bounds =
        [(&range.from, FilterOperation::GreaterThanEquals), (&range.to, FilterOperation::LessThan)];
    for (bound, operation) in bounds {
        if let Some(bound) = bound {
            filters.push(ColumnFilter::new(index(table)?, operation).value(bound));
        }
    }
    for condition in &range.conditions {
        filters.push(filter(table, condition)?);
    }
    Ok(filters)
}

/// The name of the index column.
pub fn index(table: &TableMetadata) -> Outcome<&str> {
    let mut columns = table.columns.iter().flatten();
    let index = columns.find(|column| column.column_type == ColumnType::Index);
    let index = index.map(|column| column.name.as_str());
    index.ok_or_else(|| Failure::usage("the table has no index column"))
}

fn filter(table: &TableMetadata, condition: &str) -> Outcome<ColumnFilter> {
    // A column may have any name, also one with an operation in it: the longest name wins.
    let text = condition.trim();
    let names = table.columns.iter().flatten().map(|column| column.name.as_str());
    let mut fits: Vec<(&str, FilterOperation, &str)> = names
        .filter_map(|name| {
            let rest = text.strip_prefix(name)?;
            let symbol = OPERATIONS.iter().find_map(|(symbol, operation)| {
                let is_word = symbol.starts_with(' ');
                let rest = if is_word { rest } else { rest.trim_start() };
                Some((*operation, rest.strip_prefix(symbol)?.trim()))
            });
            symbol.map(|(operation, value)| (name, operation, value))
        })
        .collect();
    fits.sort_by_key(|(name, _, _)| name.len());
    let Some((name, operation, value)) = fits.pop() else {
        return Err(Failure::usage(format!(
            "the condition {condition:?} is not COLUMN OPERATION VALUE with a column of the table \
             and one of = != < <= > >= contains, not contains"
        )));
    };
    let filter = ColumnFilter::new(name, operation);
    Ok(match value {
        "null" => filter,
        value => filter.value(value),
    })
}

#[cfg(test)]
mod tests {
    use stationdb::tables::{Column, DataType};

    use super::*;

    #[test]
    fn conditions_name_a_column_an_operation_and_a_value() {
        let column = |name: &str| Column::new(name, DataType::String);
        let columns = Some(vec![column("v"), column("v > 1"), column("free text")]);
        let mut table = TableMetadata::default();
        table.columns = columns;
        let read = |text: &str| {
            filter(&table, text).map(|f| (f.column, f.operation, f.value)).map_err(|f| f.message)
        };
        let expect = |column: &str, operation, value: Option<&str>| {
            Ok((column.to_owned(), operation, value.map(str::to_owned)))
        };
        assert_eq!(read("v>=1"), expect("v", FilterOperation::GreaterThanEquals, Some("1")));
        assert_eq!(read(" v <  -1 "), expect("v", FilterOperation::LessThan, Some("-1")));
        assert_eq!(read("v > 1 = x"), expect("v > 1", FilterOperation::Equals, Some("x")));
        assert_eq!(read("v != null"), expect("v", FilterOperation::NotEquals, None));
        assert_eq!(
            read("free text not contains a > b"),
            expect("free text", FilterOperation::NotContains, Some("a > b"))
        );
        assert_eq!(
            read("free text contains a"),
            expect("free text", FilterOperation::Contains, Some("a"))
        );
        for wrong in ["w = 1", "v", "v ~ 1", "= 1", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
