//! Uploads of data files: large ones in parts, and what is there is looked at.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt};
use stationdb::{Control, Error, Result};
use tokio::task::{JoinError, JoinSet};

use crate::body::Body;
use crate::remote::{Remote, failed};

/// Bytes up to which an object is written by one request, and of a part of a larger one.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// The fewest bytes of a part.
const PART_BYTES_MIN: usize = 64 * 1024;
/// Bytes of a piece of a part, which is read and, into a directory, written at once: few enough to
/// stay in the caches of a processor, and for a file system to take memory that was just freed.
const CHUNK_BYTES: usize = 512 * 1024;
/// Parts that are on their way at a time.
const PARTS: usize = 4;

/// An upload of which the first attempt is on its way. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Upload {
    path: Path,
    body: Arc<Body>,
    first: Option<JoinSet<Answer>>,
}

/// How an attempt ended. The inner error is that of reading the file, which does not pass.
type Answer = std::result::Result<Result<()>, StoreError>;

impl Remote {
    /// Begins to write an object under a name that nobody else uses: large ones in parts, of which
    /// some are on their way at a time.
    pub(crate) fn begin_upload(&self, path: Path, body: Arc<Body>) -> Result<Upload> {
        let first = self.start(self.attempt(&path, &body))?;
        Ok(Upload { path, body, first: Some(first) })
    }

    /// An attempt to write an object.
    fn attempt(
        &self,
        path: &Path,
        body: &Arc<Body>,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let (objects, path, body) = (self.objects.clone(), path.clone(), body.clone());
        let buffers = self.buffers.clone();
        async move { put_parts(objects.as_ref(), &path, body, buffers).await }
    }

    /// Waits for an upload, and tries again if it failed. What is there has the right size when this
    /// returns.
    pub(crate) fn end_upload(&self, upload: Upload, control: &Control) -> Result<()> {
        let Upload { path, body, mut first } = upload;
        let attempt = format!("uploading {path}");
        let mut failures = 0;
        loop {
            let answer = self.retried(control, &attempt, || {
                let (first, next) = (first.take(), self.attempt(&path, &body));
                async move {
                    match first {
                        Some(mut first) => match first.join_next().await {
                            Some(Ok(answer)) => answer,
                            Some(Err(source)) => Err(StoreError::JoinError { source }),
                            None => next.await,
                        },
                        None => next.await,
                    }
                }
            })?;
            answer.map_err(|error| failed(&attempt, error))??;
            if crate::checks::is_off(crate::checks::Check::UploadSize) {
                return Ok(());
            }
            let found = self.size(&path, control)?;
            if found == Some(body.byte_count()) {
                return Ok(());
            }
            let cut = std::io::Error::other(format!(
                "{} bytes were sent, and {} are there",
                body.byte_count(),
                found.map_or_else(|| "none".to_owned(), |size| size.to_string())
            ));
            failures += 1;
            if failures >= self.backoff.attempts {
                return Err(Error::io(&attempt, cut));
            }
            let told = StoreError::Generic { store: "lake", source: Box::new(cut) };
            self.back_off(control, failures, &attempt, &told)?;
        }
    }
}

/// How uploads are cut, and buffers of parts that were sent, for the next ones: new memory costs more
/// than reading into it.
///
/// A buffer that an object store still has, to send it again or to keep it, does not come here. So
/// there are no more than those of the parts that are on their way.
#[derive(Debug)]
pub(crate) struct Buffers {
    part_bytes: usize,
    spare: Mutex<Vec<BytesMut>>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new(PART_BYTES)
    }
}

impl Buffers {
    /// Buffers of parts of this many bytes, at least [`PART_BYTES_MIN`].
    pub(crate) fn new(part_bytes: usize) -> Self {
        Self { part_bytes: part_bytes.max(PART_BYTES_MIN), spare: Mutex::default() }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<BytesMut>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of a piece of a part.
    fn chunk_bytes(&self) -> usize {
        CHUNK_BYTES.min(self.part_bytes)
    }

    /// A buffer of this many bytes, at most those of a piece: the last one that came, because it may
    /// be in the caches of the processor.
    fn take(&self, byte_count: usize) -> BytesMut {
        let Some(mut buffer) = self.spare().pop() else { return BytesMut::zeroed(byte_count) };
        buffer.resize(byte_count, 0);
        buffer
    }

    /// Keeps the buffers of a part that was sent.
    fn give(&self, part: Vec<Bytes>) {
        let free = part.into_iter().filter_map(|bytes| bytes.try_into_mut().ok());
        self.spare().extend(free.filter(|buffer| buffer.capacity() >= self.chunk_bytes()));
    }

    /// Gives the memory back.
    pub(crate) fn clear(&self) {
        *self.spare() = Vec::new();
    }
}

/// Bytes of a file in memory, in pieces.
async fn read(
    body: &Arc<Body>,
    buffers: &Arc<Buffers>,
    start: u64,
    byte_count: usize,
) -> Result<Vec<Bytes>> {
    let (body, buffers) = (body.clone(), buffers.clone());
    let read = tokio::task::spawn_blocking(move || {
        let chunk_bytes = buffers.chunk_bytes();
        let chunks = (0..byte_count).step_by(chunk_bytes).map(|at| {
            let mut buffer = buffers.take(chunk_bytes.min(byte_count - at));
            body.read_at(start + at as u64, &mut buffer)?;
            Ok(buffer.freeze())
        });
        chunks.collect()
    });
    read.await.unwrap_or_else(|error| Err(Error::io("reading a segment", error.into())))
}

/// Sends a file.
async fn put_parts(
    objects: &dyn ObjectStore,
    path: &Path,
    body: Arc<Body>,
    buffers: Arc<Buffers>,
) -> Answer {
    let byte_count = body.byte_count();
    if byte_count <= buffers.part_bytes as u64 {
        let part = match read(&body, &buffers, 0, byte_count as usize).await {
            Ok(part) => part,
            Err(error) => return Ok(Err(error)),
        };
        objects.put(path, part.iter().cloned().collect()).await?;
        buffers.give(part);
        return Ok(Ok(()));
    }
    let mut parts =
        Parts { upload: Some(objects.put_multipart(path).await?), on_their_way: JoinSet::new() };
    let sent = parts.send(&body, &buffers).await;
    if matches!(sent, Ok(Ok(()))) {
        // What could not be put together may be there all the same, and then nothing is removed.
        parts.complete().await?;
    }
    sent
}

/// An upload in parts. The object store keeps parts until it is told what they are, so an upload
/// that fails, or that nobody waits for any more, removes its own when this is dropped. Where that
/// fails as well, only the rules of the object store remove them.
struct Parts {
    /// None once the object is there.
    upload: Option<Box<dyn MultipartUpload>>,
    on_their_way: JoinSet<std::result::Result<Vec<Bytes>, StoreError>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        // At the end of the program there is nobody left who could do it.
        let Ok(threads) = tokio::runtime::Handle::try_current() else { return };
        let mut on_their_way = std::mem::take(&mut self.on_their_way);
        threads.spawn(async move {
            on_their_way.shutdown().await;
            let _ = upload.abort().await;
        });
    }
}

impl Parts {
    /// Makes an object of the parts.
    async fn complete(&mut self) -> std::result::Result<(), StoreError> {
        if let Some(upload) = &mut self.upload {
            upload.complete().await?;
            self.upload = None;
        }
        Ok(())
    }

    /// Sends the parts, of which each is read while others are on their way.
    async fn send(&mut self, body: &Arc<Body>, buffers: &Arc<Buffers>) -> Answer {
        let Self { upload: Some(upload), on_their_way } = self else { return Ok(Ok(())) };
        let ended = |done: std::result::Result<std::result::Result<_, StoreError>, JoinError>| {
            buffers.give(done.unwrap_or_else(|source| Err(StoreError::JoinError { source }))?);
            Ok::<_, StoreError>(())
        };
        let mut at = 0;
        while at < body.byte_count() {
            while on_their_way.len() >= PARTS {
                let Some(done) = on_their_way.join_next().await else { break };
                ended(done)?;
            }
            while let Some(done) = on_their_way.try_join_next() {
                ended(done)?;
            }
            let left = body.byte_count() - at;
            let byte_count = usize::try_from(left).unwrap_or(usize::MAX).min(buffers.part_bytes);
            let part = match read(body, buffers, at, byte_count).await {
                Ok(part) => part,
                Err(error) => return Ok(Err(error)),
            };
            at += byte_count as u64;
            let sent = upload.put_part(part.iter().cloned().collect());
            on_their_way.spawn(async move { sent.await.map(|()| part) });
        }
        while let Some(done) = on_their_way.join_next().await {
            ended(done)?;
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use object_store::local::LocalFileSystem;

    use super::*;
    use crate::body::Sink;

    fn body(byte_count: usize) -> (Vec<u8>, Arc<Body>) {
        let bytes: Vec<u8> = (0..byte_count).map(|at| ((at * 31) >> 9) as u8).collect();
        let mut sink = Sink::default();
        sink.write_all(&bytes).unwrap();
        (bytes, Arc::new(sink.finish().unwrap()))
    }

    #[test]
    fn a_buffer_is_used_again_when_the_object_store_has_let_it_go() {
        let buffers = Buffers::default();
        let sent = buffers.take(CHUNK_BYTES).freeze();
        let (place, kept) = (sent.as_ptr(), sent.clone());
        buffers.give(vec![sent]);
        assert!(buffers.spare().is_empty(), "the object store still has it");
        buffers.give(vec![kept]);
        let short = buffers.take(100);
        assert_eq!((short.as_ptr(), short.len()), (place, 100));
        buffers.give(vec![short.freeze(), BytesMut::zeroed(100).freeze()]);
        let whole = buffers.take(CHUNK_BYTES);
        assert_eq!((whole.as_ptr(), whole.len()), (place, CHUNK_BYTES));
        assert!(buffers.spare().is_empty(), "a buffer of a small object is not kept");
        buffers.give(vec![whole.freeze()]);
        buffers.clear();
        assert!(buffers.spare().is_empty());
    }

    /// A directory lets all buffers go, so those that are there then are all that were there at once.
    #[test]
    fn uploads_hold_as_many_bytes_as_their_parts() {
        const PART: usize = 2 * CHUNK_BYTES;
        let directory = tempfile::tempdir().unwrap();
        let objects = LocalFileSystem::new_with_prefix(directory.path()).unwrap();
        let mut remote = Remote::new(Arc::new(objects)).unwrap();
        remote.buffers = Arc::new(Buffers::new(PART));
        let control = Control::default();
        for byte_count in
            [1, CHUNK_BYTES - 1, PART, PART + 1, 3 * PART + 7, 21 * PART, 5, 40 * PART]
        {
            let (bytes, body) = body(byte_count);
            let path = Path::from(byte_count.to_string());
            let upload = remote.begin_upload(path.clone(), body).unwrap();
            remote.end_upload(upload, &control).unwrap();
            let found = remote.get(&path, &control).unwrap().unwrap();
            assert!(found == bytes, "{byte_count} bytes");
            let spare = remote.buffers.spare();
            assert!(spare.len() <= (PARTS + 1) * 2, "{} after {byte_count} bytes", spare.len());
            assert!(spare.iter().all(|buffer| buffer.capacity() == CHUNK_BYTES));
            assert!(byte_count <= PART || !spare.is_empty(), "no buffer came back");
        }
    }

    /// Pieces are read and written one by one, whatever the size of a part is.
    #[test]
    fn parts_are_in_pieces() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let byte_count = PART_BYTES - CHUNK_BYTES - 1;
        let (bytes, body) = body(byte_count);
        let part = runtime.block_on(read(&body, &Arc::default(), 1, byte_count - 1)).unwrap();
        assert!(part.iter().all(|piece| piece.len() <= CHUNK_BYTES));
        assert_eq!(part.len(), (byte_count - 1).div_ceil(CHUNK_BYTES));
        assert!(part.concat() == bytes[1..]);
    }
}
