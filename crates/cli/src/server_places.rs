//! Paths at which the environment tells the user's programs to look for a server of the user. Confined commands start
//! none there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use windlass_engine::sandbox::ServerPlace;

/// How a variable names its path.
enum Named {
    /// The value is a directory with servers, or a socket.
    Itself,
    /// The value is a directory that contains a directory of the user.
    TmuxDirectory,
    /// The value is an address of D-Bus.
    BusAddress,
}

const VARIABLES: [(&str, Named); 6] = [
    ("TMUX_TMPDIR", Named::TmuxDirectory),
    ("SCREENDIR", Named::Itself),
    ("SSH_AUTH_SOCK", Named::Itself),
    ("GNUPGHOME", Named::Itself),
    ("XDG_RUNTIME_DIR", Named::Itself),
    ("DBUS_SESSION_BUS_ADDRESS", Named::BusAddress),
];

/// The paths that these variables name.
pub(crate) fn of<'a>(variable: impl Fn(&str) -> Option<&'a OsStr>) -> Vec<ServerPlace> {
    let mut places = Vec::new();
    for (name, named) in VARIABLES {
        let Some(value) = variable(name) else { continue };
        let paths = match named {
            Named::Itself => vec![value.into()],
            Named::TmuxDirectory => {
                vec![PathBuf::from(value).join(format!("tmux-{}", rustix::process::getuid().as_raw()))]
            }
            Named::BusAddress => bus_paths(value),
        };
        let absolute = paths.into_iter().filter(|path| path.is_absolute());
        places.extend(absolute.map(|path| ServerPlace { path, variable: name.to_owned() }));
    }
    places
}

/// The paths in a list such as `unix:path=/tmp/bus,guid=1;tcp:host=localhost`. Bytes may be encoded as `%` and two
/// digits.
fn bus_paths(address: &OsStr) -> Vec<PathBuf> {
    let addresses = address.as_bytes().split(|byte| *byte == b';');
    let keys = addresses.filter_map(|address| address.strip_prefix(b"unix:"));
    let keys = keys.flat_map(|keys| keys.split(|byte| *byte == b','));
    keys.filter_map(|key| key.strip_prefix(b"path=")).map(|path| unescaped(path).into()).collect()
}

fn unescaped(text: &[u8]) -> OsString {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    OsStr::from_bytes(&bytes).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_names_a_socket_a_directory_or_an_address() {
        let check = |name: &str, value: &str, expected: &[&str]| {
            let found = of(|variable| (variable == name).then_some(OsStr::new(value)));
            let paths: Vec<_> = found.into_iter().map(|place| place.path).collect();
            assert_eq!(paths, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{name}={value}");
        };
        let tmux = format!("/t/tmux-{}", rustix::process::getuid().as_raw());
        check("TMUX_TMPDIR", "/t", &[&tmux]);
        check("SSH_AUTH_SOCK", "/t/agent", &["/t/agent"]);
        check("SSH_AUTH_SOCK", "agent", &[]);
        check("DBUS_SESSION_BUS_ADDRESS", "tcp:host=x;unix:guid=1,path=/t/a%20b", &["/t/a b"]);
        check("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/t/bus", &[]);
    }
}
