//! Things that a script cannot reach.

use windlass_code_mode::Status::Completed;

use crate::rig::{run, texts};

fn check(source: &str, expected: &[&str]) {
    let outcome = run(source);
    assert_eq!((outcome.status, texts(&outcome)), (Completed, expected.to_vec()), "{source}");
}

/// All globals of the language, and our own. A new engine version that adds one needs a review.
const GLOBALS: &str = "ALL_TOOLS AggregateError Array AsyncDisposableStack BigInt Boolean Date DisposableStack Error \
    EvalError Function Infinity InternalError Iterator JSON \
    Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol \
    SyntaxError TypeError URIError WeakMap WeakSet clearTimeout console \
    decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval exit globalThis image isFinite isNaN load notify \
    parseFloat parseInt queueMicrotask setTimeout store text tools undefined unescape yield_control";

#[test]
fn there_is_nothing_around_but_the_language_and_what_is_offered() {
    check("text(Object.getOwnPropertyNames(globalThis).sort().join(' '))", &[GLOBALS]);
    let names = [
        "fetch",
        "require",
        "process",
        "module",
        "Deno",
        "Bun",
        "WebAssembly",
        "SharedArrayBuffer",
        "Atomics",
        "ArrayBuffer",
        "DataView",
        "Uint8Array",
        "Worker",
    ];
    for name in names {
        check(&format!("text(typeof {name}); text('{name}' in globalThis)"), &["undefined", "false"]);
    }
    check(
        "text(this); text(typeof import.meta); text(Object.keys(import.meta))",
        &["undefined", "object", "[]"],
    );
}

#[test]
fn nothing_can_be_imported() {
    let names = [
        "fs",
        "node:fs",
        "std",
        "os",
        "qjs:std",
        "qjs:os",
        "./x.js",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1/",
    ];
    for name in names {
        check(
            &format!("try {{ await import('{name}') }} catch (e) {{ text(e instanceof ReferenceError) }}"),
            &["true"],
        );
        let outcome = run(&format!("import x from '{name}'; text(x)"));
        let name = name.trim_start_matches("./");
        let words =
            format!("ReferenceError: could not load module '{name}': there are no modules here, only tools");
        assert_eq!(texts(&outcome), [words]);
    }
    let typed = "try { await import('/etc/hostname', {with: {type: 'text'}}) } catch (e) { text('refused') }";
    check(typed, &["refused"]);
}

#[test]
fn code_cannot_be_made_from_text() {
    let ways = [
        "eval('1')",
        "(0, eval)('1')",
        "globalThis.eval('1')",
        "Function('return 1')()",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
        "(async function* () {}).constructor('return 1')()",
        "Reflect.construct(Function, ['return 1'])()",
        "new (class extends Function {})('return 1')()",
        "text.constructor('return 1')()",
        "tools.echo.constructor('return 1')()",
        "console.log.constructor('return 1')()",
        "Object.getPrototypeOf(Function).constructor('return 1')()",
        "Array.from.constructor('return 1')()",
        "setTimeout('text(1)', 0)",
    ];
    for way in ways {
        let outcome = run(&format!("try {{ text({way}) }} catch (e) {{ text(e.name) }}"));
        assert!(["EvalError", "TypeError"].contains(&texts(&outcome)[0]), "{way}: {outcome:?}");
    }
    check(
        "text((() => {}) instanceof Function); text((async () => {}) instanceof Function)",
        &["true", "true"],
    );
}

#[test]
fn what_is_offered_cannot_be_changed() {
    let changes = [
        "tools = 1",
        "tools.echo = 1",
        "delete tools.echo",
        "tools.more = 1",
        "text = 1",
        "ALL_TOOLS.push(1)",
        "ALL_TOOLS[0].name = 'x'",
        "ALL_TOOLS[0].parameters.type = 'x'",
        "console.log = 1",
        "globalThis.eval = 1",
        "Function.prototype.constructor = 1",
        "Object.defineProperty(globalThis, 'exit', {value: 1})",
        "Object.setPrototypeOf(tools, {x: 1})",
        "tools.echo.x = 1",
        "exit.x = 1",
    ];
    for change in changes {
        check(&format!("try {{ {change}; text('changed') }} catch (e) {{ text(e.name) }}"), &["TypeError"]);
    }
}

#[test]
fn a_script_that_spoils_the_language_spoils_it_for_itself_alone() {
    let spoiled = r"
        const owners = [Object, Array, Promise, Function, String, Error, Map, Symbol, RegExp, Number];
        const spoil = () => { throw new Error('spoiled') };
        for (let i = 0; i < owners.length; i += 1) {
            const prototype = owners[i].prototype, keys = Reflect.ownKeys(prototype);
            for (let j = 0; j < keys.length; j += 1) {
                if (keys[j] === 'constructor') continue;
                try { prototype[keys[j]] = spoil } catch {}
            }
        }
        JSON.stringify = JSON.parse = Reflect.apply = Object.create = () => { throw new Error('spoiled') };
        globalThis.String = globalThis.Promise = globalThis.Error = undefined;
        Object.defineProperty(Object.prototype, 'resolve', {get() { throw 'spoiled' }, set() { throw 'spoiled' }});
        text('a'); console.log('b', 1); store('k', [1]); text(load('k'));
        tools.echo({a: 1});
        setTimeout(() => text('c'), 1);
    ";
    check(spoiled, &["a", "b 1", "[1]", "c"]);
}

#[test]
fn polluted_prototypes_reach_no_host() {
    let polluted =
        "Object.prototype.cmd = 'rm'; Array.prototype.toJSON = () => 'x'; text(await tools.echo({a: 1}))";
    check(polluted, &["{\"a\":1}"]);
    check(
        "Object.prototype.parameters = null; Object.prototype.name = 'x'; text(await tools.echo({}))",
        &["{}"],
    );
    check("Object.prototype.then = (r) => r('mine'); text('still here'); exit()", &["still here"]);
    check(
        "text(await tools.echo(JSON.parse('{\"__proto__\": {\"x\": 1}}')))",
        &["{\"__proto__\":{\"x\":1}}"],
    );
}
