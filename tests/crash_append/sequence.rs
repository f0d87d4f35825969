//! A scenario as a list of steps. Its states are those that a clean run shows after each step.
//!
//! After a power cut the store must show one of these states as a whole: records, rows, files and
//! everything else that [`Steps::observe`] reads. The disk may have no file that this state does
//! not name.

use crate::prelude::*;

/// What a store shows: the name of a resource, and everything that can be read of it.
pub type Observation = BTreeMap<String, String>;

/// The name of a step and its action.
pub type Step = (&'static str, fn(&Store) -> Result<(), Error>);

/// The name of a step that closes the store and opens it again.
pub const REOPEN: &str = "reopen";
/// The name of a step without a visible change.
pub const MAINTAIN: &str = "maintain";

pub trait Steps: Sync {
    fn options(&self) -> StoreOptions;
    fn steps(&self) -> Vec<Step>;
    fn observe(&self, store: &Store) -> Result<Observation, Error>;
    /// How many more files there may be than in the clean run, which maintains after each step, so
    /// that rows lie in fewer segments.
    fn more_files(&self) -> usize {
        0
    }
}

pub struct Sequence<S> {
    steps: S,
    /// Before the first step and after each: the observation, and the number of files on the disk.
    states: Vec<(Observation, usize)>,
}

impl<S: Steps> Sequence<S> {
    pub fn new(steps: S) -> Self {
        let disk = SimDisk::new(0);
        let open = || steps.options().open_disk(Arc::new(disk.clone())).unwrap();
        let mut store = Some(open());
        let look = |store: &Store| {
            store.maintain(&Control::default()).unwrap();
            (steps.observe(store).unwrap(), files(&disk))
        };
        let mut states = vec![look(store.as_ref().unwrap())];
        for (name, step) in steps.steps() {
            if name == REOPEN {
                drop(store.take());
                store = Some(open());
            } else {
                step(store.as_ref().unwrap()).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            }
            let state = look(store.as_ref().unwrap());
            let is_new = states.iter().all(|(seen, _)| *seen != state.0);
            assert_eq!(is_new, ![REOPEN, MAINTAIN].contains(&name), "{name} leaves {state:?}");
            states.push(state);
        }
        Self { steps, states }
    }

    /// Checks that an open store shows the state before a step or after it.
    fn shows(&self, store: &Store, at: usize) -> Result<(), String> {
        let seen =
            self.steps.observe(store).map_err(|error| format!("a read was refused: {error:?}"))?;
        let is_one = self.states[at..at + 2].iter().any(|(state, _)| *state == seen);
        if is_one {
            Ok(())
        } else {
            Err(format!("the store shows neither state of the step: {seen:?}"))
        }
    }

    fn changes(&self, at: usize) -> bool {
        self.states[at].0 != self.states[at + 1].0
    }
}

impl<S: Steps> Scenario for Sequence<S> {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        self.steps.options().open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let mut store = self.open(history.disk.clone())?;
        for (at, (name, step)) in self.steps.steps().into_iter().enumerate() {
            if name == REOPEN {
                drop(store);
                store = self.open(history.disk.clone())?;
                continue;
            }
            let outcome =
                if self.changes(at) { history.step(name, || step(&store)) } else { step(&store) };
            if let Err(error) = outcome {
                history.reads_go_on(|| {
                    self.shows(&store, at)
                        .map_err(|problem| format!("after {name:?} failed: {problem}"))
                });
                return Err(error);
            }
        }
        Ok(())
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let seen = self.steps.observe(store).map_err(Problem::Refused)?;
        let Some(at) = self.states.iter().position(|(state, _)| *state == seen) else {
            return Err(Problem::Wrong(format!(
                "the store shows no state that it ever had: {seen:?}"
            )));
        };
        let done = self.steps.steps().into_iter().take(at).enumerate();
        Ok(done.filter(|(at, _)| self.changes(*at)).map(|(_, (name, _))| name.to_owned()).collect())
    }

    fn no_orphans(
        &self,
        store: &Store,
        disk: &SimDisk,
        found: &BTreeSet<String>,
    ) -> Result<(), String> {
        let seen = |at: usize| (0..at).filter(|at| self.changes(*at)).count();
        let at = (0..self.states.len()).rfind(|at| seen(*at) == found.len()).unwrap_or(0);
        // Fewer files are allowed: merging may have gone further than in the clean run.
        let named = self.states[at].1 + self.steps.more_files();
        if files(disk) > named {
            // Maintenance removes the files of deletes; opening has removed files without a name.
            store.maintain(&Control::default()).map_err(|error| format!("{error:?}"))?;
        }
        let there = files(disk);
        if there > named {
            Err(format!("{there} files lie on the disk, and {named} are named"))
        } else {
            Ok(())
        }
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        crate::scenarios::ada(store).register_subscriber("later").map(|_| ())
    }
}

fn files(disk: &SimDisk) -> usize {
    fn below(disk: &SimDisk, path: &str) -> usize {
        let entries = disk.list(path).unwrap_or_default();
        entries
            .iter()
            .map(
                |entry| {
                    if entry.is_dir { below(disk, &format!("{path}/{}", entry.name)) } else { 1 }
                },
            )
            .sum()
    }
    below(disk, "files") + below(disk, "tables")
}
