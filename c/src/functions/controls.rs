//! Controls: cancellation and progress by polling.

use std::sync::Arc;

use crate::control::{Watch, timeout};
use crate::memory::Out;
use crate::registry::{self, Object};

export! {
    fn sdb_control(timeout_ms: i64, control: Out<u64>) {
        control.begin("control", 0)?;
        let watch = Watch::new(timeout("timeout_ms", timeout_ms)?);
        control.set(registry::put(Object::Control(Arc::new(watch)))?);
        Ok(())
    }

    fn sdb_cancel(control: u64) {
        registry::control(control)?.control.cancel();
        Ok(())
    }

    fn sdb_progress(control: u64, done: Out<i64>, total: Out<i64>, unit: Out<i32>) {
        done.begin("done", 0)?;
        total.begin("total", -1)?;
        unit.begin("unit", 0)?;
        let (now, all, name) = registry::control(control)?.progress();
        done.set(now);
        total.set(all);
        unit.set(name);
        Ok(())
    }
}
