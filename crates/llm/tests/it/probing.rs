//! Tests the probe of a connection.

use windlass_llm::{Client, Key, Probe, ProbeFinding, Proxy, StepKind, WireKind};
use windlass_testkit::model::{MODEL, Model, say};

use super::relay::{Asked, certificate, encrypted, proxy};
use super::rig::{client, provider};

fn kinds(probe: &Probe) -> Vec<StepKind> {
    probe.steps.iter().map(|step| step.kind).collect()
}

fn listed() -> ProbeFinding {
    ProbeFinding::Models(vec![MODEL.to_owned()])
}

#[tokio::test]
async fn every_step_is_told_with_what_it_found() {
    let model = Model::answering(|_| say("hello"));
    let client = client(&model, WireKind::Responses);
    let probe = client.probe().await;
    assert!(probe.passed());
    assert_eq!(kinds(&probe), [StepKind::LookUp, StepKind::Connect, StepKind::Models]);
    let found: Vec<ProbeFinding> = probe.steps.into_iter().map(|step| step.found.unwrap()).collect();
    assert_eq!(
        found,
        [ProbeFinding::Addresses(vec![model.address()]), ProbeFinding::Address(model.address()), listed()]
    );
    assert_eq!(client.models().await, Ok(vec![MODEL.to_owned()]));
}

#[tokio::test]
async fn the_way_through_a_proxy_has_all_steps() {
    let model = Model::answering(|_| say("hello"));
    let (pem, acceptor) = certificate();
    let server = encrypted(acceptor, model.address()).await;
    let relay = proxy(&Asked::default(), Ok(server.address)).await;
    let mut provider = provider(&model, WireKind::Responses);
    provider.base_url = "https://localhost/v1".to_owned();
    provider.extra_roots = Some(pem);
    provider.proxy = Some(Proxy::parse(&relay.address.to_string()).unwrap());
    let probe = Client::new(provider).unwrap().probe().await;
    let all = [StepKind::LookUp, StepKind::Connect, StepKind::Tunnel, StepKind::Encrypt, StepKind::Models];
    assert_eq!(kinds(&probe), all, "{probe:?}");
    assert_eq!(probe.steps[4].found, Ok(listed()));
}

#[tokio::test]
async fn the_first_step_that_fails_is_the_last() {
    let model = Model::answering(|_| say("hello"));
    model.require_key("sk-secret");
    let mut wrong = provider(&model, WireKind::Responses);
    wrong.key = Some(Key::new("sk-other"));
    wrong.key_source = Some("IT_KEY".to_owned());
    let probe = Client::new(wrong.clone()).unwrap().probe().await;
    let failure = probe.failure().unwrap();
    assert_eq!(failure.message, "it answered 401: this is not the key (the key comes from IT_KEY)");

    let mut elsewhere = wrong.clone();
    elsewhere.base_url = format!("http://{}/v2", model.address());
    elsewhere.key = Some(Key::new("sk-secret"));
    let probe = Client::new(elsewhere).unwrap().probe().await;
    assert_eq!(probe.steps[2].found, Ok(ProbeFinding::NoList { status: 404 }));

    let address = model.address();
    drop(model);
    let probe = Client::new(wrong).unwrap().probe().await;
    assert_eq!(kinds(&probe), [StepKind::LookUp, StepKind::Connect]);
    let expected = format!("cannot connect to {address}");
    assert!(probe.failure().unwrap().message.starts_with(&expected), "{probe:?}");
}
