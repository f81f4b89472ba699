//! Tables of allow-lists and the targets that they allow.

use proptest::prelude::*;

use super::*;
use crate::host::BadHost;

fn list(entries: &[&str]) -> AllowList {
    AllowList::parse(entries).expect("a good list")
}

fn target(text: &str) -> Target {
    Target::parse(text, None).expect("a good target")
}

/// Whether a list with this one entry covers these targets.
fn check(entry: &str, covered: &[&str], others: &[&str]) {
    let list = list(&[entry]);
    for text in covered {
        assert!(list.lists(&target(text)).is_ok(), "{entry} covers {text}");
    }
    for text in others {
        assert!(list.lists(&target(text)).is_err(), "{entry} does not cover {text}");
    }
}

#[test]
fn entries_cover_what_they_say() {
    check(
        "example.com",
        &["example.com:80", "EXAMPLE.com.:443"],
        &["example.com:8080", "www.example.com:443", "example.com.evil.test:443", "notexample.com:443"],
    );
    check("Example.Com.:8443", &["example.com:8443"], &["example.com:443"]);
    check("example.com:*", &["example.com:1", "example.com:65535"], &["a.example.com:1"]);
    check(
        "*.example.com",
        &["a.example.com:443", "a.b.c.example.com:80"],
        &["example.com:443", "aexample.com:443", "a.example.com:22", "example.com.a:443"],
    );
    check("*.example.com:*", &["a.example.com:22"], &["example.com:22"]);
    check(
        "127.0.0.1:5432",
        &["127.0.0.1:5432", "[::ffff:127.0.0.1]:5432"],
        &["127.0.0.1:80", "127.0.0.2:5432"],
    );
    check(
        "10.0.0.0/8",
        &["10.0.0.0:80", "10.255.255.255:443"],
        &["11.0.0.0:80", "10.0.0.1:22", "[::a00:1]:80"],
    );
    check("10.0.0.0/8:22", &["10.1.2.3:22"], &["10.1.2.3:80"]);
    check("[::1]:80", &["[::1]:80"], &["[::1]:443", "127.0.0.1:80"]);
    check("::1", &["[::1]:80", "[::1]:443"], &["[::1]:8080"]);
    check("[fd00::/8]:*", &["[fd12::1]:9"], &["[fc00::1]:9"]);
    check("fd00::/8", &["[fd12::1]:443"], &["[fd12::1]:9"]);
    check("localhost:3000", &["localhost:3000", "LOCALHOST.:3000"], &["localhost:80", "127.0.0.1:3000"]);
    check("bücher.example", &["bücher.example:443"], &["xn--bcher-kva.example:443"]);
    check(" example.com ", &["example.com:443"], &[]);
}

#[test]
fn a_range_across_zones_covers_what_is_public_in_it() {
    let inside = ["127.0.0.1:80", "10.0.0.1:80", "169.254.169.254:80", "0.0.0.0:80", "224.0.0.1:80"];
    check("0.0.0.0/0", &["1.1.1.1:80"], &inside);
    check(
        "::/0",
        &["[2606:4700::1]:80"],
        &["[::1]:80", "[fd00::1]:80", "[fe80::1]:80", "[64:ff9b::a00:1]:80"],
    );
    check("169.254.0.0/16", &["169.254.1.1:80"], &["169.254.169.254:80"]);
    check("169.254.169.254", &["169.254.169.254:80"], &[]);
}

fn check_bad(entry: &str, reason: BadEntry) {
    let error = AllowList::parse([entry]).expect_err(entry);
    assert_eq!(error, EntryError { entry: entry.to_owned(), reason });
    assert!(error.to_string().starts_with(&format!("`{entry}` cannot be listed: ")), "{error}");
}

#[test]
fn a_bad_entry_is_named_with_the_reason() {
    check_bad("", BadEntry::Host(BadHost::Empty));
    check_bad("https://example.com", BadEntry::Url);
    check_bad("example.com/path", BadEntry::Path);
    check_bad("*", BadEntry::Star);
    check_bad("*:443", BadEntry::Star);
    check_bad("a.*.example.com", BadEntry::Star);
    check_bad("*example.com", BadEntry::Star);
    check_bad("*.*.example.com", BadEntry::Star);
    check_bad("example.com:https", BadEntry::Host(BadHost::Port));
    check_bad("example.com:0", BadEntry::Host(BadHost::Port));
    check_bad("127.1", BadEntry::Host(BadHost::NearlyAddress));
    check_bad("*.1", BadEntry::Host(BadHost::NearlyAddress));
    check_bad("10.0.0.0/33", BadEntry::Prefix);
    check_bad("10.0.0.0/+8", BadEntry::Prefix);
    check_bad("10.0.0.0/", BadEntry::Prefix);
    check_bad("10.0.0.1/8", BadEntry::StrayBits);
    check_bad("0.0.0.0", BadEntry::Never(Zone::Unspecified));
    check_bad("[::]:80", BadEntry::Never(Zone::Unspecified));
    check_bad("224.0.0.0/4", BadEntry::Never(Zone::Multicast));
    check_bad("10.0.0.1+private", BadEntry::PrivateAddress);
    check_bad("10.0.0.0/8+private", BadEntry::PrivateAddress);
    check_bad("user@example.com", BadEntry::Host(BadHost::Character('@')));
    check_bad("[example.com]", BadEntry::Host(BadHost::Brackets));
}

#[test]
fn a_list_has_a_limit() {
    let many = std::iter::repeat_n("example.com", ENTRY_LIMIT);
    assert!(AllowList::parse(many.clone()).is_ok());
    let error = AllowList::parse(many.chain(["one.more"])).expect_err("too many");
    assert_eq!(error.reason, BadEntry::TooMany(ENTRY_LIMIT));
}

/// By which entry of a list a target may be reached at an address.
fn check_leads(entries: &[&str], (asked, address): (&str, &str), expected: Option<&str>) {
    let list = list(entries);
    let led = list.leads(&target(asked), address.parse().expect("an address"));
    assert_eq!(led.ok().map(ToString::to_string).as_deref(), expected, "{asked} at {address}");
}

#[test]
fn a_listed_name_leads_to_public_addresses() {
    check_leads(&["a.test"], ("a.test:443", "93.184.216.34"), Some("a.test"));
    check_leads(&["a.test"], ("a.test:443", "64:ff9b::101:101"), Some("a.test"));
    for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "fd00::1", "fe80::1", "::1"] {
        check_leads(&["a.test"], ("a.test:443", inside), None);
        check_leads(&["*.test"], ("a.test:443", inside), None);
    }
    for inside in ["::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "0.0.0.0", "::", "224.0.0.1"] {
        check_leads(&["a.test"], ("a.test:443", inside), None);
    }
}

#[test]
fn it_leads_inside_where_the_list_says_so() {
    let both = ["a.test:5432", "10.0.0.0/8:5432"];
    check_leads(&both, ("a.test:5432", "10.1.2.3"), Some("10.0.0.0/8:5432"));
    check_leads(&["a.test:5432", "10.0.0.0/8"], ("a.test:5432", "10.1.2.3"), None);
    check_leads(&["a.test+private"], ("a.test:443", "10.1.2.3"), Some("a.test+private"));
    check_leads(&["a.test:22+private"], ("a.test:22", "::1"), Some("a.test:22+private"));
    check_leads(&["*.a.test+private"], ("b.a.test:80", "fd00::1"), Some("*.a.test+private"));
    check_leads(&["a.test", "a.test+private"], ("a.test:443", "10.1.2.3"), Some("a.test+private"));
    check_leads(&["localhost:3000"], ("localhost:3000", "127.0.0.1"), Some("localhost:3000"));
    check_leads(&["localhost:3000"], ("localhost:3000", "::1"), Some("localhost:3000"));
    check_leads(&["localhost:3000"], ("localhost:3000", "10.0.0.1"), None);
    check_leads(&["127.0.0.1:80"], ("127.0.0.1:80", "127.0.0.1"), Some("127.0.0.1:80"));
}

#[test]
fn leave_for_private_addresses_is_none_for_metadata_and_the_like() {
    for inside in ["169.254.169.254", "169.254.1.1", "fe80::1", "0.0.0.0", "224.0.0.1", "fd00:ec2::254"] {
        check_leads(&["a.test+private"], ("a.test:443", inside), None);
    }
    check_leads(&["a.test", "169.254.169.254"], ("a.test:80", "169.254.169.254"), Some("169.254.169.254"));
}

#[test]
fn a_name_that_is_not_listed_leads_nowhere() {
    check_leads(&["10.0.0.0/8"], ("a.test:443", "10.0.0.1"), None);
    check_leads(&["a.test"], ("b.test:443", "93.184.216.34"), None);
}

#[test]
fn the_nearest_miss_is_told() {
    let list = list(&["a.test", "a.test:8443"]);
    assert_eq!(list.lists(&target("b.test:80")), Err(Unlisted::Host));
    assert_eq!(list.lists(&target("a.test:22")), Err(Unlisted::Port { entry: "a.test".into() }));
    let error =
        list.leads(&target("a.test:8443"), "10.0.0.1".parse().expect("an address")).expect_err("inside");
    assert_eq!(
        error.to_string(),
        "the entry `a.test:8443` covers this name, which leads to 10.0.0.1, a private address"
    );
}

proptest! {
    #[test]
    fn no_entry_panics_and_a_good_one_is_read_again(text in "[a-z0-9*.:/\\[\\]+ %@-]{0,24}|\\PC{0,12}") {
        if let Ok(list) = AllowList::parse([&text]) {
            let written = list.entries().next().expect("one entry").to_string();
            prop_assert_eq!(AllowList::parse([&written]), Ok(list));
        }
    }

    #[test]
    fn only_a_literal_entry_opens_what_is_not_public(a: u32, entries in proptest::sample::subsequence(
        vec!["a.test", "*.test", "0.0.0.0/0", "::/0", "b.test:*"], 0..=5)) {
        let address = IpAddr::V4(a.into());
        let list = list(&entries);
        if Zone::of(address) != Zone::Public {
            prop_assert!(list.leads(&target("a.test:443"), address).is_err());
            let literal = Target { host: Host::of(address), port: 443 };
            prop_assert!(list.lists(&literal).is_err());
        }
    }
}
