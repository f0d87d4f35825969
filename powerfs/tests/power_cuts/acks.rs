//! What a process told about its work, outside of the file system that it works on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The largest number that was told for each name.
#[derive(Clone, Debug, Default)]
pub struct Acks(BTreeMap<String, u64>);

impl Acks {
    /// What the file says. Each line was written at once.
    pub fn read(path: &Path) -> Self {
        let mut acks = Self::default();
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            if let Some((name, number)) = line.split_once(' ')
                && let Ok(number) = number.parse()
            {
                acks.tell(name, number);
            }
        }
        acks
    }

    pub fn tell(&mut self, name: &str, number: u64) {
        let newest = self.0.entry(name.to_owned()).or_insert(number);
        *newest = number.max(*newest);
    }

    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Writes the file anew.
    pub fn write(&self, path: &Path) {
        let lines = self.0.iter().map(|(name, number)| format!("{name} {number}\n"));
        std::fs::write(path, lines.collect::<String>()).unwrap();
    }
}

/// Where something is told.
pub trait Tell: Sync {
    fn tell(&self, name: &str, number: u64);
}

impl Tell for Mutex<Acks> {
    fn tell(&self, name: &str, number: u64) {
        self.lock().unwrap_or_else(PoisonError::into_inner).tell(name, number);
    }
}

/// The file, of the process that writes it.
#[derive(Debug)]
pub struct AckFile(File);

impl AckFile {
    pub fn open(path: &Path) -> Self {
        Self(OpenOptions::new().append(true).create(true).open(path).unwrap())
    }
}

impl Tell for AckFile {
    fn tell(&self, name: &str, number: u64) {
        assert!(!name.contains(' '), "{name:?} is not read back");
        (&self.0).write_all(format!("{name} {number}\n").as_bytes()).unwrap();
    }
}
