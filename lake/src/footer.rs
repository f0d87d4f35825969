//! Opens Parquet files that others may have written: nothing parses a footer before it was checked.

use std::sync::Arc;

use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::ChunkReader;
use stationdb::tables::check_parquet_metadata;

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
    let trailer = file.get_bytes(end, TRAILER as usize)?;
    let len = match trailer.split_first_chunk::<4>() {
        Some((len, b"PAR1")) => u32::from_le_bytes(*len),
        _ => return Err(cut()),
    };
    let start = end.checked_sub(u64::from(len)).ok_or_else(cut)?;
    let footer = file.get_bytes(start, len as usize)?;
    check_parquet_metadata(&footer).map_err(|error| ParquetError::External(Box::new(error)))?;
    let metadata = Arc::new(ParquetMetaDataReader::decode_metadata(&footer)?);
    let metadata = ArrowReaderMetadata::try_new(metadata, options)?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use stationdb::ErrorKind;

    use super::*;
    use crate::actions::decode;

    /// A file of no rows whose one column is inside of `groups` groups, the root among them.
    fn nested(groups: usize) -> Bytes {
        let mut footer = vec![0x15, 2, 0x19, 0xfc];
        let mut count = groups + 1;
        while count >= 0x80 {
            footer.push(count as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        footer.extend([0x48, 1, b'g', 0x15, 2, 0]);
        for _ in 1..groups {
            footer.extend([0x35, 0, 0x18, 1, b'g', 0x15, 2, 0]);
        }
        footer.extend([0x15, 2, 0x25, 0, 0x18, 1, b'i', 0, 0x16, 0, 0x19, 0x0c, 0]);
        let len = (footer.len() as u32).to_le_bytes();
        [b"PAR1".as_slice(), &footer, &len, b"PAR1"].concat().into()
    }

    /// A file of 20 KB that somebody put into a lake ended the process.
    #[test]
    fn no_nesting_of_a_file_ends_the_process() {
        let run = || {
            for (groups, fits) in [(2, true), (32, true), (33, false), (1_000_000, false)] {
                let outcome = decode(nested(groups), &mut |_, _| Ok(()));
                assert_eq!(outcome.is_ok(), fits, "{groups}: {outcome:?}");
                let opened = open(nested(groups), ArrowReaderOptions::new());
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
        let whole = nested(2);
        for end in 0..whole.len() {
            assert!(open(whole.slice(..end), ArrowReaderOptions::new()).is_err(), "{end}");
        }
    }
}
