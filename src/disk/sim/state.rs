//! The two images of a simulated disk: what a reader sees, and what a power cut leaves.
//!
//! Files and directories are nodes. Each has a live state, a durable state, and the pending changes
//! between them, in order. What must hold: applying the same [`Change`]s to the same state gives
//! the same state, because the crash images of every point are built by replaying the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::content::Content;
use super::random::Random;
use super::survival::Survival;

/// The largest write that a disk makes atomically.
const SECTOR_BYTES: usize = 512;

pub(super) type Id = u64;
pub(super) const ROOT: Id = 0;

/// One entry of the log.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Create {
        dir: Id,
        name: Arc<str>,
        id: Id,
        is_dir: bool,
    },
    Unlink {
        dir: Id,
        name: Arc<str>,
    },
    Rename {
        from_dir: Id,
        from: Arc<str>,
        to_dir: Id,
        to: Arc<str>,
        id: Id,
    },
    Write {
        file: Id,
        offset: u64,
        data: Arc<[u8]>,
    },
    SetLen {
        file: Id,
        len: u64,
    },
    /// Makes durable the changes of a node that were made before the sync began.
    Sync {
        node: Id,
        before: u64,
    },
    /// A failed sync: the pending changes are dropped, and no later sync writes them.
    Forget {
        node: Id,
    },
}

#[derive(Clone, Debug)]
enum FileChange {
    Write { offset: u64, data: Arc<[u8]> },
    SetLen(u64),
}

/// Names that change atomically: a rename inside one directory is one change.
type NameChange = Vec<(Arc<str>, Option<Id>)>;

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) live: Content,
    durable: Content,
    pending: Vec<(u64, FileChange)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) live: BTreeMap<Arc<str>, Id>,
    durable: BTreeMap<Arc<str>, Id>,
    pending: Vec<(u64, NameChange)>,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(File),
    Directory(Directory),
}

#[derive(Clone, Debug)]
pub(super) struct SimState {
    nodes: BTreeMap<Id, Node>,
    next_id: Id,
    /// Sequence number of the next change.
    pub(super) sequence: u64,
    /// The newest change of names or lengths that a sync made durable. In a journal, all older ones
    /// are durable too.
    journaled: u64,
}

impl FileChange {
    fn apply(&self, content: &mut Content) {
        match self {
            Self::Write { offset, data } => content.write(*offset, data),
            Self::SetLen(len) => content.set_len(*len),
        }
    }
}

fn apply_names(names: &mut BTreeMap<Arc<str>, Id>, change: &NameChange) {
    for (name, id) in change {
        match id {
            Some(id) => names.insert(name.clone(), *id),
            None => names.remove(name),
        };
    }
}

impl SimState {
    pub(super) fn new() -> Self {
        let root = Node::Directory(Directory::default());
        Self { nodes: BTreeMap::from([(ROOT, root)]), next_id: ROOT + 1, sequence: 1, journaled: 0 }
    }

    pub(super) fn new_id(&mut self) -> Id {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    pub(super) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub(super) fn file(&self, id: Id) -> Option<&File> {
        match self.nodes.get(&id) {
            Some(Node::File(file)) => Some(file),
            _ => None,
        }
    }

    pub(super) fn directory(&self, id: Id) -> Option<&Directory> {
        match self.nodes.get(&id) {
            Some(Node::Directory(directory)) => Some(directory),
            _ => None,
        }
    }

    /// The node at a path. `Err(true)` if a part of the path is a file, `Err(false)` if it does not
    /// exist.
    pub(super) fn find(&self, path: &str) -> Result<Id, bool> {
        let mut id = ROOT;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let directory = self.directory(id).ok_or(true)?;
            id = *directory.live.get(part).ok_or(false)?;
        }
        Ok(id)
    }

    /// Total bytes of all files that have a name.
    pub(super) fn used_bytes(&self) -> u64 {
        let mut seen = BTreeSet::new();
        self.nodes
            .values()
            .filter_map(|node| match node {
                Node::Directory(directory) => Some(directory.live.values()),
                Node::File(_) => None,
            })
            .flatten()
            .filter(|id| seen.insert(**id))
            .filter_map(|id| self.file(*id))
            .map(|file| file.live.len())
            .sum()
    }

    fn change_names(&mut self, dir: Id, sequence: u64, change: NameChange) {
        if let Some(Node::Directory(directory)) = self.nodes.get_mut(&dir) {
            apply_names(&mut directory.live, &change);
            directory.pending.push((sequence, change));
        }
    }

    fn change_file(&mut self, file: Id, sequence: u64, change: FileChange) {
        if let Some(Node::File(file)) = self.nodes.get_mut(&file) {
            change.apply(&mut file.live);
            file.pending.push((sequence, change));
        }
    }

    pub(super) fn apply(&mut self, change: &Change) {
        let sequence = self.sequence;
        self.sequence += 1;
        match change.clone() {
            Change::Create { dir, name, id, is_dir } => {
                self.next_id = self.next_id.max(id + 1);
                let node = if is_dir {
                    Node::Directory(Directory::default())
                } else {
                    Node::File(File::default())
                };
                self.nodes.insert(id, node);
                self.change_names(dir, sequence, vec![(name, Some(id))]);
            }
            Change::Unlink { dir, name } => self.change_names(dir, sequence, vec![(name, None)]),
            Change::Rename { from_dir, from, to_dir, to, id } if from_dir == to_dir => {
                self.change_names(from_dir, sequence, vec![(from, None), (to, Some(id))]);
            }
            Change::Rename { from_dir, from, to_dir, to, id } => {
                self.change_names(to_dir, sequence, vec![(to, Some(id))]);
                self.change_names(from_dir, sequence, vec![(from, None)]);
            }
            Change::Write { file, offset, data } => {
                self.change_file(file, sequence, FileChange::Write { offset, data });
            }
            Change::SetLen { file, len } => {
                self.change_file(file, sequence, FileChange::SetLen(len));
            }
            Change::Sync { node, before } => self.sync(node, before),
            Change::Forget { node } => match self.nodes.get_mut(&node) {
                Some(Node::File(file)) => file.pending.clear(),
                Some(Node::Directory(directory)) => directory.pending.clear(),
                None => {}
            },
        }
    }

    fn sync(&mut self, node: Id, before: u64) {
        match self.nodes.get_mut(&node) {
            Some(Node::File(file)) => {
                let mut durable = std::mem::take(&mut file.durable);
                let count = file.pending.partition_point(|(sequence, _)| *sequence < before);
                for (sequence, change) in file.pending.drain(..count) {
                    let len = durable.len();
                    change.apply(&mut durable);
                    if durable.len() != len {
                        self.journaled = self.journaled.max(sequence);
                    }
                }
                file.durable = durable;
            }
            Some(Node::Directory(directory)) => {
                let count = directory.pending.partition_point(|(sequence, _)| *sequence < before);
                for (sequence, change) in directory.pending.drain(..count) {
                    apply_names(&mut directory.durable, &change);
                    self.journaled = self.journaled.max(sequence);
                }
            }
            None => {}
        }
    }

    /// The state after a power cut: everything in it is durable.
    pub(super) fn after_power_cut(&self, seed: u64, survival: Survival) -> Self {
        let mut luck = Luck::new(seed, survival, self.journaled, self.sequence);
        let mut image = Self::new();
        image.sequence = self.sequence;
        image.next_id = self.next_id;
        // Two names may lead to a node, if only half of a move between directories survived.
        let mut open = vec![ROOT];
        let mut seen = BTreeSet::from([ROOT]);
        while let Some(id) = open.pop() {
            let node = match self.nodes.get(&id) {
                Some(Node::Directory(directory)) => {
                    let names = luck.names(directory);
                    open.extend(names.values().filter(|id| seen.insert(**id)));
                    Node::Directory(Directory {
                        live: names.clone(),
                        durable: names,
                        pending: Vec::new(),
                    })
                }
                Some(Node::File(file)) => {
                    let content = luck.content(file);
                    Node::File(File {
                        live: content.clone(),
                        durable: content,
                        pending: Vec::new(),
                    })
                }
                None => continue,
            };
            image.nodes.insert(id, node);
        }
        image
    }

    /// A hash of all live names and bytes.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        let mut open = vec![(String::new(), ROOT)];
        while let Some((path, id)) = open.pop() {
            hasher.update(path.as_bytes());
            match self.nodes.get(&id) {
                // A directory that a half-survived move put into itself would never end.
                Some(Node::Directory(directory)) if path.len() < 4096 => {
                    open.extend(
                        directory.live.iter().map(|(name, id)| (format!("{path}/{name}"), *id)),
                    );
                }
                Some(Node::File(file)) => file.live.hash(&mut hasher),
                Some(Node::Directory(_)) | None => {}
            }
        }
        hasher.digest()
    }
}

/// The random choices of what survives among the unsynced changes.
struct Luck {
    random: Random,
    survival: Survival,
    /// Percentage of names and lengths that survive in this image.
    metadata_percent: u64,
    /// In journal mode, names and lengths survive up to this change.
    journal_end: u64,
}

impl Luck {
    fn new(seed: u64, survival: Survival, journaled: u64, sequence: u64) -> Self {
        let mut random = Random::new(seed);
        let metadata_percent = Self::rate(&mut random);
        let journal_end = journaled + random.below(sequence.saturating_sub(journaled));
        Self { random, survival, metadata_percent, journal_end }
    }

    /// A survival rate. Uniform rates find few errors in long histories, so nearly all and nearly
    /// nothing are drawn as often as half.
    fn rate(random: &mut Random) -> u64 {
        match random.below(5) {
            0 => 5,
            1 => 25,
            2 => 50,
            3 => 85,
            _ => 97,
        }
    }

    fn keeps_metadata(&mut self, sequence: u64) -> bool {
        match self.survival {
            Survival::None => false,
            Survival::All => true,
            Survival::Random => self.random.percent(self.metadata_percent),
            Survival::Journal => sequence <= self.journal_end,
        }
    }

    fn names(&mut self, directory: &Directory) -> BTreeMap<Arc<str>, Id> {
        let mut names = directory.durable.clone();
        for (sequence, change) in &directory.pending {
            if self.keeps_metadata(*sequence) {
                apply_names(&mut names, change);
            }
        }
        names
    }

    fn content(&mut self, file: &File) -> Content {
        match self.survival {
            Survival::None => return file.durable.clone(),
            Survival::All => return file.live.clone(),
            Survival::Random | Survival::Journal => {}
        }
        let mut content = file.durable.clone();
        let data_percent = Self::rate(&mut self.random);
        for (sequence, change) in &file.pending {
            let keeps_length = self.keeps_metadata(*sequence);
            match change {
                FileChange::SetLen(len) if keeps_length => content.set_len(*len),
                FileChange::SetLen(_) => {}
                FileChange::Write { offset, data } => {
                    let end = offset + data.len() as u64;
                    let len = content.len();
                    self.sectors(&mut content, *offset, data, data_percent);
                    if keeps_length && content.len() < end {
                        content.set_len(end);
                    } else if !keeps_length
                        && self.survival == Survival::Journal
                        && content.len() > len
                    {
                        // The journal does not contain the new length, so the data after the old
                        // length is unreachable.
                        content.set_len(len);
                    }
                }
            }
        }
        content
    }

    fn sectors(&mut self, content: &mut Content, offset: u64, data: &[u8], percent: u64) {
        let mut at = 0;
        while at < data.len() {
            let in_sector =
                usize::try_from((offset + at as u64) % SECTOR_BYTES as u64).unwrap_or(0);
            let count = (SECTOR_BYTES - in_sector).min(data.len() - at);
            let torn = usize::try_from(self.random.below(count as u64)).unwrap_or(0);
            let kept = match self.random.below(10) {
                0 => at..at + torn,
                1 => at + torn..at + count,
                _ => at..at + count,
            };
            if self.random.percent(percent)
                && let Some(piece) = data.get(kept.clone())
            {
                content.write(offset + kept.start as u64, piece);
            }
            at += count;
        }
    }
}
