//! Which part of the network an address lies in. Only [`Zone::Public`] may be reached without being listed as an
//! address.
//!
//! An address that is not known to be public gets another zone: new special ranges appear, and the safe answer is to
//! refuse. An IPv6 address that embeds an IPv4 address has the zone of that one, because some gateway will send packets
//! there.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The internet.
    Public,
    /// This machine.
    Loopback,
    /// The networks of organisations and homes.
    Private,
    /// The IPv6 networks of organisations and homes.
    UniqueLocal,
    /// Between a provider and its customers.
    Shared,
    /// The same cable.
    LinkLocal,
    /// Where a cloud hands its machines their credentials.
    Metadata,
    /// Many receivers at once.
    Multicast,
    /// No address, which Linux takes for this machine.
    Unspecified,
    /// Documentation, measurements, the past and the future.
    Reserved,
}

impl Zone {
    /// Where an address lies.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether no TCP connection makes sense here, so that no entry can allow it.
    pub fn is_never_reached(self) -> bool {
        matches!(self, Self::Multicast | Self::Unspecified)
    }

    /// Whether an entry with `+private` allows it: private networks, but not the zones to which a name has no honest
    /// reason to resolve.
    pub fn is_of_people(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::UniqueLocal | Self::Shared)
    }
}

impl fmt::Display for Zone {
    /// With its article, as in "it is a private address".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::UniqueLocal => "a unique local address",
            Self::Shared => "a carrier's shared address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the address of a cloud's metadata service",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "the unspecified address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Where clouds serve credentials: most of them, Alibaba, Oracle, Amazon's containers, and Azure, whose is public.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// The same of Amazon and Google by IPv6.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

fn of_v4(address: Ipv4Addr) -> Zone {
    match address.octets() {
        _ if METADATA_V4.contains(&address) => Zone::Metadata,
        [0, 0, 0, 0] => Zone::Unspecified,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Zone::Private,
        [127, ..] => Zone::Loopback,
        [100, 64..=127, ..] => Zone::Shared,
        [169, 254, ..] => Zone::LinkLocal,
        [224..=239, ..] => Zone::Multicast,
        // "This network", protocol assignments, documentation, relays of 6to4, measurements, the future.
        [0, ..] | [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Zone::Reserved,
        [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => Zone::Reserved,
        _ => Zone::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Zone {
    if let Some(within) = within(address) {
        return of_v4(within);
    }
    match address.segments() {
        _ if METADATA_V6.contains(&address) => Zone::Metadata,
        [0, 0, 0, 0, 0, 0, 0, 0] => Zone::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Zone::Loopback,
        [0xfc00..=0xfdff, ..] => Zone::UniqueLocal,
        [0xfe80..=0xfebf, ..] => Zone::LinkLocal,
        // Site-local addresses were given up and still work.
        [0xfec0..=0xfeff, ..] => Zone::Private,
        [0xff00..=0xffff, ..] => Zone::Multicast,
        // Protocol assignments with Teredo among them, and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Zone::Reserved,
        [0x2000..=0x3fff, ..] => Zone::Public,
        _ => Zone::Reserved,
    }
}

/// The IPv4 address to which some gateway sends what is sent to this one.
fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // The unspecified and the loopback address look like IPv4-compatible ones and are none.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(zone: Zone, addresses: &[&str]) {
        for text in addresses {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(Zone::of(address), zone, "{text}");
        }
    }

    #[test]
    fn ipv4_addresses_lie_where_the_registry_says() {
        check(Zone::Public, &["1.1.1.1", "93.184.216.34", "11.0.0.0", "172.15.255.255", "172.32.0.0"]);
        check(Zone::Public, &["100.63.255.255", "100.128.0.0", "169.253.255.255", "223.255.255.255"]);
        check(Zone::Loopback, &["127.0.0.1", "127.255.255.255"]);
        check(Zone::Private, &["10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1"]);
        check(Zone::Shared, &["100.64.0.0", "100.127.255.255"]);
        check(Zone::LinkLocal, &["169.254.0.1", "169.254.169.253"]);
        check(Zone::Metadata, &["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192"]);
        check(Zone::Multicast, &["224.0.0.1", "239.255.255.255"]);
        check(Zone::Unspecified, &["0.0.0.0"]);
        check(Zone::Reserved, &["0.0.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255"]);
        check(
            Zone::Reserved,
            &["198.51.100.7", "203.0.113.7", "192.88.99.1", "240.0.0.1", "255.255.255.255"],
        );
    }

    #[test]
    fn ipv6_addresses_lie_where_the_registry_says() {
        check(Zone::Public, &["2606:4700::1", "2a00:1450:4001::1", "2001:4860::8888", "2001:200::1"]);
        check(Zone::Loopback, &["::1"]);
        check(Zone::Unspecified, &["::"]);
        check(Zone::UniqueLocal, &["fc00::1", "fd12:3456::1"]);
        check(Zone::Metadata, &["fd00:ec2::254", "fd20:ce::254"]);
        check(Zone::LinkLocal, &["fe80::1", "febf::1"]);
        check(Zone::Private, &["fec0::1"]);
        check(Zone::Multicast, &["ff02::1"]);
        check(
            Zone::Reserved,
            &["2001::1", "2001:db8::1", "3fff::1", "100::1", "4000::1", "64:ff9b:1::a00:1"],
        );
    }

    #[test]
    fn an_address_within_an_address_decides() {
        check(Zone::Loopback, &["::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]);
        check(Zone::Private, &["::ffff:10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::5"]);
        check(Zone::Metadata, &["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"]);
        check(Zone::Unspecified, &["::ffff:0.0.0.0", "64:ff9b::"]);
        check(Zone::Public, &["::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]);
    }
}
