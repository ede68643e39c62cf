//! On which cores this process and those it starts may run.

/// Keeps this process on one core, where the system can, until it is dropped.
///
/// With several idle cores each message wakes a halted one, which takes longer than a proxy does
/// and hides what it costs. On one core a message is a context switch.
#[derive(Debug)]
pub(crate) struct OneCore {
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
}

#[cfg(target_os = "linux")]
impl OneCore {
    pub(crate) fn take() -> Self {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

        let Ok(before) = sched_getaffinity(None) else { return Self { before: None } };
        let mut one = CpuSet::new();
        if let Some(core) = (0..CpuSet::MAX_CPU).rev().find(|core| before.is_set(*core)) {
            one.set(core);
        }
        Self { before: sched_setaffinity(None, &one).is_ok().then_some(before) }
    }
}

#[cfg(target_os = "linux")]
impl Drop for OneCore {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Else all that follows is measured on one core, for every target alike.
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl OneCore {
    pub(crate) fn take() -> Self {
        Self {}
    }
}
