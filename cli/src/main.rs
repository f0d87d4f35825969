//! `stationdb`: looks into a store from a terminal, and works on it in scripts.

mod args;
mod commands;
mod complete;
mod conditions;
mod desk;
mod failure;
mod fields;
mod interrupt;
mod kinds;
mod members;
mod names;
mod output;
mod pager;
mod progress;
mod shell;
mod statement;
mod words;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use args::{Args, Generate, ProcessCommand};
use desk::Desk;
use failure::Outcome;
use interrupt::Interrupt;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody may read it.
            let _ = writeln!(io::stderr(), "{failure}");
            ExitCode::from(failure.code as u8)
        }
    }
}

fn run(args: &Args) -> Outcome {
    if let Some(what) = args.generate {
        let mut out = io::stdout().lock();
        let written = out.write_all(generated(what).as_bytes()).and_then(|()| out.flush());
        return written.map_err(output::failed);
    }
    let interrupt = Interrupt::install()?;
    if let Some(ProcessCommand::Command(command)) = &args.command
        && let Some(asked) = commands::ask_a_lake(&args.look, command, &interrupt)
    {
        return asked;
    }
    if let Some(ProcessCommand::Backups(asked)) = &args.command {
        return commands::backups(&args.look, asked, &interrupt);
    }
    let Some(dir) = args.dir.as_deref() else {
        let told = "name the directory of a store";
        Args::command().error(ErrorKind::MissingRequiredArgument, told).exit()
    };
    let open =
        |command| Desk::open(dir, args.create, args.user.as_deref(), command, interrupt.clone());
    match &args.command {
        Some(ProcessCommand::Restore { backup, at }) => {
            commands::restore(&args.look, backup, at.as_deref(), dir, &interrupt)
        }
        Some(ProcessCommand::Salvage { damaged }) => {
            commands::salvage(&args.look, damaged, dir, &interrupt)
        }
        Some(ProcessCommand::Command(command)) => {
            let mut desk = open(Some(command))?;
            commands::run(&mut desk, &args.look, command)?;
            Ok(desk.store.close()?)
        }
        Some(ProcessCommand::Backups(_)) | None => {
            let mut desk = open(None)?;
            shell::run(&mut desk, &args.look)?;
            Ok(desk.store.close()?)
        }
    }
}

/// What the build made from the declarations of the command line.
fn generated(what: Generate) -> &'static str {
    macro_rules! made {
        ($name:literal) => {
            include_str!(concat!(env!("OUT_DIR"), "/", $name))
        };
    }
    match what {
        Generate::Man => made!("stationdb.1"),
        Generate::Bash => made!("stationdb.bash"),
        Generate::Zsh => made!("_stationdb"),
        Generate::Fish => made!("stationdb.fish"),
        Generate::Powershell => made!("_stationdb.ps1"),
    }
}
