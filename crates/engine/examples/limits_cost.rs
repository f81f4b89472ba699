//! The cost of limits: the time from start to receipt of `/bin/true`, without limits and with each mechanism.
//!
//! ```sh
//! cargo run --release --example limits_cost
//! ```
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use windlass_engine::{
    Bytes, Cgroups, CommandSpec, Count, Engine, EngineOptions, Limits, RuntimeLimits, Watching,
};

const ROUNDS: usize = 400;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime can be made");
    let few = Limits { memory: Some(Bytes(1 << 30)), processes: Some(Count(100)), ..Limits::default() };
    let protecting = RuntimeLimits { limits: few, watching: Watching::Never };
    let none = RuntimeLimits::default();
    let cases = [
        ("no limits", Limits::default(), none, Cgroups::OfThisProcess),
        ("all sessions together, control groups", Limits::default(), protecting, Cgroups::OfThisProcess),
        ("memory and processes, control groups", few, none, Cgroups::OfThisProcess),
        ("memory and processes, watcher", few, none, Cgroups::Unused),
    ];
    // Round by round and not case by case: a machine that is busy for a while is so for all of them.
    let engines = cases.map(|(name, limits, together, cgroups)| {
        let _runtime = runtime.enter();
        let options = EngineOptions { together, cgroups, ..EngineOptions::default() };
        (name, limits, Engine::new(options).expect("an engine can be made"))
    });
    let mut times = vec![Vec::new(); engines.len()];
    for _ in 0..ROUNDS {
        for ((_, limits, engine), times) in engines.iter().zip(&mut times) {
            let (engine, limits) = (engine.clone(), *limits);
            // On a worker thread, as programs do it: see `Engine::new` for the cost of the main thread.
            times.push(runtime.block_on(runtime.spawn(run(engine, limits))).expect("it ends"));
        }
    }
    for ((name, _, _), times) in engines.iter().zip(&mut times) {
        times.sort_unstable();
        println!("{name:<40} median {:>7.1?}  best {:>7.1?}", times[ROUNDS / 2], times[0]);
    }
}

async fn run(engine: Engine, limits: Limits) -> Duration {
    let spec = CommandSpec { limits, ..CommandSpec::new(["/bin/true"], "/") };
    let begun = Instant::now();
    let session = engine.start(spec).expect("it starts");
    session.exited().await.expect("it ends");
    begun.elapsed()
}
