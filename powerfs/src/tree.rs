//! What a reader sees, and what is durable of it.
//!
//! Files and directories are nodes. Each has a live state, a durable state, and the pending changes
//! between them, in order. What must hold: the durable state and all pending changes make the live
//! state.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::content::Content;

/// The number of an error of the system.
pub(crate) type Errno = i32;

/// The number of a node.
pub type Ino = u64;

/// The directory at the mount point.
pub const ROOT: Ino = 1;

/// What a process asks for by a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncKind {
    /// `fsync` of a file.
    File,
    /// `fdatasync` of a file.
    Data,
    /// `fsync` of a directory.
    Directory,
}

/// Which syncs a tree obeys.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    ignored: Option<(SyncKind, fn(&str) -> bool)>,
}

impl Kept {
    /// All syncs but those of this kind with a path that matches, which are acknowledged and do
    /// nothing. A path begins with `/` at the mount point.
    #[must_use]
    pub fn all_but(kind: SyncKind, matches: fn(&str) -> bool) -> Self {
        Self { ignored: Some((kind, matches)) }
    }

    fn keeps(&self, kind: SyncKind, path: &str) -> bool {
        !self.ignored.is_some_and(|(ignored, matches)| ignored == kind && matches(path))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum FileChange {
    Write { offset: u64, data: Arc<[u8]> },
    SetLen(u64),
}

impl FileChange {
    pub(crate) fn apply(&self, content: &mut Content) {
        match self {
            Self::Write { offset, data } => content.write(*offset, data),
            Self::SetLen(len) => content.set_len(*len),
        }
    }
}

pub(crate) type Names = BTreeMap<Arc<str>, Ino>;

/// Names that change together.
pub(crate) type NameChange = Vec<(Arc<str>, Option<Ino>)>;

pub(crate) fn apply_names(names: &mut Names, change: &NameChange) {
    for (name, ino) in change {
        match ino {
            Some(ino) => names.insert(name.clone(), *ino),
            None => names.remove(name),
        };
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) live: Content,
    pub(crate) durable: Content,
    pub(crate) pending: Vec<(u64, FileChange)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    pub(crate) live: Names,
    pub(crate) durable: Names,
    pub(crate) pending: Vec<(u64, NameChange)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    File(File),
    Directory(Directory),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) body: Body,
    pub(crate) mode: u16,
    /// Live names that lead here.
    pub(crate) links: u32,
    /// The newest name, for reports and for [`Kept`].
    pub(crate) parent: Ino,
    pub(crate) name: Arc<str>,
}

impl Node {
    pub(crate) fn new(body: Body, mode: u16) -> Self {
        Self { body, mode, links: 1, parent: ROOT, name: "".into() }
    }
}

/// A tree of files, as it is seen and as far as it is durable.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) nodes: BTreeMap<Ino, Node>,
    pub(crate) next: Ino,
    /// The number of changes and syncs so far.
    pub(crate) sequence: u64,
    /// The newest change of names or lengths that a sync made durable. A journal has made all older
    /// ones durable too.
    pub(crate) journaled: u64,
    pub(crate) kept: Kept,
    pub(crate) ignored: u64,
    pub(crate) refuses_links: bool,
    /// The bytes that a medium writes whole or not at all.
    pub(crate) sector_bytes: u64,
}

/// The largest write that every disk makes at once.
pub(crate) const SECTOR_BYTES: u64 = 512;

impl Default for Tree {
    fn default() -> Self {
        let root = Node::new(Body::Directory(Directory::default()), 0o755);
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            next: ROOT + 1,
            sequence: 1,
            journaled: 0,
            kept: Kept::default(),
            ignored: 0,
            refuses_links: false,
            sector_bytes: SECTOR_BYTES,
        }
    }
}

/// What is known of a node without its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) len: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) is_dir: bool,
    pub(crate) mode: u16,
    pub(crate) links: u32,
}

impl Tree {
    /// Obeys these syncs from now on.
    pub fn keep(&mut self, kept: Kept) {
        self.kept = kept;
    }

    /// Refuses second names of files from now on, as some file systems do.
    pub fn refuse_links(&mut self) {
        self.refuses_links = true;
    }

    /// Tears writes at multiples of so many bytes from now on, instead of 512.
    pub fn tear_at(&mut self, bytes: u64) {
        self.sector_bytes = bytes.max(1);
    }

    /// The number of changes and syncs so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.sequence
    }

    /// The number of syncs that were acknowledged and did nothing.
    #[must_use]
    pub fn ignored_syncs(&self) -> u64 {
        self.ignored
    }

    pub(crate) fn node(&self, ino: Ino) -> Result<&Node, Errno> {
        self.nodes.get(&ino).ok_or(libc::ENOENT)
    }

    pub(crate) fn file(&self, ino: Ino) -> Result<&File, Errno> {
        match &self.node(ino)?.body {
            Body::File(file) => Ok(file),
            Body::Directory(_) => Err(libc::EISDIR),
        }
    }

    pub(crate) fn names(&self, ino: Ino) -> Result<&Names, Errno> {
        match &self.node(ino)?.body {
            Body::Directory(directory) => Ok(&directory.live),
            Body::File(_) => Err(libc::ENOTDIR),
        }
    }

    pub(crate) fn lookup(&self, parent: Ino, name: &str) -> Result<Ino, Errno> {
        self.names(parent)?.get(name).copied().ok_or(libc::ENOENT)
    }

    pub(crate) fn attributes(&self, ino: Ino) -> Result<Attributes, Errno> {
        let node = self.node(ino)?;
        let (len, allocated_bytes, is_dir) = match &node.body {
            Body::File(file) => (file.live.len(), file.live.allocated_bytes(), false),
            Body::Directory(_) => (0, 0, true),
        };
        Ok(Attributes { len, allocated_bytes, is_dir, mode: node.mode, links: node.links })
    }

    pub(crate) fn set_mode(&mut self, ino: Ino, mode: u16) -> Result<(), Errno> {
        self.nodes.get_mut(&ino).ok_or(libc::ENOENT)?.mode = mode;
        Ok(())
    }

    /// Files that have a live name, with their paths and lengths.
    #[must_use]
    pub fn files(&self) -> Vec<(String, u64)> {
        let file = |(ino, node): (&Ino, &Node)| match &node.body {
            Body::File(file) if node.links > 0 => Some((self.path(*ino), file.live.len())),
            _ => None,
        };
        self.nodes.iter().filter_map(file).collect()
    }

    /// The path of the newest name of a node.
    fn path(&self, ino: Ino) -> String {
        let (mut parts, mut at) = (Vec::new(), ino);
        while at != ROOT
            && parts.len() < 64
            && let Some(node) = self.nodes.get(&at)
        {
            parts.push(&*node.name);
            at = node.parent;
        }
        parts.iter().rev().map(|part| format!("/{part}")).collect()
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// Changes the names of one directory together.
    fn change_names(&mut self, ino: Ino, change: NameChange) {
        let sequence = self.next_sequence();
        for (name, target) in &change {
            if let Some(node) = target.and_then(|target| self.nodes.get_mut(&target)) {
                (node.parent, node.name) = (ino, name.clone());
            }
        }
        if let Some(Node { body: Body::Directory(directory), .. }) = self.nodes.get_mut(&ino) {
            apply_names(&mut directory.live, &change);
            directory.pending.push((sequence, change));
        }
    }

    fn change_links(&mut self, ino: Ino, by: i32) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.links = node.links.saturating_add_signed(by);
        }
    }

    pub(crate) fn create(
        &mut self,
        parent: Ino,
        name: &str,
        mode: u16,
        is_dir: bool,
    ) -> Result<Ino, Errno> {
        if self.names(parent)?.contains_key(name) {
            return Err(libc::EEXIST);
        }
        let ino = self.next;
        self.next += 1;
        let body = if is_dir {
            Body::Directory(Directory::default())
        } else {
            Body::File(File::default())
        };
        self.nodes.insert(ino, Node::new(body, mode));
        self.change_names(parent, vec![(name.into(), Some(ino))]);
        Ok(ino)
    }

    pub(crate) fn link(&mut self, ino: Ino, parent: Ino, name: &str) -> Result<(), Errno> {
        self.file(ino)?;
        if self.refuses_links {
            return Err(libc::EPERM);
        }
        if self.names(parent)?.contains_key(name) {
            return Err(libc::EEXIST);
        }
        self.change_names(parent, vec![(name.into(), Some(ino))]);
        self.change_links(ino, 1);
        Ok(())
    }

    pub(crate) fn unlink(&mut self, parent: Ino, name: &str) -> Result<(), Errno> {
        let ino = self.lookup(parent, name)?;
        self.file(ino)?;
        self.change_names(parent, vec![(name.into(), None)]);
        self.change_links(ino, -1);
        Ok(())
    }

    pub(crate) fn rmdir(&mut self, parent: Ino, name: &str) -> Result<(), Errno> {
        let ino = self.lookup(parent, name)?;
        if !self.names(ino)?.is_empty() {
            return Err(libc::ENOTEMPTY);
        }
        self.change_names(parent, vec![(name.into(), None)]);
        self.change_links(ino, -1);
        Ok(())
    }

    pub(crate) fn rename(
        &mut self,
        parent: Ino,
        name: &str,
        to_parent: Ino,
        to_name: &str,
    ) -> Result<(), Errno> {
        let ino = self.lookup(parent, name)?;
        let replaced = self.names(to_parent)?.get(to_name).copied();
        if let Some(replaced) = replaced {
            if replaced == ino {
                return Ok(());
            }
            match (self.attributes(ino)?.is_dir, self.attributes(replaced)?.is_dir) {
                (true, false) => return Err(libc::ENOTDIR),
                (false, true) => return Err(libc::EISDIR),
                (true, true) if !self.names(replaced)?.is_empty() => return Err(libc::ENOTEMPTY),
                _ => self.change_links(replaced, -1),
            }
        }
        if parent == to_parent {
            self.change_names(parent, vec![(name.into(), None), (to_name.into(), Some(ino))]);
        } else {
            self.change_names(to_parent, vec![(to_name.into(), Some(ino))]);
            self.change_names(parent, vec![(name.into(), None)]);
        }
        Ok(())
    }

    fn change_file(&mut self, ino: Ino, change: FileChange) -> Result<(), Errno> {
        self.file(ino)?;
        let sequence = self.next_sequence();
        if let Some(Node { body: Body::File(file), .. }) = self.nodes.get_mut(&ino) {
            change.apply(&mut file.live);
            file.pending.push((sequence, change));
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, ino: Ino, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.change_file(ino, FileChange::Write { offset, data: data.into() })
    }

    pub(crate) fn set_len(&mut self, ino: Ino, len: u64) -> Result<(), Errno> {
        self.change_file(ino, FileChange::SetLen(len))
    }

    /// Makes a node durable, as far as this kind of sync does. With an ignored one it only looks so.
    pub(crate) fn sync(&mut self, ino: Ino, kind: SyncKind) -> Result<(), Errno> {
        self.node(ino)?;
        self.next_sequence();
        if !self.kept.keeps(kind, &self.path(ino)) {
            self.ignored += 1;
            return Ok(());
        }
        let Some(node) = self.nodes.get_mut(&ino) else { return Ok(()) };
        match &mut node.body {
            Body::File(file) => {
                let has_new_length = file.durable.len() != file.live.len();
                let newest = file.pending.last().map_or(0, |(sequence, _)| *sequence);
                file.pending.clear();
                let before = std::mem::replace(&mut file.durable, file.live.clone());
                if kind == SyncKind::Data && before.len() > file.live.len() {
                    // What the file was shortened to is not needed to read its data.
                    let (len, end) = (file.live.len(), before.len());
                    file.durable.set_len(end);
                    let tail = usize::try_from(end - len).unwrap_or(usize::MAX);
                    file.durable.write(len, &before.read(len, tail));
                    file.pending.push((newest, FileChange::SetLen(len)));
                } else if has_new_length {
                    self.journaled = self.journaled.max(newest);
                }
            }
            Body::Directory(directory) => {
                if let Some((newest, _)) = directory.pending.last() {
                    self.journaled = self.journaled.max(*newest);
                }
                directory.pending.clear();
                directory.durable = directory.live.clone();
            }
        }
        Ok(())
    }
}
