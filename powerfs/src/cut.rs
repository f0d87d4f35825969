//! What a power cut leaves of a tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::Random;
use crate::content::Content;
use crate::tree::{Body, Directory, File, FileChange, Names, Node, ROOT, Tree, apply_names};

/// What survives of the changes that no sync made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    None,
    /// Everything, as if the power had stayed.
    All,
    /// Any part of bytes, lengths and names.
    Random,
    /// Names and lengths in order up to a point, as in a journal, and any part of the bytes.
    Journal,
    /// All changes in order up to a point.
    Prefix,
}

impl Tree {
    /// Draws the tree that a power cut leaves now. Everything in it is durable.
    #[must_use]
    pub fn cut(&self, seed: u64, survival: Survival) -> Self {
        let mut luck = Luck::new(self, seed, survival);
        let mut image = Self {
            next: self.next,
            kept: self.kept.clone(),
            refuses_links: self.refuses_links,
            sector_bytes: self.sector_bytes,
            ..Self::default()
        };
        let (mut open, mut links) = (vec![ROOT], BTreeMap::from([(ROOT, 1)]));
        let mut seen = BTreeSet::from([ROOT]);
        while let Some(ino) = open.pop() {
            let Some(node) = self.nodes.get(&ino) else { continue };
            let body = match &node.body {
                Body::Directory(directory) => {
                    let names = luck.names(directory);
                    for (name, target) in names.clone() {
                        *links.entry(target).or_insert(0) += 1;
                        if seen.insert(target) {
                            open.push(target);
                            let node = self.nodes.get(&target);
                            let body = Body::Directory(Directory::default());
                            let mut made = Node::new(body, node.map_or(0, |node| node.mode));
                            (made.parent, made.name) = (ino, name);
                            image.nodes.insert(target, made);
                        }
                    }
                    let (live, durable) = (names.clone(), names);
                    Body::Directory(Directory { live, durable, pending: Vec::new() })
                }
                Body::File(file) => {
                    let content = luck.content(file);
                    let (live, durable) = (content.clone(), content);
                    Body::File(File { live, durable, pending: Vec::new() })
                }
            };
            if let Some(made) = image.nodes.get_mut(&ino) {
                made.body = body;
            }
        }
        for (ino, count) in links {
            if let Some(node) = image.nodes.get_mut(&ino) {
                node.links = count;
            }
        }
        image
    }
}

/// The draws of one cut.
struct Luck {
    random: Random,
    survival: Survival,
    /// Of names and lengths, the part that survives a random cut.
    metadata_percent: u64,
    /// The change up to which a journal or a prefix goes.
    end: u64,
    sector_bytes: u64,
}

impl Luck {
    fn new(tree: &Tree, seed: u64, survival: Survival) -> Self {
        let mut random = Random::new(seed);
        let metadata_percent = Self::rate(&mut random);
        let begin = match survival {
            Survival::Journal => tree.journaled,
            _ => 0,
        };
        // Near the end as often as anywhere.
        let range = tree.sequence.saturating_sub(begin);
        let range = if random.percent(50) { range.min(40) } else { range };
        let end = tree.sequence.saturating_sub(random.below(range.max(1)));
        Self { random, survival, metadata_percent, end, sector_bytes: tree.sector_bytes }
    }

    /// Long histories are rarely wrong at even rates: nearly all and nearly nothing are drawn as
    /// often as half.
    fn rate(random: &mut Random) -> u64 {
        [5, 25, 50, 85, 97][usize::try_from(random.below(5)).unwrap_or(0)]
    }

    fn keeps_metadata(&mut self, sequence: u64) -> bool {
        match self.survival {
            Survival::None => false,
            Survival::All => true,
            Survival::Random => self.random.percent(self.metadata_percent),
            Survival::Journal | Survival::Prefix => sequence <= self.end,
        }
    }

    fn names(&mut self, directory: &Directory) -> Names {
        let mut names = directory.durable.clone();
        for (sequence, change) in &directory.pending {
            if self.keeps_metadata(*sequence) {
                apply_names(&mut names, change);
            }
        }
        names
    }

    fn content(&mut self, file: &File) -> Content {
        let mut content = file.durable.clone();
        let percent = Self::rate(&mut self.random);
        for (sequence, change) in &file.pending {
            let keeps = self.keeps_metadata(*sequence);
            match (self.survival, change) {
                (Survival::None, _) => {}
                (Survival::All | Survival::Prefix, _) | (_, FileChange::SetLen(_)) => {
                    if keeps {
                        change.apply(&mut content);
                    }
                }
                (_, FileChange::Write { offset, data }) => {
                    let (end, len) = (offset + data.len() as u64, content.len());
                    self.sectors(&mut content, *offset, data, percent);
                    if keeps && content.len() < end {
                        content.set_len(end);
                    } else if !keeps && self.survival == Survival::Journal && content.len() > len {
                        // The journal lacks the new length, so nobody reads what is behind the old.
                        content.set_len(len);
                    }
                }
            }
        }
        content
    }

    /// Writes `percent` of the sectors.
    fn sectors(&mut self, content: &mut Content, offset: u64, data: &[u8], percent: u64) {
        let mut at = 0;
        while at < data.len() {
            let start = offset + at as u64;
            let rest_of_sector = self.sector_bytes - start % self.sector_bytes;
            let count = usize::try_from(rest_of_sector).unwrap_or(usize::MAX).min(data.len() - at);
            if self.random.percent(percent)
                && let Some(piece) = data.get(at..at + count)
            {
                content.write(start, piece);
            }
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Kept, SyncKind};

    const SEEDS: u64 = 200;
    const SECTOR_BYTES: usize = 512;

    /// What cuts of a tree show, each as paths and contents.
    fn shown(tree: &Tree) -> BTreeSet<Vec<(String, Vec<u8>)>> {
        let ways = [Survival::None, Survival::All, Survival::Random, Survival::Journal];
        let cuts = ways
            .into_iter()
            .chain([Survival::Prefix])
            .flat_map(|way| (0..SEEDS).map(move |seed| tree.cut(seed, way)));
        let files = cuts.map(|cut| {
            let file = |(path, len): (String, u64)| {
                let ino =
                    path.split('/').skip(1).fold(ROOT, |at, part| cut.lookup(at, part).unwrap());
                let len = usize::try_from(len).unwrap();
                (path, cut.file(ino).unwrap().live.read(0, len))
            };
            cut.files().into_iter().map(file).collect()
        });
        files.collect()
    }

    fn file(path: &str, bytes: &[u8]) -> (String, Vec<u8>) {
        (path.to_owned(), bytes.to_vec())
    }

    /// A tree with a durable file `a` of the bytes `old`.
    fn with_file() -> (Tree, u64) {
        let mut tree = Tree::default();
        let ino = tree.create(ROOT, "a", 0o600, false).unwrap();
        tree.write(ino, 0, b"old").unwrap();
        tree.sync(ino, SyncKind::File).unwrap();
        tree.sync(ROOT, SyncKind::Directory).unwrap();
        (tree, ino)
    }

    #[test]
    fn names_and_bytes_are_durable_by_their_own_syncs() {
        let mut tree = Tree::default();
        let ino = tree.create(ROOT, "a", 0o600, false).unwrap();
        tree.write(ino, 0, b"new").unwrap();
        let nothing = vec![];
        let (empty, zeros, whole) = (file("/a", b""), file("/a", b"\0\0\0"), file("/a", b"new"));
        let all = [nothing.clone(), vec![empty.clone()], vec![zeros.clone()], vec![whole.clone()]];
        assert_eq!(shown(&tree), BTreeSet::from(all));
        let mut synced = tree.clone();
        synced.sync(ino, SyncKind::Data).unwrap();
        assert_eq!(shown(&synced), BTreeSet::from([nothing, vec![whole.clone()]]));
        let mut named = tree.clone();
        named.sync(ROOT, SyncKind::Directory).unwrap();
        assert_eq!(shown(&named), BTreeSet::from([vec![empty], vec![zeros], vec![whole.clone()]]));
        synced.sync(ROOT, SyncKind::Directory).unwrap();
        assert_eq!(shown(&synced), BTreeSet::from([vec![whole]]));
    }

    #[test]
    fn nothing_is_the_durable_tree_and_everything_the_live_one() {
        let (mut tree, ino) = with_file();
        tree.write(ino, 0, b"newer").unwrap();
        tree.create(ROOT, "b", 0o600, false).unwrap();
        let files = |way| tree.cut(1, way).files();
        assert_eq!(files(Survival::None), [("/a".to_owned(), 3)]);
        assert_eq!(files(Survival::All), [("/a".to_owned(), 5), ("/b".to_owned(), 0)]);
    }

    #[test]
    fn a_rename_in_one_directory_is_whole_or_not_there() {
        let (mut tree, _) = with_file();
        let new = tree.create(ROOT, "b", 0o600, false).unwrap();
        tree.write(new, 0, b"new").unwrap();
        tree.sync(new, SyncKind::File).unwrap();
        tree.sync(ROOT, SyncKind::Directory).unwrap();
        tree.rename(ROOT, "b", ROOT, "a").unwrap();
        let (before, after) =
            (vec![file("/a", b"old"), file("/b", b"new")], vec![file("/a", b"new")]);
        assert_eq!(shown(&tree), BTreeSet::from([before, after.clone()]));
        tree.sync(ROOT, SyncKind::Directory).unwrap();
        assert_eq!(shown(&tree), BTreeSet::from([after]));
    }

    #[test]
    fn a_shorter_length_needs_a_sync_of_more_than_the_data() {
        let (mut tree, ino) = with_file();
        tree.set_len(ino, 1).unwrap();
        tree.sync(ino, SyncKind::Data).unwrap();
        let (before, after) = (vec![file("/a", b"old")], vec![file("/a", b"o")]);
        assert_eq!(shown(&tree), BTreeSet::from([before, after.clone()]));
        tree.sync(ino, SyncKind::File).unwrap();
        assert_eq!(shown(&tree), BTreeSet::from([after]));
    }

    #[test]
    fn an_ignored_sync_makes_nothing_durable() {
        let (mut tree, ino) = with_file();
        tree.keep(Kept::all_but(SyncKind::File, |path| path == "/a"));
        tree.write(ino, 0, b"new").unwrap();
        tree.sync(ino, SyncKind::File).unwrap();
        assert_eq!(tree.ignored_syncs(), 1);
        assert!(shown(&tree).contains(&vec![file("/a", b"old")]));
        tree.sync(ino, SyncKind::Data).unwrap();
        assert_eq!(shown(&tree), BTreeSet::from([vec![file("/a", b"new")]]));
    }

    #[test]
    fn writes_survive_in_sectors() {
        let (mut tree, ino) = with_file();
        tree.write(ino, 0, &[1; 3 * SECTOR_BYTES]).unwrap();
        tree.sync(ino, SyncKind::File).unwrap();
        tree.write(ino, 0, &[2; 3 * SECTOR_BYTES]).unwrap();
        let mut kinds = BTreeSet::new();
        for files in shown(&tree) {
            let sectors: Vec<u8> = files[0]
                .1
                .chunks(SECTOR_BYTES)
                .map(|sector| {
                    assert!(sector.iter().all(|byte| *byte == sector[0]), "a torn sector");
                    sector[0]
                })
                .collect();
            kinds.insert(sectors);
        }
        assert_eq!(kinds.len(), 8, "{kinds:?}");
    }
}
