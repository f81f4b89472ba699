//! Values that scripts store, images that they show, and notices.

use std::sync::Arc;

use windlass_code_mode::Status::{Completed, Failed};
use windlass_code_mode::{Options, OutputItem, Status};

use crate::rig::{Stage, block_on, finish, narrow, run, texts};

fn check(scripts: &[&str], expected: &[&str]) {
    let cells = crate::rig::cells(Options { most_stored: 1000, ..narrow() });
    let said = block_on(async {
        let mut said = Vec::new();
        for script in scripts {
            let outcome = finish(&cells, script).await;
            said.extend(texts(&outcome).into_iter().map(str::to_string));
        }
        said
    });
    assert_eq!(said, expected, "{scripts:?}");
}

#[test]
fn what_is_stored_is_there_for_later_scripts() {
    check(&["store('a', {b: [1, null]})", "text(load('a').b)"], &["[1,null]"]);
    check(
        &["store('a', 1); store('a', 2)", "text(load('a')); store('a', undefined)", "text(load('a'))"],
        &["2", "undefined"],
    );
    check(&["text(load('nothing')); text(load('__proto__'))"], &["undefined", "undefined"]);
    check(&["const o = {n: 1}; store('o', o); o.n = 2; text(load('o').n)"], &["1"]);
}

#[test]
fn what_is_stored_is_bounded() {
    let caught =
        "for (let i = 0; ; i += 1) { try { store('k' + i, i) } catch (e) { text(e.message); break } }";
    check(
        &[caught, "text(load('k0'))"],
        &["store() keeps at most 1000 bytes of keys and JSON in all; this would make 1015", "0"],
    );
    check(
        &["try { store('f', () => 1) } catch (e) { text(e.message) }"],
        &["store takes what JSON can hold"],
    );
    check(&["try { store(1, 1) } catch (e) { text(e.message) }"], &["a key of store and load is a string"]);
}

#[test]
fn images_are_shown_in_their_place() {
    let outcome = run(
        "text('a'); image('data:image/png;base64,AAAA'); image({image_url: 'data:image/gif;base64,AAAA'}); text('b')",
    );
    let expected = [
        OutputItem::Text("a".into()),
        OutputItem::Image("data:image/png;base64,AAAA".into()),
        OutputItem::Image("data:image/gif;base64,AAAA".into()),
        OutputItem::Text("b".into()),
    ];
    assert_eq!((outcome.status, outcome.items.as_slice()), (Completed, expected.as_slice()));
}

#[test]
fn what_is_no_image_is_refused() {
    for argument in ["'https://example.org/a.png'", "'file:///etc/passwd'", "7", "null", "{}"] {
        let outcome = run(&format!("image({argument})"));
        assert_eq!(outcome.status, Failed, "{argument}");
        assert!(texts(&outcome)[0].starts_with("TypeError: image takes "), "{outcome:?}");
    }
}

fn check_notices(source: &str, status: Status, expected: &[String]) {
    let (cells, stage) = (crate::rig::cells(narrow()), Arc::new(Stage::default()));
    let outcome = block_on(cells.exec(source, Arc::clone(&stage) as Arc<_>));
    assert_eq!(outcome.status, status, "{outcome:?}");
    assert_eq!(*stage.notices.lock().expect("nobody panicked"), expected);
}

#[test]
fn notices_are_told_at_once_and_are_bounded() {
    check_notices("notify('a'); notify({b: 1})", Completed, &["a".to_string(), "{\"b\":1}".to_string()]);
    check_notices(
        "for (let i = 0; ; i += 1) notify(i)",
        Failed,
        &(0..100).map(|i| i.to_string()).collect::<Vec<_>>(),
    );
    check_notices("notify('x'.repeat(1e6))", Failed, &[]);
}
