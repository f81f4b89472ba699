//! Conversion of limits into the types of the dialect.

use windlass_engine::{Amount, Cause, Enforced, LimitMechanism, Peaks, Resource, Scope};
use windlass_protocol::app::{
    CrossedLimit, EnforcedLimit, LimitMeans, LimitScope, LimitedResource, ResourcePeak,
};

/// The limit for which the runtime ended a session, if it did.
pub(super) fn crossed(cause: Cause) -> Option<CrossedLimit> {
    let Cause::Limit(crossed) = cause else { return None };
    Some(CrossedLimit {
        resource: resource(crossed.resource),
        scope: scope(crossed.scope),
        limit: amount(crossed.resource, crossed.limit),
        peak: amount(crossed.resource, crossed.peak),
        means: means(crossed.means),
    })
}

/// The highest measured values.
pub(super) fn peaks(peaks: &Peaks) -> Vec<ResourcePeak> {
    let peak = |(of, peak)| ResourcePeak { resource: resource(of), peak: amount(of, peak) };
    peaks.iter().map(peak).collect()
}

/// The limits that were in force.
pub(super) fn enforced(enforced: &[Enforced]) -> Vec<EnforcedLimit> {
    let limit = |enforced: &Enforced| EnforcedLimit {
        resource: resource(enforced.resource),
        scope: scope(enforced.scope),
        limit: amount(enforced.resource, enforced.limit),
        means: means(enforced.means),
    };
    enforced.iter().map(limit).collect()
}

/// Times are microseconds everywhere in the dialect.
fn amount(resource: Resource, Amount(raw): Amount) -> u64 {
    if resource == Resource::CpuTime { raw / 1000 } else { raw }
}

fn resource(resource: Resource) -> LimitedResource {
    match resource {
        Resource::Memory => LimitedResource::Memory,
        Resource::Processes => LimitedResource::Processes,
        Resource::CpuTime => LimitedResource::CpuTime,
        Resource::OpenFiles => LimitedResource::OpenFiles,
        Resource::Output => LimitedResource::Output,
        Resource::OutputRate => LimitedResource::OutputRate,
        Resource::Disk => LimitedResource::Disk,
    }
}

fn scope(scope: Scope) -> LimitScope {
    match scope {
        Scope::Session => LimitScope::Session,
        Scope::Runtime => LimitScope::Runtime,
    }
}

fn means(means: LimitMechanism) -> LimitMeans {
    match means {
        LimitMechanism::CgroupV2 => LimitMeans::CgroupV2,
        LimitMechanism::CgroupV1 => LimitMeans::CgroupV1,
        LimitMechanism::ResourceLimit => LimitMeans::Rlimit,
        LimitMechanism::Watcher => LimitMeans::Watcher,
        LimitMechanism::Reader => LimitMeans::Reader,
    }
}
