//! What a workload runs on: the lossy file system itself, or a file system of the system on a block
//! device that is a file of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use stationdb_powerfs::{Mounted, Survival, Tree};

/// A file system of Linux, in its usual options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    Ext4,
    /// ext4 with `data=writeback`: contents in any order with the journal.
    Ext4Writeback,
    Xfs,
    Btrfs,
}

impl FileSystem {
    fn make(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 | Self::Ext4Writeback => &["mkfs.ext4", "-q", "-F"],
            Self::Xfs => &["mkfs.xfs", "-q", "-f"],
            Self::Btrfs => &["mkfs.btrfs", "-q", "-f"],
        }
    }

    fn options(self) -> &'static str {
        match self {
            Self::Ext4Writeback => "loop,data=writeback",
            // The same device may still be mounted in another namespace.
            Self::Xfs => "loop,nouuid",
            _ => "loop",
        }
    }
}

/// What is below a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// The lossy file system.
    Lossy,
    /// A file system on a lossy device.
    Device(FileSystem),
}

const DEVICE: &str = "device";
/// The smallest device that every file system takes.
const DEVICE_BYTES: u64 = 320 << 20;
const UNMOUNT_MAX: Duration = Duration::from_secs(60);
/// What a device writes whole or not at all. ext4 does not survive less: it writes its superblock,
/// which has one checksum, as two sectors of 512 bytes.
const DEVICE_SECTOR_BYTES: u64 = 4096;

fn run(program: &str, arguments: &[&OsStr]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} {arguments:?}: {}", text.trim()))
}

fn unmount(path: &Path) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match run("umount", &[path.as_os_str()]) {
            Err(error) if began.elapsed() > UNMOUNT_MAX => {
                let _ = run("umount", &["-l".as_ref(), path.as_os_str()]);
                return Err(error);
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
            Ok(()) => return Ok(()),
        }
    }
}

impl Ground {
    /// An empty tree for it.
    pub fn new_tree(self, directory: &Path) -> Result<Tree, String> {
        let Self::Device(file_system) = self else { return Ok(Tree::default()) };
        let path = directory.join("make");
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        let mounted = Mounted::new(Tree::default(), &path).map_err(|error| error.to_string())?;
        let device = path.join(DEVICE);
        std::fs::File::create(&device)
            .and_then(|file| file.set_len(DEVICE_BYTES))
            .map_err(|error| error.to_string())?;
        let (program, arguments) = file_system.make().split_first().unwrap();
        let mut arguments: Vec<&OsStr> =
            arguments.iter().map(std::convert::AsRef::as_ref).collect();
        arguments.push(device.as_os_str());
        let made = run(program, &arguments);
        let tree = mounted.unmount().map_err(|error| error.to_string())?;
        made?;
        let mut tree = tree.cut(0, Survival::All);
        tree.tear_at(DEVICE_SECTOR_BYTES);
        Ok(tree)
    }
}

/// A tree that is mounted for a workload.
#[derive(Debug)]
pub struct Place {
    pub mounted: Mounted,
    /// Where the workload runs.
    pub path: PathBuf,
    has_device: bool,
}

impl Place {
    pub fn new(ground: Ground, tree: Tree, directory: &Path, name: &str) -> Result<Self, String> {
        let made = |name: String| -> Result<PathBuf, String> {
            let path = directory.join(name);
            std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
            Ok(path)
        };
        let below = made(name.to_owned())?;
        let mounted = Mounted::new(tree, &below).map_err(|error| error.to_string())?;
        let Ground::Device(file_system) = ground else {
            return Ok(Self { mounted, path: below, has_device: false });
        };
        let (device, path) = (below.join(DEVICE), made(format!("{name}-on-device"))?);
        let options = file_system.options();
        let arguments = ["-o".as_ref(), options.as_ref(), device.as_os_str(), path.as_os_str()];
        if let Err(error) = run("mount", &arguments) {
            let _ = mounted.unmount();
            return Err(error);
        }
        Ok(Self { mounted, path, has_device: true })
    }

    /// Ends the file system on the device without flushing its log.
    pub fn shut_down(&self) -> Result<(), String> {
        let arguments = ["-x", "-c", "shutdown"].map(std::convert::AsRef::as_ref);
        run("xfs_io", &[&arguments[..], &[self.path.as_os_str()]].concat())
    }

    /// Unmounts, and returns the tree. The workload has ended.
    pub fn end(self) -> Result<Tree, String> {
        let above = if self.has_device { unmount(&self.path) } else { Ok(()) };
        // What a device fails at the end is healed for the next mount alone.
        self.mounted.fail(None);
        let tree = self.mounted.unmount().map_err(|error| error.to_string())?;
        above?;
        Ok(tree)
    }
}
