//! Waveforms: arrays of samples are appended and read as rows.

use crate::columnar::{Predicates, WaveformReader, waveform_batches};
use crate::error::{Error, Result};
use crate::model::{
    ColumnFilter, FilterOperation, ReadWaveformsRequest, ScanRequest, TableMetadata, Waveform,
    WaveformData,
};
use crate::services::lists;
use crate::services::tables::metadata::found;
use crate::services::tables::{append, read};
use crate::session::Access;
use crate::session::tables::schema_of;
use crate::value::{Control, guarded, limits};

pub(in crate::services) fn append_one<A: Access>(
    access: &A,
    id: &str,
    waveform: &Waveform<'_>,
) -> Result<()> {
    let mut rows = append::begin(access, id)?;
    let schema = rows.schema().clone();
    waveform_batches(&schema, waveform, |batch| rows.push_foreign(batch))?;
    append::commit(rows, false)
}

/// Reads the columns of the axis and of samples in the order of the index.
pub(in crate::services) fn read_all<A: Access>(
    access: &A,
    id: &str,
    request: ReadWaveformsRequest,
    control: &Control,
) -> Result<Vec<WaveformData>> {
    let table = access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    let schema = schema_of(&table)?;
    let columns = request.columns.as_deref();
    let most = limits::QUERY_LIST.max(schema.len().saturating_mul(4));
    lists::check_within("columns", columns.map_or(0, <[String]>::len), most)?;
    let mut reader = WaveformReader::new(&schema, columns)?;
    let index = schema.column(schema.index())?.name.clone();
    let ends = [
        ("from", FilterOperation::GreaterThanEquals, request.from),
        ("to", FilterOperation::LessThanEquals, request.to),
    ];
    let mut filters = Vec::new();
    for (member, operation, value) in ends {
        let Some(value) = value else { continue };
        let filter = ColumnFilter::new(index.clone(), operation).value(value);
        // An end that is no value of the index is told as a member of this request.
        Predicates::new(&schema, std::slice::from_ref(&filter))
            .map_err(|error| error.at_member(member))?;
        filters.push(filter);
    }
    let scan = ScanRequest::new().columns(reader.columns(&schema)?).filters(filters);
    let mut memory = access.context().call_memory();
    let most = memory.most();
    let rows = read::scan(access, id, scan, control)?;
    guarded("reading waveforms", || {
        for batch in rows {
            reader.push(&batch?)?;
            let bytes = usize::try_from(reader.bytes()).unwrap_or(usize::MAX);
            if !memory.hold(bytes)? {
                return Err(Error::limit(format!(
                    "the waveforms need more than the {most} bytes of memory of a query; read \
                     them in pieces by `from` and `to`, read fewer columns, or raise \
                     query_memory_bytes"
                ))
                .with_args([most.to_string()]));
            }
        }
        reader.finish()
    })
}
