//! Misuse of the interface: random calls over one open store, against a model that knows which have
//! to be refused (`programs/model.c`), under the address sanitizer and under Valgrind.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../tests/common/sizes.rs"]
mod sizes;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Compiler, Language, command, done, found, scratch};
use sizes::size;

/// The model as a program that the address sanitizer watches: double and foreign frees, uses after
/// a free in the program, and at the end every leak of the library too.
fn sanitized(dir: &Path) -> Option<PathBuf> {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    Compiler::new(Language::C).with(&flags).build("model", dir)
}

fn run(command: &mut Command) {
    let output = done(command);
    let told = String::from_utf8(output.stdout).unwrap();
    println!("{told}");
    assert!(told.starts_with("counted: "), "{told}");
}

fn model(program: &Path, dir: &Path, seed: u64, calls: u64, threads: u64) -> Command {
    let mut command = command(program);
    command.arg(dir).args([seed, calls, threads].map(|number| number.to_string()));
    command
}

#[test]
fn misuse_is_an_error_and_never_more() {
    let dir = scratch();
    let Some(program) = sanitized(dir.path()) else { return };
    let seed = sizes::seed();
    run(&mut model(&program, dir.path(), seed, size("c_calls"), 1));
}

#[test]
fn misuse_by_several_threads_is_an_error_and_never_more() {
    let dir = scratch();
    let Some(program) = sanitized(dir.path()) else { return };
    let seed = sizes::seed();
    run(&mut model(&program, dir.path(), seed, size("c_calls_of_threads"), 4));
}

/// Valgrind sees reads and writes of the library itself, which is compiled as it is shipped.
#[test]
fn valgrind_finds_nothing() {
    let dir = scratch();
    let Some(valgrind) = found(&["valgrind"]) else {
        eprintln!("Valgrind is not installed; what it would find is not looked for");
        return;
    };
    let Some(program) = Compiler::new(Language::C).build("model", dir.path()) else { return };
    let mut command = command(&valgrind);
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=no"]);
    command.arg(program).arg(dir.path());
    command.args([sizes::seed(), size("c_calls_of_valgrind"), 1].map(|n| n.to_string()));
    run(&mut command);
}
