//! A directory tree in memory, for tests and for stores that live only as long as their process.
//!
//! It keeps only names and bytes: syncs succeed without effect. What must hold: it behaves like the
//! operating system's disk (the contract suite runs over both), and it holds no lock while code of
//! the caller runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{DirEntry, Disk, DiskFile, FileId, Mode, parent, path};

/// A disk in memory. Clones share one tree.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    /// Full path to node; the root itself has no entry.
    tree: Arc<RwLock<BTreeMap<String, Node>>>,
}

#[derive(Clone, Debug)]
enum Node {
    Directory,
    File(Arc<Content>),
}

#[derive(Debug, Default)]
struct Content {
    bytes: RwLock<Vec<u8>>,
    locked: AtomicBool,
}

// A poisoned lock only means that another thread panicked: each update below is either complete or
// not begun.
impl Content {
    fn read(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<u8>> {
        self.bytes.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(self: &Arc<Self>) -> FileId {
        FileId { device: 0, index: Arc::as_ptr(self).addr() as u64 }
    }
}

impl MemoryDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Node>> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Node>> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no {path:?}"))
}

fn is_directory(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, format!("{path:?} is a directory"))
}

fn not_a_directory(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotADirectory, format!("{path:?} is not a directory"))
}

fn need_directory(tree: &BTreeMap<String, Node>, path: &str) -> io::Result<()> {
    match tree.get(path) {
        _ if path.is_empty() => Ok(()),
        Some(Node::Directory) => Ok(()),
        Some(Node::File(_)) => Err(not_a_directory(path)),
        None => Err(not_found(path)),
    }
}

/// The entries below a directory, at any depth: all names that start with `path/`.
fn below<'t>(
    tree: &'t BTreeMap<String, Node>,
    path: &str,
) -> impl Iterator<Item = (&'t str, &'t Node)> + use<'t> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    tree.range(prefix.clone()..)
        .map_while(move |(name, node)| Some((name.strip_prefix(prefix.as_str())?, node)))
}

impl Disk for MemoryDisk {
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        path::check_name(path)?;
        let mut tree = self.write();
        let content = match (tree.get(path), mode) {
            (Some(Node::Directory), Mode::CreateNew) | (Some(Node::File(_)), Mode::CreateNew) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("{path:?} exists"),
                ));
            }
            (Some(Node::Directory), _) => return Err(is_directory(path)),
            (Some(Node::File(content)), _) => content.clone(),
            (None, Mode::Read | Mode::ReadWrite | Mode::ReadWriteRemovable) => {
                return Err(not_found(path));
            }
            (None, Mode::CreateNew | Mode::OpenOrCreate) => {
                need_directory(&tree, parent(path))?;
                let content = Arc::<Content>::default();
                tree.insert(path.to_owned(), Node::File(content.clone()));
                content
            }
        };
        Ok(Box::new(MemoryFile {
            content,
            writable: mode != Mode::Read,
            holds_lock: AtomicBool::new(false),
        }))
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        path::check(path)?;
        if path.is_empty() {
            return Ok(());
        }
        let mut tree = self.write();
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for dir in ends.filter_map(|end| path.get(..end)) {
            match tree.get(dir) {
                Some(Node::Directory) => {}
                Some(Node::File(_)) => return Err(not_a_directory(dir)),
                None => {
                    tree.insert(dir.to_owned(), Node::Directory);
                }
            }
        }
        Ok(())
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        path::check(path)?;
        Ok(path.is_empty() || self.read().contains_key(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        path::check(path)?;
        let tree = self.read();
        need_directory(&tree, path)?;
        let mut entries: Vec<DirEntry> = below(&tree, path)
            .filter(|(name, _)| !name.contains('/'))
            .map(|(name, node)| match node {
                Node::Directory => DirEntry { name: name.to_owned(), is_dir: true, len: 0 },
                Node::File(content) => DirEntry {
                    name: name.to_owned(),
                    is_dir: false,
                    len: content.read().len() as u64,
                },
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        path::check_name(from)?;
        path::check_name(to)?;
        let mut tree = self.write();
        let node = tree.get(from).cloned().ok_or_else(|| not_found(from))?;
        need_directory(&tree, parent(to))?;
        if from == to {
            return Ok(());
        }
        match (&node, tree.get(to)) {
            (Node::File(_), Some(Node::Directory)) => return Err(is_directory(to)),
            (Node::Directory, Some(Node::File(_))) => return Err(not_a_directory(to)),
            (Node::Directory, Some(Node::Directory)) if below(&tree, to).next().is_some() => {
                return Err(io::Error::new(
                    io::ErrorKind::DirectoryNotEmpty,
                    format!("{to:?} is not empty"),
                ));
            }
            (Node::Directory, _)
                if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) =>
            {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("{to:?} is inside {from:?}"),
                ));
            }
            _ => {}
        }
        let moved: Vec<String> = below(&tree, from).map(|(name, _)| name.to_owned()).collect();
        for name in moved {
            if let Some(node) = tree.remove(&format!("{from}/{name}")) {
                tree.insert(format!("{to}/{name}"), node);
            }
        }
        tree.remove(from);
        tree.insert(to.to_owned(), node);
        Ok(())
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        path::check_name(path)?;
        let mut tree = self.write();
        match tree.get(path) {
            None => Err(not_found(path)),
            Some(Node::Directory) => Err(is_directory(path)),
            Some(Node::File(_)) => {
                tree.remove(path);
                Ok(())
            }
        }
    }

    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        path::check_name(path)?;
        let mut tree = self.write();
        need_directory(&tree, path)?;
        let inside: Vec<String> =
            below(&tree, path).map(|(name, _)| format!("{path}/{name}")).collect();
        for name in inside {
            tree.remove(&name);
        }
        tree.remove(path);
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        path::check(path)?;
        need_directory(&self.read(), path)
    }

    fn file_id(&self, path: &str) -> io::Result<FileId> {
        path::check_name(path)?;
        match self.read().get(path) {
            None => Err(not_found(path)),
            Some(Node::Directory) => Err(is_directory(path)),
            Some(Node::File(content)) => Ok(content.id()),
        }
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

#[derive(Debug)]
struct MemoryFile {
    content: Arc<Content>,
    writable: bool,
    holds_lock: AtomicBool,
}

impl MemoryFile {
    fn need_writable(&self) -> io::Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is open for reading only"))
    }
}

/// Converts a file length or offset to an index into memory.
fn index(value: u64) -> io::Result<usize> {
    usize::try_from(value)
        .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "the file does not fit in memory"))
}

impl DiskFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.read().len() as u64)
    }

    fn file_id(&self) -> io::Result<FileId> {
        Ok(self.content.id())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.content.read();
        let start = index(offset)?;
        let source = start.checked_add(buffer.len()).and_then(|end| bytes.get(start..end));
        buffer.copy_from_slice(source.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.need_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        let mut bytes = self.content.write();
        let start = index(offset)?;
        let end = start.checked_add(data.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        if start == bytes.len() {
            bytes.extend_from_slice(data);
            return Ok(());
        }
        if end > bytes.len() {
            bytes.resize(end, 0);
        }
        if let Some(target) = bytes.get_mut(start..end) {
            target.copy_from_slice(data);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.need_writable()?;
        let len = index(len)?;
        let mut bytes = self.content.write();
        bytes.resize(len, 0);
        if bytes.capacity() / 4 > len {
            bytes.shrink_to_fit();
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let free = self
            .content
            .locked
            .compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if free {
            self.holds_lock.store(true, Ordering::Release);
        }
        Ok(free)
    }

    fn unlock(&self) -> io::Result<()> {
        if self.holds_lock.swap(false, Ordering::AcqRel) {
            self.content.locked.store(false, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // Cannot fail: only clears flags.
        let _ = self.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_tree() {
        let disk = MemoryDisk::new();
        disk.clone().create_dir_all("tables/7").unwrap();
        assert!(disk.exists("tables/7").unwrap());
    }
}
