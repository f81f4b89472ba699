//! What `exec_command` promises.

use crate::workbench::{Workbench, output};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_answers_with_its_output_and_its_exit_code() {
    let bench = Workbench::new("exec-answers");
    let reply = bench.exec("echo hello; exit 3").await;
    println!("{}\n{:#}", reply.text, reply.structured);
    assert_eq!(output(&reply), "hello\n");
    assert_eq!(reply.structured["exit_code"], 3);
    let repl = bench.ask("exec_command", json!({"cmd": "python3 -q", "tty": true})).await;
    println!("{}\n{:#}", repl.text, repl.structured);
    let id = repl.structured["session_id"].clone();
    let repl = bench.ask("write_stdin", json!({"session_id": id, "chars": "6*7\n"})).await;
    println!("{}\n{:#}", repl.text, repl.structured);
    println!("{}", bench.ask("list_sessions", json!({})).await.text);
    println!("{}", bench.ask("stop_session", json!({"session_id": id})).await.text);
    bench.shutdown().await;
}
