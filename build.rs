//! Tells the crate which commit it is built from. Each store names the build that wrote it, in the
//! file `FORMAT`.
//!
//! Without the files of git, as in a package, only the version of the crate is known.

use std::fs;
use std::path::Path;

/// Digits of a commit that are told.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let watch = |path: &Path| println!("cargo::rerun-if-changed={}", path.display());
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let build = match commit(Path::new(&root), &watch) {
        Some(commit) => format!("{version} {commit}"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=STATIONDB_BUILD={build}");
}

/// The commit of the checkout in `root`. Each file and directory that a new commit changes is given
/// to `watch`. They exist: cargo would run the script each time for one that does not.
pub fn commit(root: &Path, watch: &dyn Fn(&Path)) -> Option<String> {
    let read = |path: &Path| {
        let text = fs::read_to_string(path).ok()?;
        watch(path);
        Some(text)
    };
    // In a worktree, `.git` is a file that names the directory.
    let link = fs::read_to_string(root.join(".git"));
    let git = match link.as_deref().map(|link| link.strip_prefix("gitdir: ")) {
        Ok(path) => root.join(path?.trim_end()),
        Err(_) => root.join(".git"),
    };
    let head = read(&git.join("HEAD"))?;
    let Some(branch) = head.strip_prefix("ref: ").map(str::trim_end) else { return digits(&head) };
    // The branches of a worktree are in the repository that it belongs to.
    let common = fs::read_to_string(git.join("commondir"));
    let common = common.map_or(git.clone(), |path| git.join(path.trim_end()));
    let own = common.join(branch);
    if let Some(commit) = read(&own) {
        return digits(&commit);
    }
    // The next commit makes the file of the branch.
    own.ancestors().find(|path| path.is_dir()).into_iter().for_each(watch);
    let packed = read(&common.join("packed-refs"))?;
    packed.lines().find_map(|line| digits(line.strip_suffix(branch)?.strip_suffix(' ')?))
}

/// The first digits of a commit.
fn digits(commit: &str) -> Option<String> {
    let digits = commit.trim_end();
    let is_commit = digits.len() >= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| digits.chars().take(DIGITS).collect())
}
