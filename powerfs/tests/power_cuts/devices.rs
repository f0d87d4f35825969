//! The same workloads on file systems of Linux, on a block device that loses what was not flushed,
//! that shuts down, and that fails.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ground::{FileSystem, Ground};
use crate::harness::End;
use crate::{holds, works};

/// One test after the other: whoever looks for a free loop device opens those of others too.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

macro_rules! devices {
    ($($cut:ident $shutdown:ident $fault:ident: $file_system:ident;)*) => {$(
        #[test]
        fn $cut() {
            let _turn = turn();
            let ground = Ground::Device(FileSystem::$file_system);
            holds(works::station(), ground, End::Cut, "device_states");
            holds(works::looks(), ground, End::Cut, "device_states");
            holds(works::backups(), ground, End::Cut, "device_states");
            holds(works::rewrites(), ground, End::Cut, "device_states");
        }

        #[test]
        fn $shutdown() {
            // btrfs has no such call.
            if FileSystem::$file_system != FileSystem::Btrfs {
                let _turn = turn();
                let ground = Ground::Device(FileSystem::$file_system);
                holds(works::station(), ground, End::Shutdown, "device_shutdowns");
                holds(works::writers(), ground, End::Shutdown, "device_shutdowns");
            }
        }

        #[test]
        fn $fault() {
            let _turn = turn();
            let ground = Ground::Device(FileSystem::$file_system);
            holds(works::station(), ground, End::Fault, "device_faults");
            holds(works::compactions(), ground, End::Fault, "device_faults");
        }
    )*};
}

devices! {
    a_power_cut_on_ext4 a_shutdown_of_ext4 a_fault_below_ext4: Ext4;
    a_power_cut_on_ext4_writeback a_shutdown_of_ext4_writeback a_fault_below_ext4_writeback:
        Ext4Writeback;
    a_power_cut_on_xfs a_shutdown_of_xfs a_fault_below_xfs: Xfs;
    a_power_cut_on_btrfs a_shutdown_of_btrfs a_fault_below_btrfs: Btrfs;
}
