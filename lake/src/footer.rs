//! Opens Parquet files that others may have written: nothing parses a footer before it was checked.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::ChunkReader;
use stationdb::tables::check_parquet_metadata;

#[cfg(any(test, feature = "faults"))]
use crate::encoding::varint;

/// The length of the footer, and the mark.
const TRAILER: u64 = 8;

/// A reader of a file of Parquet.
///
/// # Errors
/// `External` with an error of this project for a footer that is refused; errors of the file and of
/// the parser.
pub(crate) fn open<F: ChunkReader + 'static>(
    file: F,
    options: ArrowReaderOptions,
) -> ParquetResult<ParquetRecordBatchReaderBuilder<F>> {
    let cut = || ParquetError::EOF("the file does not end with a footer of Parquet".to_owned());
    let end = file.len().checked_sub(TRAILER).ok_or_else(cut)?;
    let len = footer_len(&file.get_bytes(end, TRAILER as usize)?).ok_or_else(cut)?;
    let start = end.checked_sub(len).ok_or_else(cut)?;
    let footer = file.get_bytes(start, len as usize)?;
    check_parquet_metadata(&footer).map_err(|error| ParquetError::External(Box::new(error)))?;
    let metadata = Arc::new(ParquetMetaDataReader::decode_metadata(&footer)?);
    let metadata = ArrowReaderMetadata::try_new(metadata, options)?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
}

/// The length of the footer of a file that ends with these bytes; `None` if it is none of Parquet.
fn footer_len(bytes: &[u8]) -> Option<u64> {
    match bytes.last_chunk::<{ TRAILER as usize }>()?.split_first_chunk::<4>()? {
        (len, b"PAR1") => Some(u32::from_le_bytes(*len).into()),
        _ => None,
    }
}

/// An object store for engines that read Parquet files of a lake with a parser of their own: a footer
/// that would end the process by its nesting is an error of the read that returns it.
///
/// A footer that a read returns in whole is checked there. Of a longer one the rest is requested once
/// more. What else the store does is as before.
#[must_use]
pub fn with_checked_footers(objects: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
    Arc::new(CheckedFooters(objects))
}

#[derive(Debug)]
struct CheckedFooters(Arc<dyn ObjectStore>);

impl fmt::Display for CheckedFooters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CheckedFooters {
    /// Checks the footer if `bytes`, which end at an offset of an object, have the end of one.
    ///
    /// What else ends like a footer is no error: it is one only at the end of the object.
    async fn check(&self, location: &Path, end: u64, bytes: &[u8]) -> object_store::Result<()> {
        let Some(len) = footer_len(bytes) else { return Ok(()) };
        let Some(start) = end.checked_sub(TRAILER + len) else { return Ok(()) };
        let has = usize::try_from(TRAILER + len).ok().and_then(|len| bytes.len().checked_sub(len));
        let footer = match has.and_then(|from| bytes.get(from..bytes.len() - TRAILER as usize)) {
            Some(footer) => Bytes::copy_from_slice(footer),
            None => self.0.get_range(location, start..end - TRAILER).await?,
        };
        let Err(error) = check_parquet_metadata(&footer) else { return Ok(()) };
        if self.0.head(location).await?.size == end {
            Err(object_store::Error::Generic { store: "lake", source: Box::new(error) })
        } else {
            Ok(())
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for CheckedFooters {
    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let is_head = options.head;
        let result = self.0.get_opts(location, options).await?;
        let end = result.meta.size;
        if !is_head && result.range.end == end && end >= TRAILER {
            let trailer = self.0.get_range(location, end - TRAILER..end).await?;
            self.check(location, end, &trailer).await?;
        }
        Ok(result)
    }

    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> object_store::Result<Vec<Bytes>> {
        let all = self.0.get_ranges(location, ranges).await?;
        for (range, bytes) in ranges.iter().zip(&all) {
            self.check(location, range.end, bytes).await?;
        }
        Ok(all)
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &Path,
        to: &Path,
        options: CopyOptions,
    ) -> object_store::Result<()> {
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(
        &self,
        from: &Path,
        to: &Path,
        options: RenameOptions,
    ) -> object_store::Result<()> {
        self.0.rename_opts(from, to, options).await
    }
}

/// A file of no rows whose one column is inside of `groups` groups, the root among them.
#[cfg(any(test, feature = "faults"))]
#[must_use]
pub fn nested_parquet(groups: usize) -> Bytes {
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    varint(groups as u64 + 1, &mut footer);
    footer.extend([0x48, 1, b'g', 0x15, 2, 0]);
    for _ in 1..groups {
        footer.extend([0x35, 0, 0x18, 1, b'g', 0x15, 2, 0]);
    }
    footer.extend([0x15, 2, 0x25, 0, 0x18, 1, b'i', 0, 0x16, 0, 0x19, 0x0c, 0]);
    let len = (footer.len() as u32).to_le_bytes();
    [b"PAR1".as_slice(), &footer, &len, b"PAR1"].concat().into()
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use stationdb::ErrorKind;

    use super::*;
    use crate::actions::decode;

    /// A file of 20 KB that somebody put into a lake ended the process.
    #[test]
    fn no_nesting_of_a_file_ends_the_process() {
        let run = || {
            for (groups, fits) in [(2, true), (32, true), (33, false), (1_000_000, false)] {
                let outcome = decode(nested_parquet(groups), &mut |_, _| Ok(()));
                assert_eq!(outcome.is_ok(), fits, "{groups}: {outcome:?}");
                let opened = open(nested_parquet(groups), ArrowReaderOptions::new());
                let Err(ParquetError::External(cause)) = opened.map(|_| ()) else {
                    assert!(fits, "{groups}");
                    continue;
                };
                let kind = cause.downcast_ref::<stationdb::Error>().map(stationdb::Error::kind);
                assert_eq!((fits, kind), (false, Some(ErrorKind::LimitExceeded)), "{groups}");
            }
        };
        let thread = std::thread::Builder::new().stack_size(512 * 1024);
        thread.spawn(run).unwrap().join().unwrap();
    }

    #[test]
    fn what_has_no_footer_is_refused() {
        let whole = nested_parquet(2);
        for end in 0..whole.len() {
            assert!(open(whole.slice(..end), ArrowReaderOptions::new()).is_err(), "{end}");
        }
    }

    /// Each kind of read that returns the end of the file is refused; others and other files are not.
    #[test]
    fn no_read_returns_a_footer_that_nests_too_deeply() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let objects = with_checked_footers(inner.clone());
            let path = Path::from("file");
            for (groups, fits) in [(32, true), (33, false), (20_000, false)] {
                let file = nested_parquet(groups);
                let len = file.len() as u64;
                inner.put(&path, file.clone().into()).await.unwrap();
                for from in [0, 4, len - 12, len - 8] {
                    let ranges =
                        objects.get_ranges(&path, std::slice::from_ref(&(from..len))).await;
                    let range = objects.get_range(&path, from..len).await;
                    for read in [ranges.map(|all| all[0].clone()), range] {
                        match read {
                            Ok(bytes) => {
                                assert!(fits, "{groups}: {from}");
                                assert_eq!(bytes, file.slice(from as usize..));
                            }
                            Err(error) => assert!(!fits, "{groups}: {from}: {error}"),
                        }
                    }
                }
                assert_eq!(objects.get(&path).await.is_ok(), fits);
                assert_eq!(objects.head(&path).await.unwrap().size, len);
                assert!(objects.get_range(&path, 0..len - 8).await.is_ok());
                // The same bytes in front of others are no footer.
                inner.put(&path, [&*file, b"more"].concat().into()).await.unwrap();
                assert!(objects.get_ranges(&path, std::slice::from_ref(&(0..len))).await.is_ok());
            }
        });
    }
}
