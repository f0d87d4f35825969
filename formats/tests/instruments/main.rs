//! Files of instruments become tables: measurement files of LabVIEW, and Touchstone; and drawn reports of
//! `TestStand` become results.

mod lvm_bytes;
mod lvm_files;
mod lvm_forms;
mod lvm_rules;
#[path = "../../../tests/common/python.rs"]
mod python;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod stage;
mod teststand_files;
mod touchstone_bytes;
mod touchstone_files;
mod touchstone_rules;
