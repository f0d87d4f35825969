//! Which column each column of a Parquet file becomes, and why.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parquet::basic::{ConvertedType, Repetition};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::Type;
use stationdb::arrow::datatypes::{DataType as Arrow, Fields, Schema};
use stationdb::arrow::ipc::root_as_message;
use stationdb::tables::readers::ticks;
use stationdb::tables::{ColumnNote, DataType};
use stationdb::{Error, Result};

use crate::limits;
use crate::options::{ImportOptions, unit_name};
use crate::zone::Zone;

/// Digits that a number of 64 bits keeps of every decimal.
const FLOAT_DIGITS: u8 = 15;
/// Bytes of the name of a zone; longer ones are ignored.
const ZONE_BYTES: usize = 100;
/// The depth of nested columns that are flattened.
const DEPTH: usize = 16;

/// A column without members.
pub(super) struct Leaf {
    /// Its path, such as `a.b`.
    pub(super) name: String,
    arrow: Arrow,
}

/// The columns of a file, and those inside of nested ones, in order.
pub(super) fn leaves(schema: &Schema) -> Vec<Leaf> {
    fn walk(fields: &Fields, before: &str, out: &mut Vec<Leaf>) {
        for field in fields {
            let name = format!("{before}{}", field.name());
            match field.data_type() {
                Arrow::Struct(members) => walk(members, &format!("{name}."), out),
                arrow => out.push(Leaf { name, arrow: arrow.clone() }),
            }
        }
    }
    let mut out = Vec::new();
    walk(schema.fields(), "", &mut out);
    out
}

/// Refuses a column with members, unless it is to be flattened and has only single ones.
///
/// # Errors
/// `Unsupported` with the name of the column.
pub(super) fn check_nested(field: &Type, flatten: bool) -> Result<()> {
    fn is_single(field: &Type, depth: usize) -> bool {
        let info = field.get_basic_info();
        let is_repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
        let is_plain = info.converted_type() != ConvertedType::LIST
            && info.converted_type() != ConvertedType::MAP
            && info.converted_type() != ConvertedType::MAP_KEY_VALUE;
        !is_repeated
            && (!field.is_group()
                || (is_plain
                    && depth < DEPTH
                    && !field.get_fields().is_empty()
                    && field.get_fields().iter().all(|member| is_single(member, depth + 1))))
    }
    let is_nested = field.is_group() || !is_single(field, 0);
    if !is_nested || (flatten && is_single(field, 0)) {
        return Ok(());
    }
    let advice = if is_single(field, 0) {
        "set flatten to import its members as columns"
    } else {
        "a list or map has no columns; write its values as rows"
    };
    Err(Error::unsupported(format!(
        "column {:?} of the Parquet file is nested; a table has single values only: {advice}",
        field.name()
    ))
    .with_args([field.name()]))
}

/// The zones of times that the Arrow schema of the file names: the Parquet types know only UTC.
pub(super) fn zones(metadata: &FileMetaData) -> HashMap<String, String> {
    let mut out = HashMap::new();
    let pairs = metadata.key_value_metadata().into_iter().flatten();
    let text = pairs
        .filter(|pair| pair.key == "ARROW:schema")
        .find_map(|pair| pair.value.as_ref())
        .filter(|text| text.len() <= limits::IMPORT_METADATA_BYTES);
    let Some(bytes) = text.and_then(|text| STANDARD.decode(text).ok()) else { return out };
    // A mark and a length come before the message in all but old files.
    let message = bytes.strip_prefix(&[0xff; 4]).and_then(|rest| rest.get(4..)).unwrap_or(&bytes);
    let Ok(message) = root_as_message(message) else { return out };
    let fields = message.header_as_schema().and_then(|schema| schema.fields());
    for field in fields.into_iter().flatten() {
        let zone = field.type_as_timestamp().and_then(|time| time.timezone());
        if let (Some(name), Some(zone)) = (field.name(), zone)
            && zone.len() <= ZONE_BYTES
        {
            out.insert(name.to_owned(), zone.to_owned());
        }
    }
    out
}

/// A type, and what the report says of it.
pub(super) struct ImportType {
    pub(super) data_type: DataType,
    pub(super) told: ColumnNote,
}

/// The column that a leaf becomes; `zone` is the zone that the file names for its times.
///
/// # Errors
/// `Unsupported` for a type that needs a choice of the caller, or that no column has.
pub(super) fn column(
    leaf: &Leaf,
    zone: Option<&str>,
    options: &ImportOptions,
) -> Result<ImportType> {
    let refused = |advice: &str| {
        Error::unsupported(format!(
            "column {:?} of the Parquet file has the type {}, which no table column has{advice}",
            leaf.name, leaf.arrow
        ))
        .with_args([leaf.name.clone()])
    };
    let wanted = options.types.get(&leaf.name).copied();
    let mut told = ColumnNote::new(format!("the Parquet type is {}", leaf.arrow));
    let naive = |told: &mut ColumnNote| {
        if let Zone::Refuse = options.zone {
            return Err(Error::invalid(format!(
                "the times of column {:?} have no zone, and timeZone is REFUSE; name their zone",
                leaf.name
            ))
            .with_args([leaf.name.clone()]));
        }
        told.time_zone = Some(options.zone.name());
        told.why.push_str(&format!("; times without a zone are taken as {}", options.zone.name()));
        Ok(())
    };
    let inner = match &leaf.arrow {
        Arrow::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let data_type = match inner {
        Arrow::Boolean => DataType::Bool,
        Arrow::Int8 | Arrow::Int16 | Arrow::Int32 | Arrow::UInt8 | Arrow::UInt16 => DataType::Int32,
        Arrow::Int64 | Arrow::UInt32 => DataType::Int64,
        Arrow::UInt64 => {
            told.why.push_str(
                "; values above 9223372036854775807 are refused, unless columnTypes says FLOAT64 \
                 or STRING",
            );
            DataType::Int64
        }
        Arrow::Float16 | Arrow::Float32 => DataType::Float32,
        Arrow::Float64 => DataType::Float64,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => DataType::String,
        Arrow::Null => {
            told.why.push_str("; it has no values");
            DataType::String
        }
        Arrow::Timestamp(unit, in_file) => {
            match in_file {
                None => naive(&mut told)?,
                Some(_) => told.time_zone = Some(zone.unwrap_or("UTC").to_owned()),
            }
            ticks::type_of(*unit)
        }
        Arrow::Date32 | Arrow::Date64 => {
            naive(&mut told)?;
            told.why.push_str(", a date is its midnight");
            DataType::Timestamp
        }
        Arrow::Time32(unit) | Arrow::Time64(unit) => {
            let name = unit_name(*unit);
            told.why.push_str(&format!("; the time of day is counted in {name} from midnight"));
            told.unit = Some(name.to_owned());
            DataType::Int64
        }
        Arrow::Decimal128(precision, 0) if *precision <= 18 => DataType::Int64,
        Arrow::Decimal128(precision, _) if *precision <= FLOAT_DIGITS => {
            told.why.push_str("; a number of 64 bits keeps all its digits");
            DataType::Float64
        }
        Arrow::Decimal128(..) | Arrow::Decimal256(..) => match wanted {
            Some(wanted) => wanted,
            None => {
                return Err(refused(
                    " with all its digits; set columnTypes to FLOAT64, which rounds it, or to \
                     STRING, which keeps its text",
                ));
            }
        },
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => {
            let Some(form) = options.binary else {
                return Err(refused("; set binary to UTF8, HEX or BASE64 to import it as text"));
            };
            told.why.push_str(&format!("; binary is {form}"));
            DataType::String
        }
        _ => return Err(refused("")),
    };
    if let Some(wanted) = wanted.filter(|wanted| *wanted != data_type) {
        told.why.push_str(&format!("; columnTypes says {wanted}"));
        if let (true, true, Some(unit)) = (wanted.is_time(), inner.is_integer(), options.epoch) {
            told.why.push_str(&format!("; numbers count {} since 1970 UTC", unit_name(unit)));
            told.time_zone = Some("UTC".to_owned());
        }
    }
    Ok(ImportType { data_type: wanted.unwrap_or(data_type), told })
}
