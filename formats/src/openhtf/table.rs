//! The tables of measurements with dimensions.

use stationdb::Result;
use stationdb::tables::{Column, ColumnType, DataFrame, DataType};

use super::json::{At, Json};
use crate::results::step::NewTable;
use crate::results::text::{cell, special};

/// The index of such a table.
const ROW: &str = "row";
/// The column of the measured values.
const VALUE: &str = "value";

/// The table of the measured values of a measurement with dimensions.
///
/// # Errors
/// `InvalidArgument` for a row that does not fit the dimensions.
pub(super) fn table_of(
    name: String,
    dimensions: &At<'_>,
    unit: Option<&str>,
    values: &At<'_>,
) -> Result<NewTable> {
    let mut names = vec![ROW.to_owned()];
    let mut units = Vec::new();
    for (at, dimension) in dimensions.items()?.enumerate() {
        let given = |member| -> Result<Option<&str>> {
            Ok(dimension.text(member)?.filter(|text| !text.trim().is_empty()))
        };
        let base = given("description")?.or(given("name")?);
        let base = base.map_or_else(|| format!("dimension {at}"), str::to_owned);
        names.push(unused(&names, base));
        units.push(dimension.text("suffix")?);
    }
    names.push(unused(&names, VALUE.to_owned()));
    units.push(unit);
    let mut rows: Vec<Vec<&Json>> = Vec::new();
    for row in values.items()? {
        let cells: Vec<&Json> = row.items()?.map(|cell| cell.json).collect();
        if cells.len() != units.len() {
            return Err(row.error(format_args!(
                "expected a value for each of {} dimensions and the measured one, found {}",
                units.len() - 1,
                cells.len()
            )));
        }
        rows.push(cells);
    }
    let mut columns = vec![Column::new(ROW, DataType::Int64).column_type(ColumnType::Index)];
    for (at, (name, unit)) in names.iter().skip(1).zip(units).enumerate() {
        let cells = || rows.iter().filter_map(|row| row.get(at).copied());
        let is_nullable = cells().any(|cell| *cell == Json::Null);
        let role = if is_nullable { ColumnType::Nullable } else { ColumnType::Normal };
        let mut column = Column::new(name, type_of(cells())).column_type(role);
        if let Some(unit) = unit {
            column = column.properties([("unit", unit)]);
        }
        columns.push(column);
    }
    let texts = rows.iter().enumerate().map(|(number, row)| {
        let cells = columns.iter().skip(1).zip(row);
        let cells = cells.map(|(column, cell)| text_of(column.data_type, cell));
        std::iter::once(Some(number.to_string())).chain(cells).collect()
    });
    let rows = DataFrame::new().data(texts.collect::<Vec<Vec<Option<String>>>>()).columns(names);
    Ok(NewTable { name, columns, rows })
}

/// The name, with a number if another column has it.
fn unused(names: &[String], base: String) -> String {
    let is_taken = |name: &String| names.contains(name);
    if !is_taken(&base) {
        return base;
    }
    let numbered = (2..).map(|number: usize| format!("{base} {number}"));
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or(base)
}

fn type_of<'j>(cells: impl Iterator<Item = &'j Json>) -> DataType {
    let (mut has_bools, mut has_numbers) = (false, false);
    for cell in cells {
        match cell {
            Json::Null => {}
            Json::Bool(_) => has_bools = true,
            Json::Number(_) => has_numbers = true,
            Json::Text(text) if special(text).is_some() => has_numbers = true,
            _ => return DataType::String,
        }
    }
    match (has_bools, has_numbers) {
        (true, true) => DataType::String,
        (true, false) => DataType::Bool,
        _ => DataType::Float64,
    }
}

fn text_of(data_type: DataType, value: &Json) -> Option<String> {
    match value {
        Json::Text(text) if data_type == DataType::Float64 => special(text).map(cell),
        _ => value.text(),
    }
}
