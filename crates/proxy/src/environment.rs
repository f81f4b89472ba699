//! The environment variables by which a command's programs find the proxy. A program that knows none of them cannot
//! reach the network at all, which is the safe failure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::allow::AllowList;
use crate::host::{Host, Name};

/// The value of `ALL_PROXY`, which programs read for protocols other than HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllProxy {
    /// `socks5h`: every protocol that curl and others know. The trap: Python's httpx, which the clients of most model
    /// providers are built on, looks at this variable first thing and fails if its SOCKS extra is not installed.
    #[default]
    Socks,
    /// `http`: no client fails over it. Protocols other than HTTP go through `CONNECT`, and FTP does not work.
    Http,
}

/// The variables to set for a command whose proxy listens on this port of its loopback address.
///
/// Both spellings are set: curl reads `http_proxy` in lower case only, because in a CGI program the other one comes
/// from a client's header; wget and apt know the lower case alone, and others the upper.
pub fn environment(port: u16, allow: &AllowList, all: AllProxy) -> Vec<(&'static str, String)> {
    let http = format!("http://127.0.0.1:{port}");
    let all = match all {
        // With the `h`, the proxy looks names up. There is no name server in the namespace.
        AllProxy::Socks => format!("socks5h://127.0.0.1:{port}"),
        AllProxy::Http => http.clone(),
    };
    let direct = direct(allow);
    vec![
        // Read by curl, git (through libcurl), Python's urllib, requests and pip, Go, Ruby, wget, apt.
        ("HTTP_PROXY", http.clone()),
        ("http_proxy", http.clone()),
        // The same programs, for https; the URL is still http, because the way to the proxy is not encrypted. Cargo
        // reads these too (through libcurl), and has no need for CARGO_HTTP_PROXY, which would also outrank a user's
        // own setting.
        ("HTTPS_PROXY", http.clone()),
        ("https_proxy", http.clone()),
        ("ALL_PROXY", all.clone()),
        ("all_proxy", all),
        ("NO_PROXY", direct.clone()),
        ("no_proxy", direct),
        // npm and yarn read HTTPS_PROXY when they are not configured. A user's .npmrc may name a proxy of the outer
        // network, which cannot be reached from the namespace, and only a variable outranks it.
        ("npm_config_proxy", http.clone()),
        ("npm_config_https_proxy", http),
        // Node's own fetch and http ignore all of the above unless this is set (since 22.21 and 24.0).
        ("NODE_USE_ENV_PROXY", "1".to_owned()),
    ]
}

/// The hosts that programs reach without the proxy: the command's own servers, on the loopback address of its
/// namespace. A listed name of this machine means the outer one and goes through the proxy: with `localhost:3000`
/// listed, `127.0.0.1` is still the inner one.
fn direct(allow: &AllowList) -> String {
    let localhost = Name::parse("localhost").map(Host::Name);
    let own = [
        ("localhost", localhost.ok()),
        ("127.0.0.1", Some(Host::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)))),
        ("::1", Some(Host::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)))),
    ];
    let inner = own.iter().filter(|(_, host)| !host.as_ref().is_some_and(|host| allow.speaks_of(host)));
    inner.map(|(written, _)| *written).collect::<Vec<_>>().join(",")
}

/// Checks that a listed name of the loopback address goes through the proxy, and no other name of it.
pub fn remark_on_loopback(allow: &AllowList) -> Option<String> {
    let inner = direct(allow);
    let named: Vec<&str> = ["localhost", "127.0.0.1", "::1"]
        .into_iter()
        .filter(|name| !inner.split(',').any(|it| it == *name))
        .collect();
    (!named.is_empty() && !inner.is_empty()).then(|| {
        format!(
            "servers outside are reached as {}; {} is the sandbox's own loopback",
            named.join(" and "),
            inner.replace(',', " or ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entries: &[&str], direct: &str) {
        let allow = AllowList::parse(entries).expect("a list");
        let variables = environment(4711, &allow, AllProxy::Socks);
        let value =
            |name: &str| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| value.as_str());
        assert_eq!(value("NO_PROXY"), Some(direct));
        for upper in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            assert_eq!(value(upper), value(&upper.to_lowercase()), "{upper}");
        }
        assert_eq!(value("HTTPS_PROXY"), Some("http://127.0.0.1:4711"));
        assert_eq!(value("ALL_PROXY"), Some("socks5h://127.0.0.1:4711"));
    }

    #[test]
    fn all_protocols_can_be_told_to_use_http() {
        let variables = environment(4711, &AllowList::default(), AllProxy::Http);
        let all: Vec<&str> = variables
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("all_proxy"))
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(all, ["http://127.0.0.1:4711"; 2]);
    }

    #[test]
    fn the_commands_own_servers_are_reached_directly() {
        check(&["example.com"], "localhost,127.0.0.1,::1");
    }

    #[test]
    fn the_spelling_of_a_loopback_host_is_remarked_on_where_it_matters() {
        let remark = |entries: &[&str]| {
            remark_on_loopback(&AllowList::parse(entries).expect("a list")).unwrap_or_default()
        };
        assert_eq!(
            remark(&["localhost:3000"]),
            "servers outside are reached as localhost; 127.0.0.1 or ::1 is the sandbox's own loopback"
        );
        assert!(
            remark(&["127.0.0.1:3000"]).starts_with("servers outside are reached as 127.0.0.1; localhost or")
        );
        assert_eq!(remark(&["crates.io"]), "");
        assert_eq!(remark(&["localhost:3000", "127.0.0.1:3000", "[::1]:3000"]), "");
    }

    #[test]
    fn a_loopback_host_that_is_listed_is_reached_through_the_proxy() {
        check(&["localhost:3000"], "127.0.0.1,::1");
        check(&["127.0.0.1:5432"], "localhost,::1");
        check(&["127.0.0.0/8:*", "[::1]:80"], "localhost");
    }
}
