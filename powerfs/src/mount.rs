//! A tree at a directory of the system.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::consts::FOPEN_KEEP_CACHE;
use fuser::{
    FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
};

use crate::tree::{Errno, Ino, SyncKind, Tree};

/// The kernel asks again after this time. It makes every change itself, so it needs not ask.
const VALID: Duration = Duration::from_secs(86_400);
/// How long a file system that is in use is tried to be unmounted, before it is only detached.
const UNMOUNT_MAX: Duration = Duration::from_secs(10);
const BLOCK_BYTES: u64 = 4096;
/// What a full file system would have.
const BLOCKS: u64 = 1 << 28;

/// What a fault makes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads of files.
    Read,
    /// Writes of files, of which nothing is written.
    Write,
    /// Syncs of files, which make nothing durable.
    Sync,
}

/// A fault of the medium.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What fails.
    pub operation: Operation,
    /// How many of these operations succeed before.
    pub after: u64,
    /// Whether all later ones fail too, or just one.
    pub lasts: bool,
    /// The number of the error of the system.
    pub error: i32,
}

type Hook = Box<dyn FnMut(&Tree) -> u64 + Send>;

struct Watch {
    at: u64,
    hook: Hook,
}

#[derive(Default)]
struct Shared {
    tree: Tree,
    watch: Option<Watch>,
    fault: Option<Fault>,
    failed: u64,
    /// The entries of open directories, so that removals between two reads skip nothing.
    listed: BTreeMap<u64, Vec<(Ino, bool, String)>>,
    next_handle: u64,
}

impl Shared {
    /// Lets an operation fail if it is its turn.
    fn attempt(&mut self, operation: Operation) -> Result<(), Errno> {
        let Some(fault) = self.fault.as_mut().filter(|fault| fault.operation == operation) else {
            return Ok(());
        };
        if let Some(after) = fault.after.checked_sub(1) {
            fault.after = after;
            return Ok(());
        }
        let error = fault.error;
        self.failed += 1;
        if !fault.lasts {
            self.fault = None;
        }
        Err(error)
    }

    /// Tells the hook that the tree has changed.
    fn changed(&mut self) {
        if let Some(watch) = &mut self.watch
            && self.tree.changes() >= watch.at
        {
            watch.at = (watch.hook)(&self.tree);
        }
    }
}

/// A tree that is mounted at a directory until this is dropped.
pub struct Mounted {
    shared: Arc<Mutex<Shared>>,
    session: Option<fuser::BackgroundSession>,
    directory: PathBuf,
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mounted").field("directory", &self.directory).finish_non_exhaustive()
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mounted {
    /// Shows a tree at an existing directory. Needs Linux, `/dev/fuse` and the right to mount.
    ///
    /// # Errors
    /// Those of the system for the mount.
    pub fn new(tree: Tree, directory: &Path) -> io::Result<Self> {
        let shared = Arc::new(Mutex::new(Shared { tree, ..Shared::default() }));
        let options = [
            MountOption::FSName("stationdb-powerfs".to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoAtime,
        ];
        let session = fuser::spawn_mount2(Lossy(shared.clone()), directory, &options)?;
        Ok(Self { shared, session: Some(session), directory: directory.to_owned() })
    }

    /// Calls `hook` with the tree after the change or sync with the number `at`, before the process
    /// hears of it, and then after the one with the number that the hook returned.
    pub fn watch(&self, at: u64, hook: impl FnMut(&Tree) -> u64 + Send + 'static) {
        locked(&self.shared).watch = Some(Watch { at, hook: Box::new(hook) });
    }

    /// Lets operations fail from now on, or none with `None`.
    pub fn fail(&self, fault: Option<Fault>) {
        locked(&self.shared).fault = fault;
    }

    /// The number of operations that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        locked(&self.shared).failed
    }

    /// A copy of the tree as it is now.
    #[must_use]
    pub fn tree(&self) -> Tree {
        locked(&self.shared).tree.clone()
    }

    /// The number of changes and syncs so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        locked(&self.shared).tree.changes()
    }

    /// Ends the mount and returns the tree. If the file system is in use for longer than ten seconds,
    /// its directory is freed all the same.
    ///
    /// # Errors
    /// Those of the system.
    pub fn unmount(mut self) -> io::Result<Tree> {
        self.end()?;
        Ok(std::mem::take(&mut locked(&self.shared).tree))
    }

    /// Mappings and handles of a killed process end a moment after it. A mount namespace that another
    /// process has made meanwhile has a copy of the mount, which stays as long as that process.
    fn end(&mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        let began = Instant::now();
        loop {
            let done = Command::new("umount").arg("-i").arg(&self.directory).output()?;
            if done.status.success() {
                session.join();
                return Ok(());
            }
            if began.elapsed() > UNMOUNT_MAX {
                let detached = Command::new("umount").arg("-il").arg(&self.directory).output()?;
                if detached.status.success() {
                    eprintln!("{} is in use elsewhere; detached", self.directory.display());
                    return Ok(());
                }
                let text = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                return Err(io::Error::other(format!(
                    "unmounting {}: {text}",
                    self.directory.display()
                )));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error}");
        }
    }
}

/// The answers to the kernel.
struct Lossy(Arc<Mutex<Shared>>);

fn text(name: &OsStr) -> Result<&str, Errno> {
    name.to_str().ok_or(libc::EINVAL)
}

fn place(offset: i64) -> Result<u64, Errno> {
    u64::try_from(offset).map_err(|_| libc::EINVAL)
}

fn permissions(mode: u32) -> u16 {
    u16::try_from(mode & 0o7777).unwrap_or(0o700)
}

fn attr(tree: &Tree, ino: Ino) -> Result<FileAttr, Errno> {
    let found = tree.attributes(ino)?;
    let time = SystemTime::UNIX_EPOCH + VALID;
    Ok(FileAttr {
        ino,
        size: found.len,
        blocks: found.allocated_bytes / 512,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if found.is_dir { FileType::Directory } else { FileType::RegularFile },
        perm: found.mode,
        nlink: found.links,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    })
}

impl Lossy {
    /// Makes a change, and tells the hook.
    fn change<T>(&self, change: impl FnOnce(&mut Tree) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut shared = locked(&self.0);
        let made = change(&mut shared.tree)?;
        shared.changed();
        Ok(made)
    }

    fn attempt(&self, operation: Operation) -> Result<(), Errno> {
        locked(&self.0).attempt(operation)
    }

    fn read_tree<T>(&self, read: impl FnOnce(&Tree) -> Result<T, Errno>) -> Result<T, Errno> {
        read(&locked(&self.0).tree)
    }

    /// Creates a node.
    fn created(
        &self,
        parent: u64,
        name: &OsStr,
        mode: u32,
        is_dir: bool,
    ) -> Result<FileAttr, Errno> {
        self.change(|tree| {
            let ino = tree.create(parent, text(name)?, permissions(mode), is_dir)?;
            attr(tree, ino)
        })
    }
}

fn answer_entry(answer: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match answer {
        Ok(attr) => reply.entry(&VALID, &attr, 0),
        Err(error) => reply.error(error),
    }
}

fn answer_empty(answer: Result<(), Errno>, reply: ReplyEmpty) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Lossy {
    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let found =
            self.read_tree(|tree| tree.lookup(parent, text(name)?).and_then(|ino| attr(tree, ino)));
        answer_entry(found, reply);
    }

    fn getattr(&mut self, _: &Request<'_>, ino: u64, _: Option<u64>, reply: ReplyAttr) {
        match self.read_tree(|tree| attr(tree, ino)) {
            Ok(attr) => reply.attr(&VALID, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        let changed = self.change(|tree| {
            if let Some(mode) = mode {
                tree.set_mode(ino, permissions(mode))?;
            }
            if let Some(len) = size {
                tree.set_len(ino, len)?;
            }
            attr(tree, ino)
        });
        match changed {
            Ok(attr) => reply.attr(&VALID, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        answer_entry(self.created(parent, name, mode & !umask, true), reply);
    }

    fn create(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        match self.created(parent, name, mode & !umask, false) {
            Ok(attr) => {
                let keep = FOPEN_KEEP_CACHE;
                reply.created(&VALID, &attr, 0, 0, keep);
            }
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.change(|tree| tree.unlink(parent, text(name)?)), reply);
    }

    fn rmdir(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.change(|tree| tree.rmdir(parent, text(name)?)), reply);
    }

    fn rename(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        newparent: u64,
        newname: &OsStr,
        flags: u32,
        reply: ReplyEmpty,
    ) {
        // Without the version of the protocol that has flags, the kernel refuses them.
        debug_assert_eq!(flags, 0);
        let renamed = self.change(|tree| {
            let (from, to) = (text(name)?, text(newname)?);
            tree.rename(parent, from, newparent, to)
        });
        answer_empty(renamed, reply);
    }

    fn link(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        newparent: u64,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let linked = self.change(|tree| {
            tree.link(ino, newparent, text(newname)?)?;
            attr(tree, ino)
        });
        answer_entry(linked, reply);
    }

    fn open(&mut self, _: &Request<'_>, _: u64, _: i32, reply: ReplyOpen) {
        reply.opened(0, FOPEN_KEEP_CACHE);
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        let read = self.attempt(Operation::Read).and_then(|()| {
            self.read_tree(|tree| Ok(tree.file(ino)?.live.read(place(offset)?, len)))
        });
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        let written = self
            .attempt(Operation::Write)
            .and_then(|()| self.change(|tree| tree.write(ino, place(offset)?, data)));
        match written {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX)),
            Err(error) => reply.error(error),
        }
    }

    fn fsync(&mut self, _: &Request<'_>, ino: u64, _: u64, data: bool, reply: ReplyEmpty) {
        let kind = if data { SyncKind::Data } else { SyncKind::File };
        let synced =
            self.attempt(Operation::Sync).and_then(|()| self.change(|tree| tree.sync(ino, kind)));
        answer_empty(synced, reply);
    }

    fn fsyncdir(&mut self, _: &Request<'_>, ino: u64, _: u64, _: bool, reply: ReplyEmpty) {
        answer_empty(self.change(|tree| tree.sync(ino, SyncKind::Directory)), reply);
    }

    fn opendir(&mut self, _: &Request<'_>, ino: u64, _: i32, reply: ReplyOpen) {
        let mut shared = locked(&self.0);
        let entries: Result<Vec<_>, Errno> = shared.tree.names(ino).and_then(|names| {
            let entry = |(name, ino): (&Arc<str>, &Ino)| {
                Ok((*ino, shared.tree.attributes(*ino)?.is_dir, name.to_string()))
            };
            names.iter().map(entry).collect()
        });
        match entries {
            Ok(mut entries) => {
                let dots = [".", ".."].map(|name| (ino, true, name.to_owned()));
                entries.splice(0..0, dots);
                shared.next_handle += 1;
                let handle = shared.next_handle;
                shared.listed.insert(handle, entries);
                reply.opened(handle, 0);
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &mut self,
        _: &Request<'_>,
        _: u64,
        handle: u64,
        offset: i64,
        mut reply: ReplyDirectory,
    ) {
        let shared = locked(&self.0);
        let entries = shared.listed.get(&handle).into_iter().flatten().zip(1..);
        for ((ino, is_dir, name), next) in entries.skip(usize::try_from(offset).unwrap_or(0)) {
            let kind = if *is_dir { FileType::Directory } else { FileType::RegularFile };
            if reply.add(*ino, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&mut self, _: &Request<'_>, _: u64, handle: u64, _: i32, reply: ReplyEmpty) {
        locked(&self.0).listed.remove(&handle);
        reply.ok();
    }

    fn statfs(&mut self, _: &Request<'_>, _: u64, reply: ReplyStatfs) {
        let block = u32::try_from(BLOCK_BYTES).unwrap_or(4096);
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, block, 255, block);
    }
}
