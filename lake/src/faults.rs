//! Faults of an object store, and switches of the checks that hold against them, for tests.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};

pub use crate::checks::{Check, set_clock_back, set_small_files, without};
pub use crate::footer::nested_parquet;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is carried out, and answered with an error.
    AppliedButFailed,
    /// It is answered with an error, and carried out when a later request comes.
    Delayed,
    /// It is answered with an error, and not carried out.
    Failed,
    /// Half of the bytes are kept, and it is answered as if all were.
    CutUpload,
    /// A list shows what was there some requests ago.
    StaleList,
    /// This and all further requests fail: the station crashed.
    Crash,
    /// It is carried out, and then the station crashed.
    CrashAfter,
}

type DelayedPut = (Path, PutPayload, PutOptions);

/// What happens, and how often it did.
#[derive(Debug, Default)]
struct Chance {
    seed: AtomicU64,
    /// Faults in a thousand requests of the kind that they apply to.
    rates: Mutex<BTreeMap<Fault, u64>>,
    counts: Mutex<BTreeMap<Fault, u64>>,
    is_down: AtomicBool,
    /// Parts of large objects that were sent, and the one with which the station crashes.
    parts: AtomicU64,
    last_part: AtomicU64,
    /// The fewest bytes of a part that is not the last of its object.
    least_part: AtomicU64,
    /// Uploads in parts that were begun, and neither put together nor given up.
    open: AtomicU64,
    /// How many uploads are not put together from here on.
    incomplete: AtomicU64,
    uploads: Uploads,
}

/// Data files whose uploads are held before they end.
#[derive(Debug, Default)]
struct Uploads {
    /// For how long at most, in milliseconds.
    longest: AtomicU64,
    held: AtomicU64,
    /// How many were held that long.
    given_up: AtomicU64,
}

impl Uploads {
    async fn hold(&self) {
        let began = Instant::now();
        self.held.fetch_add(1, Ordering::SeqCst);
        loop {
            let longest = Duration::from_millis(self.longest.load(Ordering::SeqCst));
            if longest.is_zero() {
                break;
            }
            if began.elapsed() >= longest {
                self.given_up.fetch_add(1, Ordering::SeqCst);
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.held.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An object store of a station over the store of all, with faults by chance.
pub struct FaultyStore {
    inner: Arc<dyn ObjectStore>,
    chance: Arc<Chance>,
    late: Mutex<Vec<DelayedPut>>,
    listed: Mutex<BTreeMap<String, ListResult>>,
    read: Mutex<Vec<Path>>,
    read_bytes: AtomicU64,
    /// End of the names of objects that cannot be put.
    refused: Mutex<Option<String>>,
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faulty({})", self.inner)
    }
}

fn error(what: &str) -> Error {
    Error::Generic { store: "Faulty", source: what.to_owned().into() }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Chance {
    fn random(&self) -> u64 {
        // The numbers of SplitMix64.
        let seed = self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Whether a fault happens now.
    fn happens(&self, fault: Fault) -> bool {
        let rates = locked(&self.rates);
        let rate = rates.get(&fault).copied().unwrap_or_default();
        drop(rates);
        let happens = rate > 0 && self.random() % 1000 < rate;
        if happens {
            let mut counts = locked(&self.counts);
            *counts.entry(fault).or_default() += 1;
        }
        happens
    }

    fn is_down(&self) -> bool {
        self.is_down.load(Ordering::SeqCst)
    }

    /// Whether a request fails before it is carried out.
    fn fails(&self) -> Result<()> {
        if self.is_down() {
            return Err(error("the station is down"));
        }
        if self.happens(Fault::Crash) {
            self.is_down.store(true, Ordering::SeqCst);
            return Err(error("the station crashed"));
        }
        if self.happens(Fault::Failed) {
            return Err(error("the request failed"));
        }
        Ok(())
    }
}

/// An upload in parts, of which some fail or are cut.
#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    chance: Arc<Chance>,
    /// Whether a part is smaller than one may be that is not the last.
    has_small: bool,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let number = self.chance.parts.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.chance.last_part.load(Ordering::SeqCst) {
            self.chance.is_down.store(true, Ordering::SeqCst);
        }
        let is_refused = self.has_small;
        let least = self.chance.least_part.load(Ordering::SeqCst);
        self.has_small = self.has_small || (data.content_length() as u64) < least;
        if is_refused {
            let refused = error("a part that is not the last one is too small");
            return Box::pin(std::future::ready(Err(refused)));
        }
        if let Err(error) = self.chance.fails() {
            return Box::pin(std::future::ready(Err(error)));
        }
        if self.chance.happens(Fault::CutUpload) {
            let bytes: Bytes = data.into();
            return self.inner.put_part(bytes.slice(..bytes.len() / 2).into());
        }
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.chance.fails()?;
        self.chance.uploads.hold().await;
        let take = |left: u64| left.checked_sub(1);
        if self.chance.incomplete.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            return Err(error("the parts were refused"));
        }
        let answer = self.inner.complete().await?;
        self.chance.open.fetch_sub(1, Ordering::SeqCst);
        if self.chance.happens(Fault::AppliedButFailed) {
            return Err(error("the answer was lost"));
        }
        Ok(answer)
    }

    async fn abort(&mut self) -> Result<()> {
        self.chance.fails()?;
        self.inner.abort().await?;
        self.chance.open.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

impl FaultyStore {
    /// A store over `inner` without faults.
    pub fn new(inner: Arc<dyn ObjectStore>, seed: u64) -> Self {
        Self {
            inner,
            chance: Arc::new(Chance {
                seed: AtomicU64::new(seed.wrapping_mul(2).wrapping_add(1)),
                ..Chance::default()
            }),
            late: Mutex::default(),
            listed: Mutex::default(),
            read: Mutex::default(),
            read_bytes: AtomicU64::default(),
            refused: Mutex::default(),
        }
    }

    /// Sets how often a fault happens, in a thousand requests that it applies to.
    pub fn rate(&self, fault: Fault, in_a_thousand: u64) {
        locked(&self.chance.rates).insert(fault, in_a_thousand);
    }

    /// Ends a crash.
    pub fn restart(&self) {
        self.chance.is_down.store(false, Ordering::SeqCst);
    }

    /// Whether the station crashed.
    pub fn is_down(&self) -> bool {
        self.chance.is_down()
    }

    /// How often each fault happened.
    pub fn counts(&self) -> BTreeMap<Fault, u64> {
        locked(&self.chance.counts).clone()
    }

    /// From here on objects cannot be put whose names end so.
    pub fn refuse_puts_of(&self, end: &str) {
        *locked(&self.refused) = Some(end.to_owned());
    }

    /// The objects that were read since the last call.
    pub fn take_read(&self) -> Vec<Path> {
        std::mem::take(&mut *locked(&self.read))
    }

    /// The bytes that were read since the last call.
    pub fn take_read_bytes(&self) -> u64 {
        self.read_bytes.swap(0, Ordering::SeqCst)
    }

    fn count_bytes(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Parts of large objects that were sent.
    pub fn parts(&self) -> u64 {
        self.chance.parts.load(Ordering::SeqCst)
    }

    /// The station crashes with this part of all that are sent, counted from 1.
    pub fn crash_with_part(&self, number: u64) {
        self.chance.last_part.store(number, Ordering::SeqCst);
    }

    /// From here on parts with fewer bytes are refused unless they are the last of an object, as S3
    /// refuses those of less than 5 MiB.
    pub fn refuse_parts_below(&self, byte_count: u64) {
        self.chance.least_part.store(byte_count, Ordering::SeqCst);
    }

    /// So many of the next uploads in parts fail when all of them were sent.
    pub fn refuse_completions(&self, count: u64) {
        self.chance.incomplete.store(count, Ordering::SeqCst);
    }

    /// Uploads in parts whose parts the object store keeps, waiting for further ones.
    pub fn open_uploads(&self) -> u64 {
        self.chance.open.load(Ordering::SeqCst)
    }

    /// From here on uploads of data files end when they are let go, or after this time.
    pub fn hold_uploads(&self, longest: Duration) {
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        self.chance.uploads.longest.store(longest, Ordering::SeqCst);
    }

    /// Holds no uploads any more.
    pub fn let_uploads_go(&self) {
        self.chance.uploads.longest.store(0, Ordering::SeqCst);
    }

    /// Uploads that are held now, and those that were held for the whole time.
    pub fn held_uploads(&self) -> (u64, u64) {
        let Uploads { held, given_up, .. } = &self.chance.uploads;
        (held.load(Ordering::SeqCst), given_up.load(Ordering::SeqCst))
    }

    /// Whether a directory was listed.
    pub fn was_listed(&self, directory: &str) -> bool {
        locked(&self.listed).contains_key(directory)
    }

    /// Carries out what is late.
    pub async fn settle(&self) {
        let late = std::mem::take(&mut *locked(&self.late));
        for (path, payload, options) in late {
            // Nobody waits for the answer.
            let _ = self.inner.put_opts(&path, payload, options).await;
        }
    }

    fn happens(&self, fault: Fault) -> bool {
        self.chance.happens(fault)
    }

    async fn begin(&self) -> Result<()> {
        if self.is_down() {
            return Err(error("the station is down"));
        }
        if self.chance.random().is_multiple_of(4) {
            self.settle().await;
        }
        self.chance.fails()
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.begin().await?;
        let is_refused = |end: &String| location.as_ref().ends_with(end.as_str());
        if locked(&self.refused).as_ref().is_some_and(is_refused) {
            return Err(error("the put was refused"));
        }
        if self.happens(Fault::Delayed) {
            let mut late = locked(&self.late);
            late.push((location.clone(), payload, opts));
            return Err(error("no answer in time"));
        }
        let is_upload = !matches!(opts.mode, PutMode::Create);
        let is_data = location.extension() == Some("parquet");
        if is_upload && is_data && self.happens(Fault::CutUpload) {
            let bytes: Bytes = payload.into();
            let half = bytes.slice(..bytes.len() / 2);
            return self.inner.put_opts(location, half.into(), opts).await;
        }
        if is_upload && is_data {
            self.chance.uploads.hold().await;
        }
        let answer = self.inner.put_opts(location, payload, opts).await;
        if answer.is_ok() && self.happens(Fault::CrashAfter) {
            self.chance.is_down.store(true, Ordering::SeqCst);
            return Err(error("the station crashed after it"));
        }
        if answer.is_ok() && self.happens(Fault::AppliedButFailed) {
            return Err(error("the answer was lost"));
        }
        answer
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.begin().await?;
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        self.chance.open.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(FaultyUpload { inner, chance: self.chance.clone(), has_small: false }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.begin().await?;
        locked(&self.read).push(location.clone());
        let is_head = options.head;
        let found = self.inner.get_opts(location, options).await?;
        if !is_head {
            self.count_bytes(found.range.end.saturating_sub(found.range.start));
        }
        Ok(found)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.begin().await?;
        let found = self.inner.get_ranges(location, ranges).await?;
        self.count_bytes(found.iter().map(|bytes| bytes.len() as u64).sum());
        Ok(found)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.begin().await?;
        let key = prefix.map(ToString::to_string).unwrap_or_default();
        let stale = locked(&self.listed).remove(&key);
        if let Some(stale) = stale {
            if self.happens(Fault::StaleList) {
                return Ok(stale);
            }
        }
        let listed = self.inner.list_with_delimiter(prefix).await?;
        let (common_prefixes, objects) = (listed.common_prefixes.clone(), listed.objects.clone());
        let copy = ListResult { common_prefixes, objects };
        locked(&self.listed).insert(key, copy);
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.begin().await?;
        self.inner.copy_opts(from, to, options).await
    }
}
