//! Makes the man page and the shell completions from the declarations of the command line. The
//! binary contains them, see `--generate`.

#[path = "src/args.rs"]
#[allow(dead_code, reason = "the build reads the declarations and parses nothing")]
mod args;

use std::error::Error;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::{Shell, generate_to};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/args.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell] {
        generate_to(shell, &mut args::Args::command(), "stationdb", &out)?;
    }
    std::fs::write(out.join("stationdb.1"), manual()?)?;
    Ok(())
}

/// One page: the command itself, then a section for each subcommand.
fn manual() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut command = args::Args::command();
    command.build();
    let mut page = Vec::new();
    let own = clap_mangen::Man::new(command.clone());
    own.render_title(&mut page)?;
    own.render_name_section(&mut page)?;
    own.render_synopsis_section(&mut page)?;
    own.render_description_section(&mut page)?;
    own.render_options_section(&mut page)?;
    for subcommand in command.get_subcommands().filter(|one| one.get_name() != "help") {
        let name = subcommand.get_name().to_uppercase();
        page.extend_from_slice(format!(".SH \"COMMAND {name}\"\n").as_bytes());
        let mut part = Vec::new();
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_description_section(&mut part)?;
        man.render_options_section(&mut part)?;
        let part = String::from_utf8(part)?.replace(".SH ", ".SS ");
        page.extend_from_slice(part.as_bytes());
    }
    own.render_extra_section(&mut page)?;
    own.render_version_section(&mut page)?;
    Ok(page)
}
