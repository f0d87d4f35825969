//! The library as it was built, and the compilers of the system.
#![allow(dead_code, reason = "each program uses a part of it")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory for one test.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Names the folder of programs that are built already.
const CALLERS: &str = "STATIONDB_CALLERS";

/// The folder of the package.
pub fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the programs.
pub fn programs() -> PathBuf {
    package().join("tests/programs")
}

/// The shared library beside this test.
pub fn library() -> PathBuf {
    let name =
        format!("{}stationdb_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let path = std::env::current_exe().unwrap().with_file_name(name);
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// The path of the first of these programs that is installed.
pub fn found(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = names.iter().flat_map(|name| places.iter().map(move |place| place.join(name)));
    let mut existing = candidates.filter(|path| path.is_file());
    existing.next()
}

/// As [`found`], for what a Linux without would leave the interface untested.
pub fn needed(names: &[&str]) -> Option<PathBuf> {
    let program = found(names);
    assert!(program.is_some() || !cfg!(target_os = "linux"), "none of {names:?} is installed");
    program
}

/// What a program is written in.
#[derive(Clone, Copy)]
pub enum Language {
    C,
    Cpp,
}

impl Language {
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::C => &["cc", "gcc", "clang"],
            Self::Cpp => &["c++", "g++", "clang++"],
        }
    }

    /// The flags under which the headers have no warning.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::C => {
                &["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-D_DEFAULT_SOURCE"]
            }
            Self::Cpp => &["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror"],
        }
    }
}

/// The compiler of the system.
pub struct Compiler {
    language: Language,
    more: Vec<&'static str>,
}

impl Compiler {
    pub fn new(language: Language) -> Self {
        Self { language, more: Vec::new() }
    }

    /// With further flags.
    pub fn with(mut self, flags: &[&'static str]) -> Self {
        self.more.extend(flags);
        self
    }

    /// Compiles a program of the folder, and links it with the shared library. `None` where no
    /// compiler is installed.
    pub fn build(&self, name: &str, target: &Path) -> Option<PathBuf> {
        let ending = match self.language {
            Language::C => "c",
            Language::Cpp => "cpp",
        };
        self.compile(&programs().join(format!("{name}.{ending}")), target)
    }

    /// As [`build`](Self::build), of a source elsewhere.
    pub fn compile(&self, source: &Path, target: &Path) -> Option<PathBuf> {
        if let Some(built) = built(source) {
            return Some(built);
        }
        let compiler = needed(self.language.names())?;
        let library = library();
        let place = library.parent().unwrap();
        let program = target.join(source.file_stem().unwrap());
        let mut command = Command::new(compiler);
        command.args(self.language.flags()).args(["-O1", "-g"]).args(&self.more);
        command.arg("-I").arg(package().join("include")).arg("-o").arg(&program).arg(source);
        command.arg("-L").arg(place).arg("-lstationdb_c").args(["-lm", "-lpthread"]);
        let mut here = OsString::from("-Wl,-rpath,");
        here.push(place);
        command.arg(here);
        done(&mut command);
        Some(program)
    }
}

/// The program of this source, where other compilers than those of this system have built it. Those
/// of Linux do so for Windows.
fn built(source: &Path) -> Option<PathBuf> {
    let place = PathBuf::from(std::env::var_os(CALLERS)?);
    let mut name = source.file_stem()?.to_owned();
    if source.extension()? == "cpp" {
        name.push("_cpp");
    }
    name.push(std::env::consts::EXE_SUFFIX);
    let program = place.join(name);
    assert!(program.exists(), "{CALLERS} has no {}", program.display());
    Some(program)
}

/// Runs a command to its end. Fails with what it printed.
#[track_caller]
pub fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// Runs a program that finds the shared library. Returns the lines that it printed.
#[track_caller]
pub fn run(program: &Path, arguments: &[&Path]) -> String {
    printed(command(program).args(arguments))
}

/// What a command printed, with the ends of lines of Unix.
#[track_caller]
pub fn printed(command: &mut Command) -> String {
    String::from_utf8_lossy(&done(command).stdout).replace("\r\n", "\n")
}

/// A command that finds the shared library.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    let library = library();
    let place = library.parent().unwrap();
    if cfg!(windows) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(place.to_owned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(places).unwrap());
    } else {
        command.env("LD_LIBRARY_PATH", place);
    }
    command
}
