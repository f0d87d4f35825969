//! Encodes row groups on worker threads while the next rows arrive, and appends them to the file in
//! order.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{
    Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use super::checked::HashingFile;
use super::encoding::properties;
use super::extreme_rows::ExtremeRows;
use super::summary::{Blocks, Summarizer};
use super::value_index::{IndexPart, IndexPlace, build};
use crate::arrow::array::RecordBatch;
use crate::columnar::guard::guarded;
use crate::columnar::parquet_format::nan_statistics;
use crate::columnar::schema::TableSchema;
use crate::error::{Error, ErrorKind, Result};
use crate::value::limits;

/// Row groups that may wait for a worker. Each has the rows that the caller passed, and is bounded
/// as a row group is.
const WAITING: usize = 1;

type Job = (usize, Vec<RecordBatch>);
type Done = (usize, std::result::Result<Group, ParquetError>);

/// One encoded row group.
struct Group {
    chunks: Vec<ArrowColumnChunk>,
    summaries: Vec<(usize, Blocks)>,
    /// The extreme rows, which are written after the row group.
    extreme_rows: Vec<u8>,
    /// The value indexes, each with the position of its column; they are written after that.
    indexes: Vec<(usize, IndexPart)>,
}

struct Workers {
    give: Option<SyncSender<Job>>,
    take: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn start(schema: &Arc<TableSchema>) -> Self {
        let (give, jobs) = sync_channel::<Job>(WAITING);
        let (done, take) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let threads = (0..limits::QUERY_THREADS)
            .map(|_| {
                let (schema, jobs, done): (_, _, Sender<Done>) =
                    (schema.clone(), jobs.clone(), done.clone());
                std::thread::spawn(move || {
                    loop {
                        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, batches)) = next else { return };
                        // After a panic a result must be sent, too, because the caller waits for
                        // it.
                        let group = guarded(|| encode(&schema, &batches));
                        let group = group.unwrap_or_else(|| {
                            Err(ParquetError::General("it panicked".to_owned()))
                        });
                        if done.send((number, group)).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        Self { give: Some(give), take, threads }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The workers end when the sender is dropped.
        self.give = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Encodes the rows of one row group, each column in the encoding that suits its values.
fn encode(
    schema: &TableSchema,
    batches: &[RecordBatch],
) -> std::result::Result<Group, ParquetError> {
    // The library takes the properties of columns from a file, so each row group gets a file of its
    // own that is not stored.
    let unread = writer(std::io::sink(), schema, properties(schema, batches))?;
    let writers = ArrowRowGroupWriterFactory::new(&unread, schema.arrow().clone())
        .create_column_writers(0)?;
    let mut summarizer = Summarizer::new(schema.columns().iter().map(|column| column.data_type));
    let mut chunks = Vec::with_capacity(writers.len());
    for (position, (mut writer, field)) in
        writers.into_iter().zip(schema.arrow().fields()).enumerate()
    {
        for array in batches.iter().filter_map(|batch| batch.columns().get(position)) {
            for leaf in compute_leaves(field, array)? {
                writer.write(&leaf)?;
            }
            summarizer.push(position, array);
        }
        chunks.push(writer.close()?);
    }
    let summaries = summarizer.finish();
    for (position, blocks) in &summaries {
        if let (true, Some(chunk)) = (blocks.has_nan(), chunks.get_mut(*position)) {
            nan_statistics::leave_out(chunk)?;
        }
    }
    let extreme_rows =
        ExtremeRows::of(schema).map(|rows| rows.collect(batches, &summaries)).unwrap_or_default();
    let column = |position| batches.iter().filter_map(move |batch| batch.columns().get(position));
    let indexes = schema.indexed().filter_map(|at| Some((at, build(column(at))?))).collect();
    Ok(Group { chunks, summaries, extreme_rows, indexes })
}

fn writer<W: Write + Send>(
    out: W,
    schema: &TableSchema,
    properties: WriterProperties,
) -> std::result::Result<SerializedFileWriter<W>, ParquetError> {
    let parquet = ArrowSchemaConverter::new().convert(schema.arrow())?;
    SerializedFileWriter::new(out, parquet.root_schema_ptr(), Arc::new(properties))
}

/// Writes row groups to a file.
pub(super) struct Encoder {
    schema: Arc<TableSchema>,
    file: SerializedFileWriter<HashingFile>,
    workers: Option<Workers>,
    /// Row groups that were passed to workers, and row groups that are in the file.
    given: usize,
    appended: usize,
    /// Encoded row groups that wait for earlier ones.
    ready: BTreeMap<usize, Group>,
    summaries: Vec<(usize, Blocks)>,
    /// Offset of the extreme rows of each row group.
    extreme_rows: Vec<u64>,
    indexes: Vec<IndexPlace>,
}

/// A Parquet file with all row groups and its footer, and the data for the summary.
pub(super) struct EncodedFile {
    pub file: HashingFile,
    /// Each with the position of its column.
    pub summaries: Vec<(usize, Blocks)>,
    /// Offset of the extreme rows of each row group; empty if none are stored.
    pub extreme_rows: Vec<u64>,
    /// Where the value indexes are, by row group and column.
    pub indexes: Vec<IndexPlace>,
}

pub(super) fn write_error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => Error::io("writing a segment", *io),
            Err(other) => Error::new(ErrorKind::Io, format!("writing a segment: {other}")),
        },
        other => Error::new(ErrorKind::Io, "writing a segment").with_source(other),
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Io, "writing a segment: a thread that encodes rows ended unexpectedly")
}

impl Encoder {
    pub(super) fn new(file: HashingFile, schema: &Arc<TableSchema>) -> Result<Self> {
        let file = writer(file, schema, properties(schema, &[])).map_err(write_error)?;
        Ok(Self {
            schema: schema.clone(),
            file,
            workers: None,
            given: 0,
            appended: 0,
            ready: BTreeMap::new(),
            summaries: Vec::new(),
            extreme_rows: Vec::new(),
            indexes: Vec::new(),
        })
    }

    /// Takes the rows of the next row group. The last one of a file is encoded on this thread if
    /// there are no workers, so that a small segment starts no thread.
    pub(super) fn put(&mut self, batches: Vec<RecordBatch>, is_last: bool) -> Result<()> {
        let number = self.given;
        self.given += 1;
        if is_last && self.workers.is_none() {
            let group = encode(&self.schema, &batches).map_err(write_error)?;
            self.ready.insert(number, group);
            return self.append_ready();
        }
        let mut job = (number, batches);
        loop {
            let workers = self.workers.get_or_insert_with(|| Workers::start(&self.schema));
            let give = workers.give.as_ref().ok_or_else(stopped)?;
            match give.try_send(job) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return Err(stopped()),
                // The queue is full: waits for an encoded row group before it tries again, which
                // bounds the rows in memory.
                Err(TrySendError::Full(back)) => {
                    job = back;
                    let done = workers.take.recv().map_err(|_| stopped())?;
                    self.accept(done)?;
                }
            }
        }
        loop {
            let Some(workers) = &self.workers else { return Ok(()) };
            match workers.take.try_recv() {
                Ok(done) => self.accept(done)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(stopped()),
            }
        }
    }

    fn accept(&mut self, (number, group): Done) -> Result<()> {
        self.ready.insert(number, group.map_err(write_error)?);
        self.append_ready()
    }

    fn append_ready(&mut self) -> Result<()> {
        while let Some(group) = self.ready.remove(&self.appended) {
            let mut writer = self.file.next_row_group().map_err(write_error)?;
            for chunk in group.chunks {
                chunk.append_to_row_group(&mut writer).map_err(write_error)?;
            }
            writer.close().map_err(write_error)?;
            if !group.extreme_rows.is_empty() {
                self.extreme_rows.push(self.file.bytes_written() as u64);
                self.file
                    .write_all(&group.extreme_rows)
                    .map_err(|error| Error::io("writing a segment", error))?;
            }
            for (column, IndexPart { place, bytes }) in group.indexes {
                let offset = self.file.bytes_written() as u64;
                self.file
                    .write_all(&bytes)
                    .map_err(|error| Error::io("writing a segment", error))?;
                let (group, column) = (self.appended as u32, column as u32);
                self.indexes.push(IndexPlace { group, column, offset, ..place });
            }
            self.appended += 1;
            for (position, blocks) in group.summaries {
                match self.summaries.iter_mut().find(|(other, _)| *other == position) {
                    Some((_, before)) => before.append(blocks),
                    None => self.summaries.push((position, blocks)),
                }
            }
        }
        Ok(())
    }

    /// Waits for the row groups that are still being encoded, and completes the file.
    pub(super) fn finish(mut self) -> Result<EncodedFile> {
        while self.appended < self.given {
            let done =
                self.workers.as_ref().ok_or_else(stopped)?.take.recv().map_err(|_| stopped())?;
            self.accept(done)?;
        }
        Ok(EncodedFile {
            file: self.file.into_inner().map_err(write_error)?,
            summaries: self.summaries,
            extreme_rows: self.extreme_rows,
            indexes: self.indexes,
        })
    }
}
