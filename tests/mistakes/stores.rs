//! Mistakes with directories, backups and handles.

use stationdb::prelude::*;
use stationdb::{Control, Identity, Position, SetBackupOptions, Store};

use crate::{Mistake, mistake};

pub(crate) fn mistakes() -> Vec<Mistake> {
    vec![
        mistake!(
            "a file where a directory is wanted",
            NotAStore,
            "",
            ["file.txt is a file", "name a directory"],
            |w| Store::open(w.root.join("file.txt")).map(drop)
        ),
        mistake!(
            "a directory below a file",
            NotAStore,
            "",
            ["file.txt is a file", "name a directory"],
            |w| Store::open(w.root.join("file.txt/station")).map(drop)
        ),
        mistake!(
            "a mistyped path",
            NotFound,
            "",
            ["there is no directory", "statoin", "did you mean", "station"],
            |w| Store::options().create(false).open(w.root.join("statoin")).map(drop)
        ),
        mistake!("a missing parent", NotFound, "", ["there is no directory", "elsewhere"], |w| {
            Store::options().create(false).open(w.root.join("elsewhere/station")).map(drop)
        }),
        mistake!("a store that is open already", Locked, "", ["open already", "close it"], |w| {
            Store::open(w.root.join("station")).map(drop)
        }),
        mistake!(
            "a directory with other files",
            NotAStore,
            "",
            ["photo.jpg", "choose an empty directory"],
            |w| Store::open(w.root.join("foreign")).map(drop)
        ),
        mistake!("an invalid vendor prefix", InvalidArgument, "at vendorPrefix", ["letter"], |w| {
            Store::options().vendor_prefix("1-x").open(w.root.join("new")).map(drop)
        }),
        mistake!(
            "a backup into the store itself",
            InvalidArgument,
            "",
            ["the store itself", "another directory"],
            |w| w.store.backup(w.root.join("station"), &Control::default()).map(drop)
        ),
        mistake!(
            "a backup below the store itself",
            InvalidArgument,
            "",
            ["the store itself", "another directory"],
            |w| w.store.backup(w.root.join("station/backup"), &Control::default()).map(drop)
        ),
        mistake!(
            "a backup to a file",
            NotAStore,
            "",
            ["file.txt is a file", "name a directory"],
            |w| w.store.backup(w.root.join("file.txt"), &Control::default()).map(drop)
        ),
        mistake!("a backup to a directory with other files", NotAStore, "", ["photo.jpg"], |w| w
            .store
            .backup(w.root.join("foreign"), &Control::default())
            .map(drop)),
        mistake!("a restore of what is no backup", NotAStore, "", ["not a complete backup"], |w| {
            Store::restore(w.root.join("foreign"), w.root.join("r"), &Control::default()).map(drop)
        }),
        mistake!(
            "a restore of a backup set",
            NotAStore,
            "",
            ["is a backup set", "`restore_from_set`"],
            |w| {
                let set = w.root.join("set");
                let control = Control::default();
                w.store.backup_to_set(&set, &SetBackupOptions::new(), &control)?;
                Store::restore(set, w.root.join("r"), &control).map(drop)
            }
        ),
        mistake!(
            "a restore of a missing directory",
            NotFound,
            "",
            ["there is no directory", "nowhere"],
            |w| Store::restore(w.root.join("nowhere"), w.root.join("r"), &Control::default())
                .map(drop)
        ),
        mistake!("a restore of a file", NotAStore, "", ["file.txt is a file"], |w| Store::restore(
            w.root.join("file.txt"),
            w.root.join("r"),
            &Control::default()
        )
        .map(drop)),
        mistake!(
            "a restore over a store",
            NotAStore,
            "",
            ["not empty", "choose an empty directory"],
            |w| {
                let copy = w.root.join("copy");
                w.store.backup(&copy, &Control::default())?;
                Store::restore(&copy, w.root.join("foreign"), &Control::default()).map(drop)
            }
        ),
        mistake!("a close while a session lives", Conflict, "", ["1 session"], |w| {
            let store = Store::open(w.root.join("held"))?;
            let _session = store.session(Identity::user("ada"));
            store.close()
        }),
        mistake!("a write outside its own transaction", Conflict, "", ["transaction"], |w| w
            .session
            .transaction(|_| { w.session.create_products(vec![Default::default()]).map(drop) })),
        mistake!("a backup that is cancelled", Cancelled, "", ["cancel"], |w| {
            let control = Control::default();
            control.cancel();
            w.store.backup(w.root.join("late"), &control).map(drop)
        }),
        mistake!(
            "a position of a subscriber that was not registered",
            NotFound,
            "",
            ["subscriber"],
            |w| w.store.advance("nobody", Position::START).map(drop)
        ),
    ]
}
