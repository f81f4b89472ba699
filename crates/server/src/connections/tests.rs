//! The table of connections, without sockets.

use super::*;

/// A table with as many pending connections as allowed, all waiting for their clients.
fn full() -> (Arc<Table>, Vec<Arc<Slot>>) {
    let table = Arc::new(Table::default());
    let slots: Vec<_> = (0..PENDING_LIMIT).map(|_| table.slot(PeerKey::Unknown)).collect();
    (table, slots)
}

/// Makes the connection older than [`GRACE`].
fn age(slot: &Slot) {
    let since = Instant::now().checked_sub(GRACE).expect("the clock has run for longer");
    slot.table.change(slot.id, |_| Phase::Waiting { since });
}

fn is_evicted(slot: &Slot) -> bool {
    slot.evicted.is_cancelled()
}

#[tokio::test]
async fn the_oldest_pending_connection_makes_room_for_the_next() {
    let (table, mut slots) = full();
    age(&slots[3]);
    assert_eq!(table.lock().make_room(), Room::Later, "until it is gone");
    assert_eq!(slots.iter().filter(|slot| is_evicted(slot)).count(), 1);
    assert!(is_evicted(&slots[3]) && !slots[3].establish(), "nothing is done for it any more");
    assert_eq!(table.lock().make_room(), Room::Later, "one is enough");
    drop(slots.remove(3));
    assert_eq!(table.lock().make_room(), Room::Now);
    assert!(!slots.iter().any(|slot| is_evicted(slot)));
}

#[tokio::test]
async fn a_young_connection_and_one_that_waits_for_us_are_not_closed() {
    let (table, slots) = full();
    assert!(matches!(table.lock().make_room(), Room::At(_)));
    for slot in &slots {
        table.change(slot.id, |_| Phase::Checking);
    }
    assert_eq!(table.lock().make_room(), Room::Later);
    assert!(!slots.iter().any(|slot| is_evicted(slot)));
}

#[tokio::test]
async fn an_established_connection_counts_apart_and_is_never_closed() {
    let (table, slots) = full();
    slots.iter().for_each(|slot| age(slot));
    assert!(slots.iter().all(|slot| slot.establish()));
    assert_eq!(table.lock().make_room(), Room::Now, "none is pending");
    let more: Vec<_> = (PENDING_LIMIT..ESTABLISHED_LIMIT).map(|_| table.slot(PeerKey::Unknown)).collect();
    assert!(more.iter().all(|slot| slot.establish()));
    assert_eq!(table.lock().make_room(), Room::Later, "more have to wait");
    assert!(!slots.iter().any(|slot| is_evicted(slot)));
    drop(more);
    table.room().await;
}

#[tokio::test]
async fn a_client_that_was_let_in_and_is_quiet_makes_room_when_there_is_none() {
    let table = Arc::new(Table::default());
    let slots: Vec<_> = (0..ESTABLISHED_LIMIT).map(|_| table.slot(PeerKey::Unknown)).collect();
    assert!(slots[1..].iter().all(|slot| slot.establish()));
    assert!(slots[0].let_in());
    assert!(matches!(table.lock().make_room(), Room::At(_)), "it is too young");
    let since = Instant::now().checked_sub(GRACE).expect("the clock has run for longer");
    table.change(slots[0].id, |_| Phase::Quiet { since });
    assert_eq!(table.lock().make_room(), Room::Later, "until it is gone");
    assert!(is_evicted(&slots[0]) && !slots[0].establish(), "nothing is done for it any more");
    assert!(!slots[1..].iter().any(|slot| is_evicted(slot)));
}

#[tokio::test]
async fn a_connection_of_the_peer_that_has_most_of_them_makes_room() {
    let table = Arc::new(Table::default());
    let honest = table.slot(PeerKey::Process(1, Some(1)));
    let greedy: Vec<_> = (1..PENDING_LIMIT).map(|_| table.slot(PeerKey::Process(1, Some(2)))).collect();
    age(&honest);
    greedy.iter().for_each(|slot| age(slot));
    assert_eq!(table.lock().make_room(), Room::Later, "until it is gone");
    assert!(!is_evicted(&honest), "though it is the oldest");
    assert_eq!(greedy.iter().filter(|slot| is_evicted(slot)).count(), 1);
}
