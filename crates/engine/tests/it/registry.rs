//! The registry: numbers, names, limits, and the choice of the session that has to end.

use crate::rig::{engine, options, receipt, sh};
use windlass_engine::{Cause, Engine, EngineOptions, Exit, Lifetime, RegistryLimits, StartError, WhenFull};
use windlass_testkit::survivors;

#[tokio::test]
async fn numbers_are_never_reused_and_sessions_are_listed_oldest_first() {
    let engine = engine();
    let first = engine.start(sh("true")).unwrap();
    receipt(&first).await;
    let second = engine.start(sh("exec sleep 1000")).unwrap();
    assert!(second.id() > first.id());
    let listed: Vec<_> = engine.sessions().iter().map(windlass_engine::Session::id).collect();
    assert_eq!(listed, [first.id(), second.id()]);
    assert_eq!(engine.session(first.id()).unwrap().receipt().unwrap().exit, Exit::Code(0));
    second.stop().await;
}

#[tokio::test]
async fn a_name_held_by_a_running_session_is_refused_and_moves_on_when_it_is_over() {
    let engine = engine();
    let named = |script: &str| {
        let mut spec = sh(script);
        spec.name = Some("web".into());
        spec
    };
    let first = engine.start(named("exec sleep 1000")).unwrap();
    let error = engine.start(named("true")).unwrap_err();
    assert!(matches!(&error, StartError::NameTaken { holder, .. } if *holder == first.id()));
    assert_eq!(
        error.to_string(),
        format!("the name `web` is held by session {}, which is still running", first.id())
    );
    first.stop().await;
    let second = engine.start(named("exec sleep 1000")).unwrap();
    assert_eq!(engine.find("web").unwrap().id(), second.id());
    second.stop().await;
}

#[tokio::test]
async fn the_least_recently_used_session_makes_room_and_its_owner_is_told() {
    let limits = RegistryLimits { running: 3, finished: 10, ..RegistryLimits::default() };
    let engine = Engine::new(EngineOptions { limits, ..options() }).unwrap();
    let token = survivors::token("evict");
    let start = || engine.start(crate::rig::tagged(sh("exec sleep 1000"), &token)).unwrap();
    let (first, second, third) = (start(), start(), start());
    // Use, in another order than that of the starts.
    for session in [&second, &first, &third] {
        wait_a_tick(session).await;
        drop(session.watch());
    }
    let fourth = start();
    assert_eq!(receipt(&second).await.cause, Cause::Evicted);
    for kept in [&first, &third, &fourth] {
        assert!(kept.receipt().is_none());
    }
    engine.shutdown().await;
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

/// Use is counted in milliseconds: waits until the count changes.
async fn wait_a_tick(session: &windlass_engine::Session) {
    use windlass_engine::Until;
    let until = Until::exit().by(std::time::Instant::now() + std::time::Duration::from_millis(3));
    session.wait(&until).await;
}

#[tokio::test]
async fn detached_sessions_are_never_evicted() {
    let limits = RegistryLimits { running: 1, finished: 10, ..RegistryLimits::default() };
    let engine = Engine::new(EngineOptions { limits, ..options() }).unwrap();
    let mut spec = sh("exec sleep 1000");
    spec.lifetime = Lifetime::Detached;
    let detached = engine.start(spec).unwrap();
    let error = engine.start(sh("true")).unwrap_err();
    assert_eq!(error.to_string(), "1 sessions are running and none may be evicted");
    detached.stop().await;
}

#[tokio::test]
async fn an_engine_that_refuses_when_it_is_full_ends_nobody() {
    let limits = RegistryLimits { running: 2, full: WhenFull::Refuse, ..RegistryLimits::default() };
    let engine = Engine::new(EngineOptions { limits, ..options() }).unwrap();
    let both = [engine.start(sh("exec sleep 1000")).unwrap(), engine.start(sh("exec sleep 1000")).unwrap()];
    let error = engine.start(sh("true")).unwrap_err();
    assert_eq!(error.to_string(), "2 sessions are running and none may be evicted");
    assert!(both.iter().all(|session| session.receipt().is_none()));
    both[0].stop().await;
    receipt(&engine.start(sh("true")).unwrap()).await;
    engine.shutdown().await;
}

#[tokio::test]
async fn finished_sessions_beyond_the_limit_are_forgotten() {
    let limits = RegistryLimits { running: 100, finished: 5, ..RegistryLimits::default() };
    let engine = Engine::new(EngineOptions { limits, ..options() }).unwrap();
    for _ in 0..200 {
        receipt(&engine.start(sh("true")).unwrap()).await;
    }
    assert!(engine.sessions().len() <= 5 + 65, "{}", engine.sessions().len());
}

#[tokio::test]
async fn nothing_starts_after_the_shutdown() {
    let engine = engine();
    engine.shutdown().await;
    assert!(matches!(engine.start(sh("true")), Err(StartError::ShuttingDown)));
}
