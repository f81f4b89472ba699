//! The state directory, from outside: hostile records, concurrent claims, pruning, permissions.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode};
use windlass_engine::{
    Amount, Bytes, Cause, Crossed, Enforced, Engine, EngineOptions, Exit, Lifetime, LimitMechanism, Limits,
    LoadRecord, Offset, OpenStore, PeakMemory, Peaks, ProcessKey, ProcessLine, Pruning, Receipt,
    RegistryLimits, Resource, Retention, Scope, SessionId, SessionRecord, Size, StartRecord, Store,
    StoreLimits, Stream, StreamBytes, TerminalSizes,
};

use windlass_testkit::{Scratch, hang_deadline};

use crate::rig::{self, command, options, run, text};

const RUNTIME: ProcessKey = ProcessKey { pid: 10, start_ticks: 100, scope: None };
const ROOT: ProcessKey = ProcessKey { pid: 20, start_ticks: 200, scope: None };

fn open(scratch: &Scratch) -> Store {
    Store::open(scratch.path(), StoreLimits::default()).unwrap()
}

fn start(id: SessionId) -> StartRecord {
    StartRecord {
        id,
        name: None,
        argv: vec!["cargo".into(), "build".into()],
        script: None,
        withheld: Vec::new(),
        owner: None,
        cwd: "/home/me".into(),
        terminal: false,
        lifetime: Lifetime::Runtime,
        sandbox: None,
        started: SystemTime::UNIX_EPOCH + Duration::new(1_800_000_000, 123_456_789),
        runtime: RUNTIME,
        root: ROOT,
        mark: None,
        limits: Limits::default(),
    }
}

#[test]
fn a_script_and_the_names_that_were_kept_from_it_read_back() {
    let scratch = Scratch::new("store-script");
    let store = open(&scratch);
    let id = store.claim_id().unwrap();
    let script = Some("make all\nmake test".into());
    let record = StartRecord { script, withheld: vec!["API_KEY".into(), "é".into()], ..start(id) };
    store.begin(&record).unwrap();
    assert_eq!(store.load(id).unwrap().start, record);
}

/// A record of an earlier Windlass has no such line, and one of this Windlass is read by an earlier one without it.
#[test]
fn an_owner_reads_back_and_a_record_without_one_has_none() {
    let scratch = Scratch::new("store-owner");
    let store = open(&scratch);
    for owner in [None, Some("claude-code\t/home/me".to_owned())] {
        let id = store.claim_id().unwrap();
        let record = StartRecord { owner, ..start(id) };
        store.begin(&record).unwrap();
        assert_eq!(store.load(id).unwrap().start, record);
    }
}

fn receipt() -> Receipt {
    Receipt {
        exit: Exit::Code(0),
        cause: Cause::Timeout(Duration::from_millis(1500)),
        wall: Duration::from_nanos(1_234_567_891),
        cpu_user: Duration::from_millis(3),
        cpu_system: Duration::from_micros(4),
        peak_memory: PeakMemory::AtMost(5),
        bytes: StreamBytes { stdout: 1, stderr: 2, terminal: 3 },
        cut_off: true,
        degraded: Some(windlass_engine::Degraded { at: Offset::new(3), reason: "writing /a\n: full".into() }),
        denials: Vec::new(),
        undelivered_input: 9,
        left_running: vec![ProcessLine { pid: 4, command: "sh -c 'a\nb'".into() }],
        ended: vec![],
        remaining: vec![
            ProcessLine { pid: 6, command: String::new() },
            ProcessLine { pid: 7, command: "[kworker/0]".into() },
        ],
        peaks: Peaks::default(),
        enforced: Vec::new(),
    }
}

// ---- records ----

#[test]
fn the_sizes_of_a_terminal_are_read_back_with_the_bytes_they_begin_at() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = store.claim_id().unwrap();
    store.begin(&start(id)).unwrap();
    let size = |rows| Size { rows, cols: 132 };
    store.resized(id, Offset::ZERO, size(40)).unwrap();
    store.resized(id, Offset::new(77), size(50)).unwrap();
    store.finish(id, &receipt()).unwrap();
    let mut sizes = TerminalSizes::new(size(40));
    sizes.change(Offset::new(77), size(50));
    let record = store.load(id).unwrap();
    assert_eq!((&record.sizes, record.receipt.is_some()), (&sizes, true));
    let journal =
        store.open_journal(&SessionRecord { start: StartRecord { terminal: true, ..start(id) }, ..record });
    assert_eq!(journal.unwrap().terminal(), Some(sizes));
}

#[test]
fn a_reader_learns_that_the_disk_refused_output_of_a_running_session() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = store.claim_id().unwrap();
    store.begin(&start(id)).unwrap();
    let refused = |at| windlass_engine::Degraded { at: Offset::new(at), reason: format!("no space at {at}") };
    store.degraded(id, &refused(7));
    store.degraded(id, &refused(9));
    let record = store.load(id).unwrap();
    assert_eq!(record.degraded, Some(refused(7)), "everything from the first refusal on is doubtful");
    let account = store.open_journal(&record).unwrap().account();
    assert_eq!(account.degraded, Some(refused(7)));
}

#[test]
fn a_session_is_listed_from_its_start_and_finished_by_its_receipt() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = store.claim_id().unwrap();
    store.begin(&start(id)).unwrap();
    assert_eq!(
        store.list().unwrap().sessions,
        [SessionRecord {
            start: start(id),
            receipt: None,
            sizes: TerminalSizes::default(),
            degraded: None,
            unreadable: None
        }]
    );
    store.finish(id, &receipt()).unwrap();
    assert_eq!(
        store.load(id).unwrap(),
        SessionRecord {
            start: start(id),
            receipt: Some(receipt()),
            sizes: TerminalSizes::default(),
            degraded: None,
            unreadable: None,
        }
    );
}

#[test]
fn a_record_is_text_that_people_can_read() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = SessionId::new(1001);
    store.begin(&StartRecord { name: Some("café\n".into()), ..start(id) }).unwrap();
    store
        .finish(id, &Receipt { left_running: vec![], remaining: vec![], degraded: None, ..receipt() })
        .unwrap();
    let text = fs::read_to_string(scratch.path().join("1001.rec")).unwrap();
    let expected = "\nwindlass session 1\nid=1001\nname=caf\\xc3\\xa9\\x0a\narg=cargo\narg=build\ncwd=/home/me\n\
                    terminal=no\nlifetime=runtime\nstarted=1800000000123456789\nruntime=10 100\nroot=20 200\nend\n\
                    \nreceipt\nid=1001\nexit=code 0\ncause=timeout 1500000000\nwall=1234567891\ncpu_user=3000000\n\
                    cpu_system=4000\npeak_memory=at-most 5\nstdout=1\nstderr=2\nterminal=3\ncut_off=yes\nundelivered_input=9\nend\n";
    assert_eq!(text, expected);
}

fn causes() -> impl Strategy<Value = Cause> {
    let timeout = (any::<u64>(), 0..1_000_000_000u32).prop_map(|(s, n)| Cause::Timeout(Duration::new(s, n)));
    let others = [Cause::Itself, Cause::Stopped, Cause::Shutdown, Cause::Evicted, Cause::Dropped];
    prop_oneof![timeout, crossings().prop_map(Cause::Limit), prop::sample::select(others.to_vec())]
}

fn crossings() -> impl Strategy<Value = Crossed> {
    let resource = prop::sample::select(Resource::ALL.to_vec());
    let scope = prop::sample::select(vec![Scope::Session, Scope::Runtime]);
    let means = prop::sample::select(vec![
        LimitMechanism::CgroupV1,
        LimitMechanism::CgroupV2,
        LimitMechanism::ResourceLimit,
        LimitMechanism::Watcher,
        LimitMechanism::Reader,
    ]);
    (resource, scope, any::<u64>(), any::<u64>(), means).prop_map(|(resource, scope, limit, peak, means)| {
        Crossed { resource, scope, limit: Amount(limit), peak: Amount(peak), means }
    })
}

#[test]
fn limits_peaks_and_what_kept_them_read_back() {
    let scratch = Scratch::new("store-limits");
    let store = open(&scratch);
    let id = store.claim_id().unwrap();
    let limits = Limits { memory: Some(Bytes(5)), wall: Some(Duration::from_nanos(7)), ..Limits::default() };
    let record = StartRecord { limits, ..start(id) };
    store.begin(&record).unwrap();
    let mut peaks = Peaks::default();
    peaks.note(Resource::Processes, Amount(64));
    let (resource, scope, limit) = (Resource::Memory, Scope::Session, Amount(5));
    let enforced = vec![Enforced { resource, scope, limit, means: LimitMechanism::CgroupV1 }];
    let receipt = Receipt { peaks, enforced, ..receipt() };
    store.finish(id, &receipt).unwrap();
    assert_eq!(
        store.load(id).unwrap(),
        SessionRecord {
            start: record,
            receipt: Some(receipt),
            sizes: TerminalSizes::default(),
            degraded: None,
            unreadable: None,
        }
    );
}

/// Records from before there were limits have none of their lines, and later ones may have unknown lines.
#[test]
fn records_without_limits_and_with_unknown_ones_are_read() {
    let scratch = Scratch::new("store-older");
    let store = open(&scratch);
    let id = store.claim_id().unwrap();
    store.begin(&start(id)).unwrap();
    store.finish(id, &receipt()).unwrap();
    let path = scratch.path().join(format!("{id}.rec"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("limit=") && !text.contains("peak=") && !text.contains("enforced="), "{text}");
    let later = "limit=gpu 4\nlimit=memory many\npeak=gpu 4\nenforced=gpu session 4 magic\nend\n";
    fs::write(&path, text.replace("end\n", later)).unwrap();
    assert_eq!(
        store.load(id).unwrap(),
        SessionRecord {
            start: start(id),
            receipt: Some(receipt()),
            sizes: TerminalSizes::default(),
            degraded: None,
            unreadable: None,
        }
    );
}

fn hostile() -> impl Strategy<Value = OsString> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"end".to_vec()),
        Just(b"\nend\n\nreceipt\nexit=code 0\nend\n".to_vec()),
        Just(b"\\x41\\".to_vec()),
        Just(b"=".to_vec()),
    ];
    bytes.prop_map(OsString::from_vec)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_bytes_in_arguments_directories_and_names_read_back(
        argv in prop::collection::vec(hostile(), 0..5),
        cwd in hostile(),
        name in prop::option::of(any::<String>()),
        started in any::<i32>(),
        cause in causes(),
        lifetime in prop::sample::select(Lifetime::ALL.to_vec()),
        commands in prop::collection::vec(any::<String>(), 0..4),
    ) {
        let scratch = Scratch::new("engine");
        let store = open(&scratch);
        let id = store.claim_id().unwrap();
        let distance = Duration::from_nanos(u64::from(started.unsigned_abs()));
        let epoch = SystemTime::UNIX_EPOCH;
        let started = if started < 0 { epoch - distance } else { epoch + distance };
        let start = StartRecord { name, argv, cwd: PathBuf::from(cwd), started, lifetime, ..start(id) };
        store.begin(&start).unwrap();
        let ended = commands.into_iter().map(|command| ProcessLine { pid: 1, command }).collect();
        let receipt = Receipt { cause, ended, ..receipt() };
        store.finish(id, &receipt).unwrap();
        prop_assert_eq!(store.load(id).unwrap(), SessionRecord { start, receipt: Some(receipt), sizes: TerminalSizes::default(), degraded: None, unreadable: None });
    }

    #[test]
    fn a_record_of_any_bytes_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let scratch = Scratch::new("engine");
        let store = open(&scratch);
        fs::write(scratch.path().join("1001.rec"), bytes).unwrap();
        prop_assert!(store.load(SessionId::new(1001)).is_err());
        prop_assert!(store.list().unwrap().sessions.is_empty());
    }
}

#[test]
fn a_record_cut_at_any_byte_has_no_start_or_no_receipt_but_is_never_wrong() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = SessionId::new(1001);
    store.begin(&start(id)).unwrap();
    let path = scratch.path().join("1001.rec");
    let start_len = fs::read(&path).unwrap().len();
    store.finish(id, &receipt()).unwrap();
    let whole = fs::read(&path).unwrap();
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        let loaded = store.load(id);
        match loaded {
            Err(LoadRecord::Damaged { .. }) => assert!(len < start_len, "{len}"),
            Ok(session) => assert!(len >= start_len && session.receipt.is_none(), "{len}"),
            Err(other) => panic!("{other}"),
        }
        if len >= start_len {
            store.finish(id, &receipt()).unwrap();
            assert_eq!(store.load(id).unwrap().receipt, Some(receipt()), "a second try after {len}");
        }
    }
}

#[test]
fn a_record_of_a_later_version_is_refused_by_name_and_never_pruned() {
    let scratch = Scratch::new("engine");
    let store = Store::open(scratch.path(), nothing_kept()).unwrap();
    fs::write(scratch.path().join("1001.rec"), "windlass session 2\nend\n").unwrap();
    let error = store.load(SessionId::new(1001)).unwrap_err();
    assert!(matches!(error, LoadRecord::UnknownVersion { found: 2, known: 1, .. }), "{error}");
    store.prune(|_| false).unwrap();
    assert!(scratch.path().join("1001.rec").exists());
}

#[test]
fn unknown_keys_are_skipped() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = SessionId::new(1001);
    store.begin(&start(id)).unwrap();
    let path = scratch.path().join("1001.rec");
    let text = fs::read_to_string(&path).unwrap().replace("cwd=", "colour=green\nnonsense\ncwd=");
    fs::write(&path, text).unwrap();
    assert_eq!(store.load(id).unwrap().start, start(id));
}

#[test]
fn sessions_are_listed_by_number_not_by_spelling() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    for number in [10_000, 1001, 9999] {
        store.begin(&start(SessionId::new(number))).unwrap();
    }
    let ids: Vec<_> = store.list().unwrap().sessions.iter().map(|session| session.start.id.get()).collect();
    assert_eq!(ids, [1001, 9999, 10_000]);
}

#[test]
fn beginning_a_session_twice_is_an_error_that_names_the_record() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let id = SessionId::new(1001);
    store.begin(&start(id)).unwrap();
    let error = store.begin(&start(id)).unwrap_err();
    assert!(error.to_string().ends_with("1001.rec"), "{error}");
    assert_eq!(store.load(id).unwrap().start, start(id));
}

#[test]
fn a_process_forgets_many_of_its_own_sessions_at_once_and_nobody_elses() {
    let scratch = Scratch::new("engine");
    let (ours, other) = (open(&scratch), open(&scratch));
    let record = |store: &Store| {
        let id = store.claim_id().unwrap();
        store.begin(&start(id)).unwrap();
        store.finish(id, &receipt()).unwrap();
        fs::write(scratch.path().join(format!("{id}-0000000000000000.out")), "printed").unwrap();
        id
    };
    let ids: Vec<_> = (0..5).map(|_| record(&ours)).collect();
    let theirs = record(&other);
    let pruned = ours.remove_own(&[ids[1], ids[3], theirs]).unwrap();
    assert_eq!((pruned.sessions, pruned.bytes), (vec![ids[1], ids[3]], 2 * "printed".len() as u64));
    let left: Vec<_> = ours.list().unwrap().sessions.iter().map(|session| session.start.id).collect();
    assert_eq!(left, [ids[0], ids[2], ids[4], theirs]);
    let outputs = scratch.names().iter().filter(|name| name.ends_with(".out")).count();
    assert_eq!(outputs, left.len());
}

#[test]
fn an_unknown_session_is_said_to_be_so() {
    let scratch = Scratch::new("engine");
    let error = open(&scratch).load(SessionId::new(5)).unwrap_err();
    assert_eq!(error.to_string(), "session 5 is not known");
}

#[test]
fn sessions_claimed_together_share_a_file_and_are_forgotten_one_by_one() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    let ids: Vec<_> = (0..40).map(|_| store.claim_id().unwrap()).collect();
    ids.iter().for_each(|id| store.begin(&start(*id)).unwrap());
    ids.iter().for_each(|id| store.finish(*id, &receipt()).unwrap());
    let listed: Vec<_> = store.list().unwrap().sessions.iter().map(|session| session.start.id).collect();
    assert_eq!(listed, ids);
    assert!(store.list().unwrap().sessions.iter().all(|session| session.receipt == Some(receipt())));
    let ledgers = |scratch: &Scratch| scratch.names().iter().filter(|name| name.ends_with(".rec")).count();
    assert_eq!(ledgers(&scratch), 7, "blocks of 1, 1, 2, 4, 8, 16 and 32");
    // By its own process: the file stays, because more may be written into it.
    store.remove(ids[5]).unwrap();
    assert!(matches!(store.load(ids[5]), Err(LoadRecord::NotFound { .. })));
    assert_eq!(store.list().unwrap().sessions.len(), 39);
    // By another one, when the first is gone.
    let later =
        Store::open(scratch.path(), StoreLimits { keep_sessions: 10, ..StoreLimits::default() }).unwrap();
    assert_eq!(later.prune(|_| false).unwrap().sessions.len(), 29);
    assert_eq!(
        numbers(&later.list().unwrap().sessions.iter().map(|it| it.start.id).collect::<Vec<_>>()),
        (1031..1041).collect::<Vec<_>>()
    );
    assert_eq!(ledgers(&scratch), 2, "the last sixteen and those after them");
}

// ---- ids ----

#[test]
fn ids_begin_at_1001_and_are_never_given_out_twice_by_any_thread_or_store() {
    let scratch = Scratch::new("engine");
    assert_eq!(open(&scratch).claim_id().unwrap(), SessionId::new(1001));
    let stores: Vec<_> = (0..8).map(|_| open(&scratch)).collect();
    let claimed: Vec<SessionId> = thread::scope(|scope| {
        let threads: Vec<_> = stores
            .iter()
            .chain(&stores)
            .map(|store| scope.spawn(|| (0..300).map(|_| store.claim_id().unwrap()).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 16 * 300);
}

#[test]
fn ids_are_never_given_out_twice_by_any_process() {
    let scratch = Scratch::new("engine");
    let child = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::claims_ids_for_its_parent", "--ignored", "--nocapture"])
            .env("WINDLASS_TEST_DIR", scratch.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..8).map(|_| child()).collect();
    let mut claimed = Vec::new();
    for child in children {
        let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        claimed.extend(output.lines().filter_map(|line| line.strip_prefix("claimed ")).map(str::to_string));
    }
    assert_eq!(claimed.len(), 8 * 100);
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 8 * 100);
}

#[test]
#[ignore = "run by ids_are_never_given_out_twice_by_any_process"]
fn claims_ids_for_its_parent() {
    let Some(dir) = std::env::var_os("WINDLASS_TEST_DIR") else { return };
    let store = Store::open(Path::new(&dir), StoreLimits::default()).unwrap();
    println!();
    for _ in 0..100 {
        println!("claimed {}", store.claim_id().unwrap());
    }
}

#[test]
fn a_lost_or_damaged_counter_does_not_bring_ids_back() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    store.begin(&start(SessionId::new(1500))).unwrap();
    fs::write(scratch.path().join("1600-0000000000000000.out"), "x").unwrap();
    let counter = scratch.path().join("next");
    for damage in [&[][..], &["garbage"], &["0"], &["99999999999999999999", "1000"]] {
        fs::remove_dir_all(&counter).unwrap();
        fs::create_dir(&counter).unwrap();
        damage.iter().for_each(|name| fs::write(counter.join(name), "").unwrap());
        assert_eq!(open(&scratch).claim_id().unwrap(), SessionId::new(1601), "{damage:?}");
    }
    fs::remove_dir_all(&counter).unwrap();
    assert_eq!(open(&scratch).claim_id().unwrap(), SessionId::new(1601));
}

#[test]
fn a_state_directory_that_was_deleted_does_not_bring_ids_of_living_processes_back() {
    let scratch = Scratch::new("engine");
    let root = scratch.path().join("state");
    let first = Store::open(&root, StoreLimits::default()).unwrap();
    let claimed: Vec<_> = (0..5).map(|_| first.claim_id().unwrap()).collect();
    fs::remove_dir_all(&root).unwrap();
    let second = Store::open(&root, StoreLimits::default()).unwrap();
    let next = second.claim_id().unwrap();
    assert!(claimed.iter().all(|id| *id < next), "{next} after {claimed:?}");
    drop((first, second));
    fs::remove_dir_all(&root).unwrap();
    let alone = Store::open(&root, StoreLimits::default()).unwrap();
    assert_eq!(alone.claim_id().unwrap(), SessionId::new(1001), "no process lives that has claimed any");
}

#[test]
fn the_counter_of_an_older_windlass_goes_on() {
    let scratch = Scratch::new("engine");
    let counter = scratch.path().join("next");
    for (older, expected) in
        [("00000000000000002000\n", 2000), ("", 1001), ("garbage", 1001), ("99999999999999999999\n", 1001)]
    {
        fs::write(&counter, older).unwrap();
        let store = open(&scratch);
        assert_eq!(store.claim_id().unwrap(), SessionId::new(expected), "{older:?}");
        assert_eq!(store.claim_id().unwrap(), SessionId::new(expected + 1), "{older:?}");
        assert_eq!(scratch.names(), ["next"]);
        fs::remove_dir_all(&counter).unwrap();
    }
}

/// Every process that can read a file can lock it.
#[test]
fn a_lock_on_any_file_of_the_state_directory_keeps_no_id_back() {
    let scratch = Scratch::new("engine");
    open(&scratch).claim_id().unwrap();
    let counter = scratch.path().join("next");
    let entry = fs::read_dir(&counter).unwrap().next().unwrap().unwrap().path();
    let held = [scratch.path().to_owned(), counter, entry].map(|path| {
        let file = File::open(path).unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        file
    });
    assert_eq!(open(&scratch).claim_id().unwrap(), SessionId::new(1002));
    drop(held);
}

// ---- pruning ----

fn nothing_kept() -> StoreLimits {
    StoreLimits { keep_sessions: 0, keep_bytes: 0, stray_age: Duration::ZERO }
}

/// A finished session with some output.
fn finished(store: &Store, number: u64) {
    let id = SessionId::new(number);
    store.begin(&start(id)).unwrap();
    store.journal(id, Retention::default()).append(Stream::Stdout, Duration::ZERO, &[b'x'; 1000]);
    store.finish(id, &receipt()).unwrap();
}

fn numbers(ids: &[SessionId]) -> Vec<u64> {
    ids.iter().map(|id| id.get()).collect()
}

#[test]
fn pruning_removes_the_oldest_sessions_beyond_the_count_with_all_their_files() {
    let scratch = Scratch::new("engine");
    let limits = StoreLimits { keep_sessions: 2, ..StoreLimits::default() };
    let store = Store::open(scratch.path(), limits).unwrap();
    (1001..1006).for_each(|number| finished(&store, number));
    let before = scratch.size();
    let pruned = store.prune(|_| false).unwrap();
    assert_eq!(numbers(&pruned.sessions), [1001, 1002, 1003]);
    assert_eq!(before - scratch.size(), pruned.bytes);
    let names = scratch.names();
    assert_eq!(names.len(), 1 + 2 * 3, "{names:?}");
    assert!(names.iter().all(|name| name == "next" || name.starts_with("1004") || name.starts_with("1005")));
    assert_eq!(store.prune(|_| false).unwrap().sessions, []);
}

#[test]
fn pruning_removes_the_oldest_sessions_beyond_the_bytes() {
    let scratch = Scratch::new("engine");
    let limits = StoreLimits { keep_bytes: 3500, ..StoreLimits::default() };
    let store = Store::open(scratch.path(), limits).unwrap();
    (1001..1006).for_each(|number| finished(&store, number));
    assert_eq!(numbers(&store.prune(|_| false).unwrap().sessions), [1001, 1002, 1003]);
}

#[test]
fn a_session_whose_runtime_lives_is_not_pruned_nor_one_whose_root_may_still_run() {
    let scratch = Scratch::new("engine");
    let store = Store::open(scratch.path(), nothing_kept()).unwrap();
    finished(&store, 1001);
    store.begin(&start(SessionId::new(1002))).unwrap();
    assert_eq!(store.prune(|key| key == RUNTIME).unwrap().sessions, []);
    assert_eq!(numbers(&store.prune(|key| key == ROOT).unwrap().sessions), [1001]);
    assert_eq!(numbers(&store.prune(|_| false).unwrap().sessions), [1002]);
}

#[test]
fn stray_files_go_once_they_are_old_and_foreign_files_never_do() {
    let scratch = Scratch::new("engine");
    let limits = StoreLimits { stray_age: Duration::from_secs(3600), ..StoreLimits::default() };
    let store = Store::open(scratch.path(), limits).unwrap();
    let strays = ["1001-0000000000000000.out", "1001-0000000000000000.idx", "1002.rec"];
    for name in strays.iter().chain(&["notes.txt", "1003.out", "01004.rec"]) {
        File::create(scratch.path().join(name)).unwrap().write_all(b"x").unwrap();
    }
    assert_eq!(store.prune(|_| false).unwrap().strays, 0);
    for name in scratch.names() {
        let file = File::open(scratch.path().join(name)).unwrap();
        let two_hours_ago = SystemTime::now() - Duration::from_secs(7200);
        file.set_times(FileTimes::new().set_modified(two_hours_ago)).unwrap();
    }
    assert_eq!(store.prune(|_| false).unwrap().strays, 3);
    assert_eq!(scratch.names(), ["01004.rec", "1003.out", "next", "notes.txt"]);
}

/// As an ordinary user: records that root wrote into a shared state directory, or that too few descriptors are left to
/// open.
#[test]
fn what_cannot_be_read_is_neither_removed_nor_passed_over() {
    let scratch = Scratch::new("engine");
    let store = Store::open(scratch.path(), nothing_kept()).unwrap();
    (1001..1004).for_each(|number| finished(&store, number));
    let record = scratch.path().join("1002.rec");
    let whole = fs::read(&record).unwrap();
    // No user can open these: a socket, and a link that leads to itself. A pipe could be opened, after a wait.
    let pipe = || {
        rustix::fs::mknodat(CWD, &record, FileType::Fifo, Mode::RWXU, 0).unwrap();
    };
    let socket = || drop(std::os::unix::net::UnixListener::bind(&record).unwrap());
    let circle = || std::os::unix::fs::symlink("1002.rec", &record).unwrap();
    let kinds: [&dyn Fn(); 3] = [&pipe, &socket, &circle];
    for make in kinds {
        fs::remove_file(&record).unwrap();
        make();
        // As a reader: this process would know its own sessions otherwise.
        let reader = Store::reading(scratch.path(), nothing_kept());
        let listing = reader.list().unwrap();
        assert_eq!(listing.sessions.len(), 2);
        let [LoadRecord::Read { path, .. }] = &listing.unreadable[..] else { panic!("{listing:?}") };
        assert_eq!(*path, record);
        assert!(matches!(reader.load(SessionId::new(1002)), Err(LoadRecord::Read { .. })));
        assert_eq!(reader.prune(|_| true).unwrap().strays, 0);
        assert!(scratch.names().iter().any(|name| name.starts_with("1002-") && name.ends_with(".out")));
    }
    fs::remove_file(&record).unwrap();
    fs::write(&record, whole).unwrap();
    let reader = Store::reading(scratch.path(), nothing_kept());
    assert_eq!(
        windlass_engine::Journal::open(scratch.path(), SessionId::new(1002)).unwrap().end().get(),
        1000
    );
    assert_eq!(numbers(&reader.prune(|_| false).unwrap().sessions), [1001, 1002, 1003]);
}

#[test]
fn one_session_can_be_removed_by_its_owner() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    finished(&store, 1001);
    finished(&store, 1002);
    assert_eq!(numbers(&store.remove(SessionId::new(1001)).unwrap().sessions), [1001]);
    assert_eq!(store.remove(SessionId::new(1001)).unwrap().sessions, []);
    assert_eq!(store.list().unwrap().sessions.len(), 1);
    assert!(scratch.names().iter().all(|name| !name.starts_with("1001")));
}

// ---- the directory ----

#[test]
fn the_directory_and_its_files_belong_to_their_owner_alone() {
    let scratch = Scratch::new("engine");
    let root = scratch.path().join("deep/state");
    let store = Store::open(&root, StoreLimits::default()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&root), 0o700);
    finished(&store, 1001);
    store.claim_id().unwrap();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let scratch = Scratch::new("engine");
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("state"), StoreLimits::default()).err().unwrap();
    assert!(matches!(error, OpenStore::Create { .. }));
    assert!(error.to_string().ends_with("file/state"), "{error}");
    let error = Store::open(Path::new("/proc/self"), StoreLimits::default()).err().unwrap();
    assert!(error.to_string().contains("/proc/self"), "{error}");
}

#[test]
fn looking_things_up_makes_nothing() {
    let scratch = Scratch::new("engine");
    let root = scratch.path().join("state");
    let store = Store::reading(&root, StoreLimits::default());
    assert!(store.list().is_err());
    assert!(store.claim_id().is_err());
    assert!(!root.exists());
}

#[test]
fn a_session_s_journal_is_found_again_through_the_store() {
    let scratch = Scratch::new("engine");
    let store = open(&scratch);
    finished(&store, 1001);
    let journal = windlass_engine::Journal::open(scratch.path(), SessionId::new(1001)).unwrap();
    assert_eq!(journal.account().bytes.stdout, 1000);
}

/// A server that ran for long had the files of every command it had ever run.
#[tokio::test]
async fn an_engine_that_runs_on_removes_the_oldest_sessions_that_nobody_holds() {
    let scratch = Scratch::new("engine");
    let limits = StoreLimits { keep_sessions: 20, ..StoreLimits::default() };
    let store = Store::open(scratch.path(), limits).unwrap();
    let pruning = Pruning::NowAndThen(|key| key.pid == std::process::id());
    let registry = RegistryLimits { finished: 10, ..RegistryLimits::default() };
    let options = EngineOptions { store: Some(store.clone()), pruning, limits: registry, ..options() };
    let engine = Engine::new(options).unwrap();
    let first = engine.start(command(["echo", "first"])).unwrap();
    rig::receipt(&first).await;
    // Once 256 were released it happens with the next start, beside it.
    let deadline = hang_deadline();
    while store.list().unwrap().sessions.len() < 256 {
        run(&engine, command(["echo", "more"])).await;
    }
    while store.list().unwrap().sessions.len() > 256 {
        assert!(Instant::now() < deadline, "{} are there", store.list().unwrap().sessions.len());
        run(&engine, command(["echo", "more"])).await;
    }
    let left = store.list().unwrap().sessions;
    assert_eq!(left[0].start.id, first.id(), "it is held");
    assert_eq!(text(&first), "first\n", "and can be read");
    engine.shutdown().await;
    let ledgers = scratch.names().iter().filter(|name| name.ends_with(".rec")).count();
    assert!(ledgers < 12, "those in which everything is forgotten go, too: {ledgers}");
}
