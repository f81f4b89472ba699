//! A program that asks for a password asks a person, if there is one; the answer is shown to no one else.

use crate::workbench::{Answering, Workbench, bench, output, session, state};
use serde_json::{Value, json};
use std::sync::Arc;
use windlass_tools::Reply;

/// Asks for a password and says how long it was.
const ASKS: &str =
    "python3 -c 'import getpass; print(len(getpass.getpass(\"Password for x: \")), \"letters\")'";

async fn exec(bench: &Workbench, arguments: Value, person: &Arc<Answering>) -> Reply {
    let person = Arc::clone(person);
    let reply = bench.call_with("exec_command", arguments, |call| call.person = Some(person)).await;
    assert!(!reply.is_error, "{}", reply.text);
    reply
}

#[test]
fn the_answer_goes_to_the_program_and_is_neither_in_the_reply_nor_in_the_journal() {
    bench(async |bench| {
        for until in [None, Some(json!({ "exit": true }))] {
            let person = Answering::with(&["sesame"]);
            let arguments = json!({ "cmd": ASKS, "tty": true, "until": until });
            let reply = exec(bench, arguments, &person).await;
            assert_eq!(reply.structured["exit_code"], 0, "{}", reply.text);
            assert_eq!(output(&reply), "Password for x: \n6 letters\n");
            assert!(!reply.text.contains("sesame") && !reply.structured.to_string().contains("sesame"));
            let raw = bench.read(session(&reply), json!({ "view": "raw" })).await;
            assert!(!raw.text.contains("sesame"), "{}", raw.text);
            let question = person.asked.lock().unwrap().pop().unwrap();
            assert_eq!(question.session, session(&reply).to_string());
            assert_eq!(question.prompt, "Password for x:");
            assert_eq!(question.command, ASKS);
        }
        let state = std::fs::read_dir(bench.home().parent().unwrap().join("state")).unwrap();
        assert!(state.count() > 0);
        assert_eq!(files_with(&bench.home().parent().unwrap().join("state"), b"sesame"), 0);
    });
}

fn files_with(folder: &std::path::Path, word: &[u8]) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let holds = |path: &std::path::Path| {
        std::fs::read(path).unwrap_or_default().windows(word.len()).any(|window| window == word)
    };
    entries.map(|path| if path.is_dir() { files_with(&path, word) } else { usize::from(holds(&path)) }).sum()
}

#[test]
fn a_person_who_declines_leaves_the_prompt_to_the_caller() {
    bench(async |bench| {
        let person = Answering::with(&[]);
        let reply = exec(bench, json!({ "cmd": ASKS, "tty": true }), &person).await;
        assert_eq!(state(&reply), "waiting for hidden input");
        assert_eq!(person.asked.lock().unwrap().len(), 1);
        let said = "a person was asked for what the program wants to know and did not answer";
        assert_eq!(reply.structured["notes"], json!([said]));
        // The same is not asked again and again.
        let poll = json!({ "session_id": session(&reply) });
        let asking = Arc::clone(&person);
        let reply = bench.call_with("write_stdin", poll, |call| call.person = Some(asking)).await;
        assert_eq!((state(&reply), &reply.structured["notes"]), ("waiting for hidden input", &json!([said])));
        assert_eq!(person.asked.lock().unwrap().len(), 1);
        let arguments =
            json!({ "session_id": session(&reply), "chars": "four\n", "until": { "exit": true } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert_eq!(output(&reply), "\n4 letters\n");
    });
}

#[test]
fn with_nobody_there_the_answer_says_that_hidden_input_is_waited_for() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": ASKS, "tty": true })).await;
        assert_eq!((state(&reply), output(&reply)), ("waiting for hidden input", "Password for x: "));
    });
}

#[test]
fn a_program_that_asks_twice_is_answered_twice() {
    bench(async |bench| {
        let person = Answering::with(&["one", "three"]);
        let reply = exec(bench, json!({ "cmd": format!("{ASKS}; {ASKS}"), "tty": true }), &person).await;
        assert_eq!(output(&reply), "Password for x: \n3 letters\nPassword for x: \n5 letters\n");
        assert_eq!(reply.structured["exit_code"], 0);
    });
}

#[test]
fn a_prompt_that_anybody_may_see_is_not_asked_of_a_person() {
    bench(async |bench| {
        let person = Answering::with(&["never"]);
        let reply =
            exec(bench, json!({ "cmd": "printf 'name? '; read name; echo $name", "tty": true }), &person)
                .await;
        assert_eq!(state(&reply), "waiting for input");
        assert!(person.asked.lock().unwrap().is_empty());
        // The same while the call waits for something else: the person is asked the question that follows.
        let person = Answering::with(&["sesame"]);
        let gate = bench.gate("gate");
        let cmd = format!("printf 'name? '; read -t 0.2 name; read x < gate; {ASKS}");
        let toolbox = windlass_tools::Toolbox::clone(bench);
        let arguments =
            crate::workbench::object(json!({ "cmd": cmd, "tty": true, "until": { "exit": true } }));
        let mut call = windlass_tools::Call::new("exec_command", arguments);
        call.person = Some(person);
        let calling = tokio::spawn(async move { toolbox.call(call).await.unwrap() });
        gate.open().await;
        let reply = calling.await.unwrap();
        assert!(output(&reply).ends_with("6 letters\n"), "{}", reply.text);
    });
}

#[test]
fn idle_is_not_counted_anew_because_somebody_might_be_asked() {
    bench(async |bench| {
        let person = Answering::with(&[]);
        let cmd = "printf 'name? '; read name";
        let before = std::time::Instant::now();
        let reply =
            exec(bench, json!({ "cmd": cmd, "tty": true, "until": { "idle_ms": 700 } }), &person).await;
        assert_eq!(reply.structured["met"], "idle");
        let silent = reply.text.split("idle for ").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(silent, "0.7", "{}", reply.text);
        assert!(before.elapsed().as_millis() >= 700);
    });
}

/// A person who is never there.
struct Absent;

impl windlass_tools::Person for Absent {
    fn ask(&self, _: windlass_tools::Question) -> windlass_tools::UserReplyFuture<'_> {
        Box::pin(std::future::pending())
    }

    fn approve(&self, _: windlass_tools::Approval) -> windlass_tools::Approved<'_> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn nobody_is_waited_for_longer_than_the_host_waits() {
    bench(async |bench| {
        let arguments = json!({ "cmd": ASKS, "tty": true });
        let reply = bench
            .call_with("exec_command", arguments, |call| {
                call.person = Some(Arc::new(Absent));
                call.ceiling = std::time::Duration::from_millis(700);
            })
            .await;
        assert_eq!(state(&reply), "waiting for hidden input", "{}", reply.text);
        assert!(reply.text.contains("did not answer"), "{}", reply.text);
    });
}
